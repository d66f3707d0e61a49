"""What a column looks like to a careful eye: whether it names people, what an intruder may have, what is sensitive.

Every rule gives its reason in words that repeat no value of the table. They look at names, labels and contents, err on
the side of caution, and only propose: the settings decide.
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations

import numpy as np
import pandas as pd

from molehill.arrays import Floats, Integers
from molehill.errors import InputError
from molehill.plan.units import LEAST_VALUES, MOST_RECORDS, Unit, find_units
from molehill.tables.cells import is_text
from molehill.tables.resolution import holds_dates
from molehill.tables.schema import Kind, column_numbers, infer_kind
from molehill.tables.table import Table

# A column has too many values to describe people rather than to name them.
NEARLY_ALL = 0.9
# Fewer records than this at a place make the place a name.
FEW_PEOPLE = 50
MANY_PLACES = 20
# A list of so many levels, or one of more than MANY_PLACES with so few records each, says nearly who a person is.
MANY_LEVELS, FEW_OF_A_LEVEL = 100, 10
# Of this many days each is that of few people.
_MANY_DAYS = 50
# Codes of which two together may name units have so many levels at least; every two of so many are looked at.
_FEWEST_CODES, _PAIRED, _TOGETHER = 5, 10, "both together"
# Coordinates have so many decimals, and are no larger.
_DECIMALS, _DEGREES = (4, 5, 6, 7), 180
# Among so few records too little can be told of a column.
_LEAST = 20
_LOOKED_AT = 2_000

# Beginnings of words, without accents, in English, German, French, Spanish, Italian, Portuguese and Dutch.
_NAMES = {
    "a person's number": (
        "id ident pid uid ssn nin nino personnummer sozialversicherung steuernummer nir insee dni nie curp "
        "cpf bsn codice fiscale passport ausweis serialno caseid respid respondent hhid idhh newid idnr idno hid "
        "hhnr pnr persnr persid personid pidp serial nr rb030 db030 pb030 hb030 px030 rx030"
    ),
    "an address for messages": (
        "email mail phone telephone telefon tel mobile handy telefono telefoon fax iban account konto"
    ),
    "a date of birth": "birth birthdate dob birthday geburt geboren naissance nacimiento nascita nascimento geboorte",
    "a place": (
        "address adresse direccion indirizzo street strasse rue calle via postcode postal zip plz cap "
        "municipality gemeinde gemeente commune municipio comune city stadt ville ciudad town village ort woonplaats "
        "latitude longitude lat lon lng coord"
    ),
    "an employer": (
        "employer company firm betrieb arbeitgeber employeur entreprise empresa azienda werkgever establishment estab"
    ),
    "a name": (
        "name surname firstname lastname forename vorname nachname nom prenom nombre apellido cognome naam voornaam"
    ),
}
# Words that name people wherever they stand.
_NAMING = (
    "surname firstname lastname fullname givenname familyname middlename forename username maidenname vorname nachname "
    "familienname geburtsname prenom patronyme apellido cognome sobrenome apelido voornaam achternaam roepnaam"
)
# Words that do so alone or beside a word for a person, or for a part of a name: a region has a name as well.
_MAY_NAME = (
    "name names naam namen nom noms nombre nombres nome nomi nomes respondent initials initialen initiales iniziali"
)
_OF_PEOPLE = (
    "first last full given family middle maiden birth second other preferred legal own nick of the and person "
    "employee worker patient client customer user child mother father parent spouse partner husband wife head "
    "household member student pupil teacher doctor owner applicant interviewer contact volledige eigen van de het "
    "persoon klant kind moeder vader voller der des und mutter vater famille complet usage naissance jeune fille "
    "du la le et personne mere pere enfant completo completa pila del el y persona paciente hijo madre padre e di "
    "do da pessoa mae pai"
)
# What is measured or counted names nobody, whatever else the name says.
_MEASURED = (
    "weight gewicht poids peso level levels niveau minutes minuten hours stunden heures days length height grosse "
    "score scale rate ratio share amount count counts duration dauer cost costs bill usage use size"
)
# Of places as numbers.
_COORDINATES = "latitude longitude lat lon lng coord coords coordinate coordinates"
# A number to call has so many digits; a year of birth lies here, and a day, counted from any year in use, there.
_CALLED_DIGITS, _YEARS, _DAYS = 6, (1850, 2100), (-40_000, 60_000)
# Fewer texts than this are categories, whatever they are called.
_LEAST_NAMES = 5
# What others can see of a person, or may have in a list of theirs: the likeliest first.
_KNOWABLE = {
    "age": "age agep ages alter edad eta idade leeftijd years agegroup yob birthyear geburtsjahr rx020",
    "sex": "sex gender geschlecht sexe sexo sesso geslacht female rb090 pb150",
    "place": (
        "region state province provincie provinz provincia prefecture voivodeship wojewodztwo county comte comarca "
        "district distrito bundesland land landkreis kreis kanton canton cantone departement departamento "
        "arrondissement regione gewest fylke oblast puma urban rural area country pays nuts nuts1 nuts2 nuts3 location "
        "division cbsa metro metropolitan residence urbanicity urbanisation urbanization db040 db100"
    ),
    "marital status": (
        "marital married civil familienstand matrimonial msp mar marst marstat maritl stato partner spouse sivilstand "
        "pb190"
    ),
    "origin": (
        "race rac1p ethn ethnic ethnicity ethnie raceth hisp hispan hispanic nationality nationalite nationalitat "
        "nationaliteit nazionalita nacionalidad nacionalidade staatsangehorigkeit citizen citizenship cit nativity "
        "cittadinanza birthplace pobp immigrant migrant migration foreign mothertongue pb210 pb220a"
    ),
    "household": (
        "household hh family familie famille familia famiglia haushalt menage hogar child children kinder kids enfants "
        "hijos figli nchild noc npf size hsize hhsize famsize members dependents adults hht eqss"
    ),
    "education": (
        "education educ edu schl school schooling degree qualification isced bildung bildungsabschluss schulabschluss "
        "diplome etudes educacion estudios istruzione studio opleiding onderwijs escolaridade pe040"
    ),
    "occupation": (
        "occupation occup occp job profession beruf metier ocupacion profesion ocupacao occupazione professione beroep "
        "isco isco08 isco88 soc classwkr cow employment employed empstat unemployed erwerb erwerbstatig esr earner "
        "retired student pl030 pl031 pl050 pl051"
    ),
    "industry": (
        "industry indp indp_cat naics naicsp nace sector branche branch wirtschaftszweig industrie industria settore "
        "bedrijfstak pl111"
    ),
    "housing": "tenure own_rent ownrent homeowner housing dwelling wohnung logement vivienda abitazione woning hh020",
}
_SENSITIVE = {
    "money": (
        "income inc pincp earn earnings wage wages salary pay expend expenditure spending wealth asset debt "
        "loan tax rent pension benefit einkommen lohn gehalt vermogen steuer revenu salaire ingreso salario "
        "renta reddito stipendio inkomen povpip turnover profit fincp hincp wagp semp retp ssp ssip oip pernp hhincome "
        "inctot incwage ftotinc amount betrag montant importe importo bedrag euro euros dollar dollars usd eur price "
        "cost sales revenue savings mortgage transfer allowance"
    ),
    "health": (
        "health ill illness disease diagnos diagnosis icd disab dis drug medic medication hospital hiv cancer "
        "mental depress pregnan smoke smoking alcohol krank gesund behinder sante maladie handicap salud enfermedad "
        "salute malattia dvet drem dphy deye dear ddrs dout bmi"
    ),
    "opinion": (
        "relig party vote voting politic opinion belief union orientation gewerkschaft partei croyance sindicato "
        "satisfaction happiness"
    ),
    "private life": "affair affairs sexual abortion fertility contracept infidelity adultery violence abuse",
    "law": "crime criminal offence offense convict arrest police prison straf",
}
# Codes of income in EU-SILC, of a person or a household.
_INCOME_CODES = re.compile(r"[ph]y\d{3}[gn]?")
# Before the name of what is counted.
_COUNTED = re.compile(r"(?:nb|num|anz)_?([a-z]{4,}\d*)")
# What says when a record was made, and nothing of a person.
_TIMES = "year jahr annee ano anno jaar wave round welle vague quarter month monat mois"
_SIZES = {"size", "number", "count", "employees", "groesse", "grosse", "taille", "type"}
_LOG = re.compile(
    r"(?:log|ln|logarithm\w*|logged|log10|log2)(?:_|$)|l(?:og|n)?_?(?:wage|income|earn|pay|salary|price|rent|cons)\w*"
)
_LOG_WORDS = re.compile(r"\b(?:natural )?log(?:arithm\w*|ged|s)?\b|\bln\b|logarithm")
# With so many expected pairs of the same value, none is no chance.
_SURELY_TIES = 12.0
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_PHONE = re.compile(r"\+?[\d\s()/.-]{7,20}")
_PERSON = re.compile(r"[^\W\d_][\w'.-]*(,? [^\W\d_][\w'.-]*){1,3}")


@dataclass(frozen=True)
class Finding:
    """What was found of a column.

    Attributes
    ----------
    name, kind, reason
        Its name, the kind of its values, and why.
    identifying
        Why it may name a person; empty if it does not look so.
    knowable
        What an intruder may have of it, such as "age"; empty if nothing.
    sensitive
        What it may reveal, such as "health"; empty if nothing.
    levels, missing
        How many different values it has, 0 if that cannot be told, and how many records have none.
    problem, remedy
        Why nothing can be made of it, and what to do; empty if it can be used. Its kind says nothing then.
    dates
        Whether it holds dates: categories where they are compared, days where they are drawn.
    unit
        What shows that several records belong together by it, in words; empty if nothing does.
    fine
        Why single values of it say nearly who a person is, although they repeat; empty if they do not.
    logarithm
        Why it looks like a logarithm, of which a share means nothing; empty if it does not.
    timing
        Whether it is called like a year or a wave, which tells of the file and not of a person.
    alone
        That nearly all records have a value of their own; empty if they have not.
    """

    name: str
    kind: Kind
    reason: str
    identifying: str
    knowable: str
    sensitive: str
    levels: int
    missing: int
    problem: str = ""
    remedy: str = ""
    dates: bool = False
    unit: str = ""
    fine: str = ""
    logarithm: str = ""
    timing: bool = False
    alone: str = ""


def look_at_columns(table: Table) -> tuple[Finding, ...]:
    """Look at every column of a table.

    Examples
    --------
    >>> people = pd.DataFrame({"id": range(40), "sex": ["f", "m"] * 20, "wage": np.linspace(9.5, 90.1, 40)})
    >>> [(found.name, found.identifying, found.knowable, found.sensitive) for found in look_at_columns(Table(people))]
    [('id', 'numbers that count up', '', ''), ('sex', '', 'sex', ''), ('wage', '', '', 'money')]
    """
    for place, name in enumerate(table.frame.columns, 1):
        if not name:
            problem = f"column {place} has no name, so that nothing can be said of it"
            raise InputError("data", problem, "Give it a name in the header, or leave the column out")
    return tuple(_mark_units(table, [_look(table, name) for name in table.frame.columns]))


def _mark_units(table: Table, findings: list[Finding]) -> list[Finding]:
    """Say of every column by which records belong together that they do; what is no amount names the units."""
    records = len(table.frame)
    called = {
        found.name: _called(table, found.name, _words(found.name, table.column_labels.get(found.name, "")))
        == "a person's number"
        for found in findings
    }
    candidates = {
        found.name: called[found.name]
        for found in findings
        if LEAST_VALUES <= found.levels < NEARLY_ALL * (records - found.missing)
        and (called[found.name] or found.levels * MOST_RECORDS >= records - found.missing)
        and not (found.knowable or found.dates or found.problem or found.timing)
        and found.identifying != "places with few people"
    }
    units = find_units(table, candidates)
    units |= _find_pairs(table, [one for one in findings if one.name not in units])
    marked = []
    for found in findings:
        told = f"{units[found.name]}" if found.name in units else ""
        together = found.name in units and bool(units[found.name].beside)
        names = told and (together or called[found.name] or _names_units(table, found))
        why = "number of a unit with several records" if names else found.identifying
        marked.append(replace(found, unit=told, identifying=why))
    return marked


def _find_pairs(table: Table, findings: Iterable[Finding]) -> dict[str, Unit]:
    """Find two codes that name units together, such as a block and the number of a flat; of each the second one."""
    usual = [
        one.name
        for one in findings
        if one.levels >= _FEWEST_CODES and not (one.dates or one.problem or one.timing or one.identifying)
        if one.sensitive != "money" and (is_text(table.frame[one.name]) or _is_whole(table, one.name))
    ]
    codes = {name: pd.factorize(table.frame[name], use_na_sentinel=False)[0].astype(np.int64) for name in usual}
    names = sorted(codes, key=lambda name: codes[name].max())[-_PAIRED:]
    known = {one.name for one in findings if one.knowable}
    found: dict[str, Unit] = {}
    for first, second in combinations([name for name in names if codes[name].any()], 2):
        both = codes[first] * (codes[second].max() + 1) + codes[second]
        # Of few levels no two make so many groups.
        number = 0 if both.max() * MOST_RECORDS < len(both) else len(np.unique(both))
        if {first, second} <= known or not 1.2 * number <= len(both) <= MOST_RECORDS * number:
            continue
        named = first if second in known else second
        # What one of them says alone is no sign of both.
        rest = [
            one.name
            for one in findings
            if one.name not in (first, second) and one.levels > 1
            if not any(_follows(table.frame[one.name], codes[name]) for name in (first, second))
        ]
        unit = find_units(Table(table.frame[rest].assign(**{_TOGETHER: both})), {_TOGETHER: False}).get(_TOGETHER)
        if unit is not None and len(unit.constant) + len(unit.differing) > 1:
            found[named] = replace(unit, name=named, beside=second if named == first else first)
    return found


def _follows(column: pd.Series, codes: Integers) -> bool:
    """Whether a column has one value only, or nearly, where another one has."""
    own = pd.factorize(column, use_na_sentinel=False)[0]
    return len(np.unique(codes * (own.max() + 1) + own)) <= 1.05 * (codes.max() + 1)


def _is_whole(table: Table, name: str) -> bool:
    if not _is_number(table.frame[name]):
        return False
    values = column_numbers(table, name)
    values = values[np.isfinite(values)]
    return bool((values == np.rint(values)).all())


def _names_units(table: Table, found: Finding) -> bool:
    """Whether what repeats within units names them; an amount of the household goes with it, and is no number of it."""
    if not _is_number(table.frame[found.name]):
        return True
    values = column_numbers(table, found.name)
    once = pd.unique(values[np.isfinite(values)])
    return bool(_identifying_number(once, "", 1.0, money=found.sensitive == "money"))


def _look(table: Table, name: str) -> Finding:
    column = table.frame[name]
    words = [*_words(name, table.column_labels.get(name, "")), name.lower()]
    problem = remedy = ""
    try:
        kind, reason = infer_kind(table, name)
    except InputError as error:
        # A column that is dropped may hold anything: who uses it is told.
        kind, reason, problem, remedy = "categorical", error.problem, error.problem, error.remedy
        if not is_text(column):
            absent = int(column.isna().sum())
            return Finding(name, kind, reason, "", "", _named(words, _SENSITIVE), 0, absent, problem, remedy)
    levels = int(column.nunique())
    identifying = _identifying(table, name, kind, words, levels)
    knowable = "" if identifying or problem else _named(words, _KNOWABLE)
    # What somebody owns or rents is seen; the income of a household is not, though people see the household.
    sensitive = "" if knowable == "housing" else _named_sensitive(words)
    timing = any(word in _TIMES.split() for word in words)
    return Finding(
        name,
        kind,
        reason,
        identifying,
        "" if sensitive else knowable,
        sensitive,
        levels,
        int(column.isna().sum()),
        problem,
        remedy,
        holds_dates(column),
        fine="" if identifying or problem else _fine(column, kind, levels),
        logarithm="" if problem or kind == "categorical" else _logarithm(table, name, sensitive),
        timing=timing,
        alone="nearly all values differ" if column.notna().sum() >= _MANY_DAYS and _differ(column) else "",
    )


def _differ(column: pd.Series) -> bool:
    """Whether nearly all records have a value of their own: whoever has it from elsewhere finds the record."""
    return float((column.value_counts() == 1).sum()) >= NEARLY_ALL * int(column.notna().sum())


def _named_sensitive(words: list[str]) -> str:
    counted = [match[1] for match in map(_COUNTED.fullmatch, words) if match]
    codes = any(map(_INCOME_CODES.fullmatch, words))
    return "money" if codes else _named([*words, *counted], _SENSITIVE)


def _fine(column: pd.Series, kind: Kind, levels: int) -> str:
    """Say why single values say nearly who a person is: exact dates, coordinates, or a list with few of most levels."""
    if len(column) >= _LEAST and kind != "categorical" and _is_number(column):
        return _tell_coordinates(column.dropna().to_numpy(dtype=np.float64), levels)
    if len(column) < _LEAST or (kind != "categorical" and not holds_dates(column)):
        return ""
    if holds_dates(column):
        return f"{levels:,} exact dates" if levels > _MANY_DAYS else ""
    if not is_text(column):
        return ""
    usual = float(column.value_counts().median())
    if levels >= MANY_LEVELS or (levels > MANY_PLACES and usual < FEW_OF_A_LEVEL):
        return f"{levels:,} levels, half of them with at most {usual:,.0f} records"
    return ""


def _tell_coordinates(values: Floats, levels: int) -> str:
    """Say of numbers that nearly all differ, and are rounded to four decimals or more, that places are written so."""
    if levels < 0.5 * len(values) or not 1 < np.abs(values).max(initial=0) <= _DEGREES:
        return ""
    for decimals in _DECIMALS:
        units = values * 10.0**decimals
        if (np.abs(units - np.rint(units)) < 1e-3).all():
            finer = np.mean(np.rint(units) % 10 != 0) > 0.5
            return f"nearly all values differ, with {decimals} decimals, as coordinates do" if finer else ""
    return ""


def _logarithm(table: Table, name: str, sensitive: str) -> str:
    """Say why a number looks like a logarithm: its name, its label, or money with many decimals that is no money."""
    values = column_numbers(table, name)
    values = values[np.isfinite(values)]
    if len(values) < _LEAST or np.abs(values).max() > 50 or not (values % 1 > 0).any():
        return ""
    if any(_LOG.match(word) for word in _words(name, "")) or _LOG_WORDS.search(
        table.column_labels.get(name, "").lower()
    ):
        return "by its name or label"
    # Euros have two decimals. Their logarithms have many, a spread of about one, and no long tail above.
    decimals = float(np.mean(np.abs(values * 1e4 - np.round(values * 1e4)) > 1e-4))
    low, middle, high = np.quantile(values, [0.01, 0.5, 0.99])
    even = high - middle < 4 * (middle - low)
    if sensitive == "money" and decimals > 0.5 and 0.05 < values.std() < 4 and abs(values.mean()) > 0.1 and even:
        return "by its values, which are too small and have too many decimals for money"
    return ""


def order_tells(table: Table, names: Iterable[str]) -> tuple[str, ...]:
    """Say which of the columns the order of the rows tells something of: it is nearly sorted by them, or in runs."""
    telling = []
    for name in names:
        column = table.frame[name].dropna()
        codes = pd.Series(column.rank(method="dense") if _is_number(column) else pd.factorize(column, sort=True)[0])
        if len(codes) < _LEAST or codes.nunique() < 2:
            continue
        values = codes.to_numpy(dtype=np.float64)
        place = np.arange(len(values), dtype=np.float64)
        # Five standard errors of what a random order would show, of values with their rows and with their neighbours.
        limit = max(5.0 / np.sqrt(len(values)), 0.1)
        if max(abs(_correlation(place, values)), abs(_correlation(values[1:], values[:-1]))) > limit:
            telling.append(name)
    return tuple(telling)


def propose_limits(values: Floats) -> tuple[float, float]:
    """Propose limits of what may be released: round numbers well beyond the values, which tell only their magnitude.

    Examples
    --------
    >>> propose_limits(np.array([120.0, 61_234.0])), propose_limits(np.array([-310.0, 44.0]))
    ((0.0, 100000.0), (-500.0, 100.0))
    """
    low, high = float(values.min()), float(values.max())
    return (-_beyond(-low) if low < 0 else 0.0), (_beyond(high) if high > 0 else 0.0)


def _beyond(size: float) -> float:
    """The first of 1, 2, 5, 10, ... times a power of ten that is at least one and a half times the size."""
    wanted = 1.5 * size
    power = 10.0 ** np.floor(np.log10(wanted))
    return float(next(step * power for step in (1, 2, 5, 10) if step * power >= wanted))


def _words(name: str, label: str) -> list[str]:
    """The words of a name and a label, without accents, in small letters; humps and digits end a word as well."""
    told = re.sub(r"([a-z])([A-Z])", r"\1 \2", f"{name} {label}")
    plain = "".join(letter for letter in unicodedata.normalize("NFKD", told) if not unicodedata.combining(letter))
    return [plain.strip().lower(), *re.findall(r"[a-z]+\d*|\d+", plain.lower())]


def _named(words: list[str], meanings: dict[str, str]) -> str:
    for meaning, starts in meanings.items():
        exact, prefixes = _beginnings(starts)
        # Short words must stand alone: "id" is not in "idle", "inc" not in "since".
        if any(word in exact or word.startswith(prefixes) for word in words):
            return meaning
    return ""


@cache
def _beginnings(starts: str) -> tuple[frozenset[str], tuple[str, ...]]:
    listed = starts.split()
    return frozenset(listed), tuple(start for start in listed if len(start) > 4)


def _names_people(told: str) -> bool:
    """Whether a name or a label says that the column names people, and nothing else."""
    words = [word.rstrip("0123456789") for word in _words(told, "")[1:]]
    may, beside = _MAY_NAME.split(), _OF_PEOPLE.split()
    only = any(word in may for word in words) and all(not word or word in (*may, *beside) for word in words)
    return only or bool(_named(words, {"people": _NAMING}))


def _identifying(table: Table, name: str, kind: Kind, words: list[str], levels: int) -> str:
    column = table.frame[name].dropna()
    if len(column) < _LEAST or levels < 2:
        return ""
    share = levels / len(column)
    called = _called(table, name, words)
    told = (name, table.column_labels.get(name, ""))
    if levels >= _LEAST_NAMES and is_text(column) and any(map(_names_people, told)):
        return "names of people"
    if called in ("a place", "an employer"):
        return _identifying_place(column, kind, words, levels, called)
    if _is_date(column):
        return "exact dates" if share > 0.1 or (called == "a date of birth" and levels > 150) else ""
    if _is_number(column):
        money = _named_sensitive(words) == "money"
        return _identifying_number(column_numbers(table, name), called, share, money=money)
    return _identifying_text(column.astype(str), called, share)


def _called(table: Table, name: str, words: list[str]) -> str:
    """Say what of a person a column is called like, unless its numbers say that it is no such thing."""
    called, column = _named(words, _NAMES), table.frame[name]
    if not called or not _is_number(column) or {*_COORDINATES.split()} & {*words}:
        return called
    values = column_numbers(table, name)
    values = values[np.isfinite(values)]
    if not len(values):
        return called
    measured, digits = bool({*_MEASURED.split()} & {*words}), np.floor(np.log10(np.maximum(np.abs(values), 1))) + 1
    against = {
        "a person's number": measured and len(np.unique(values)) < NEARLY_ALL * len(values),
        "an address for messages": measured or float(np.median(digits)) < _CALLED_DIGITS,
        "a date of birth": measured or not _may_be_dates(values),
    }
    # A number of a person, of a telephone or of a place has no decimals.
    return "" if against.get(called, False) or bool((values != np.floor(values)).any()) else called


def _may_be_dates(values: Floats) -> bool:
    """Whether whole numbers may be years, days counted from some year, or dates written as one number."""
    low, high = float(values.min()), float(values.max())
    year, month, day = values // 10_000, values // 100 % 100, values % 100
    written = ((month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)).mean() > NEARLY_ALL
    if _YEARS[0] <= low and high <= _YEARS[1]:
        return True
    if written and _YEARS[0] <= float(year.min()) and float(year.max()) <= _YEARS[1]:
        return True
    # Nobody rounds a day.
    return _DAYS[0] <= low and high <= _DAYS[1] and float(np.mean(values % 10 == 0)) <= 0.2


def _identifying_place(column: pd.Series, kind: Kind, words: list[str], levels: int, called: str) -> str:
    """Say whether it is coordinates, or a list of places or employers of which some have hardly anybody."""
    usual = float(column.value_counts().median())
    many = levels > MANY_PLACES and usual < FEW_PEOPLE
    if called == "an employer":
        return "employers with few people" if many and not _SIZES & {*words} else ""
    return "places with few people" if kind != "categorical" or usual < 5 or many else ""


def _identifying_number(values: Floats, called: str, share: float, *, money: bool = False) -> str:
    values = values[np.isfinite(values)]
    if not len(values):
        return ""
    whole = bool((values == np.floor(values)).all())
    if not whole or share < NEARLY_ALL:
        return f"called like {called}" if called and share > 0.5 else ""
    ordered = np.sort(values)
    if np.ptp(ordered) + 1 <= 2 * len(ordered):
        return "numbers that count up"
    digits = np.floor(np.log10(np.maximum(np.abs(values), 1))) + 1
    if called or (digits.min() == digits.max() >= 6) or (digits.max() >= 8 and _have_check_digit(values)):
        return "nearly all values differ, of the same length" if not called else f"called like {called}"
    return "" if money else _identifying_codes(values, ordered)


def _identifying_codes(values: Floats, ordered: Floats) -> str:
    """Say why whole numbers of which nearly all differ are no amounts."""
    # People round amounts, have none, or lose some; and amounts have a middle, or a tail.
    if ordered[0] < 0 or np.mean(values % 10 == 0) > 0.2 or np.mean(ordered == 0) > 2 / len(ordered):
        return ""
    records, different = len(values), len(np.unique(values))
    by_chance = records**2 / (2 * (np.ptp(ordered) + 1))
    if different == records and by_chance > _SURELY_TIES:
        return "all values differ, where chance would make some amounts alike"
    if (np.diff(values) > 0).all():
        return "nearly all values differ, in ascending order"
    first, low, high, last = np.quantile(ordered, [0.01, 0.25, 0.75, 0.99])
    return (
        "nearly all values differ, and are spread as evenly as numbers of persons"
        if high - low > 0.42 * (last - first)
        else ""
    )


def _identifying_text(texts: pd.Series, called: str, share: float) -> str:
    places = np.linspace(0, len(texts) - 1, min(len(texts), _LOOKED_AT)).astype(int)
    # Letters beyond ASCII are letters too, which they are not to the regular expressions of pandas 3.0.
    looked = [text.strip() for text in texts.iloc[places]]
    for shape, meaning in ((_EMAIL, "e-mail addresses"), (_PHONE, "telephone or other long numbers")):
        if share > 0.5 and np.mean([shape.fullmatch(text) is not None for text in looked]) > 0.8:
            return meaning
    if share > 0.3 and (np.mean([len(text.split()) for text in looked]) >= 4 or np.mean(list(map(len, looked))) > 40):
        return "free text"
    persons = np.mean([_PERSON.fullmatch(text) is not None for text in looked])
    if share > 0.3 and (called == "a name" or persons > NEARLY_ALL):
        return "names of people"
    if share > 0.5:
        return f"called like {called}" if called else "nearly all values differ" if share > NEARLY_ALL else ""
    return ""


def _have_check_digit(values: Floats) -> bool:
    """Whether nearly all numbers end in the digit that Luhn's formula asks for: of others a tenth does."""
    passed = []
    for number in values[:_LOOKED_AT]:
        digits = [int(digit) for digit in f"{abs(number):.0f}"][::-1]
        doubled = (2 * digit - 9 * (digit > 4) for digit in digits[1::2])
        passed.append((sum(digits[::2]) + sum(doubled)) % 10 == 0)
    return float(np.mean(passed)) > NEARLY_ALL


def _is_date(column: pd.Series) -> bool:
    return pd.api.types.is_datetime64_any_dtype(column.dtype)


def _is_number(column: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype)


def _correlation(one: np.ndarray, other: np.ndarray) -> float:
    if one.std() == 0 or other.std() == 0:
        return 0.0
    return float(np.corrcoef(one, other)[0, 1])
