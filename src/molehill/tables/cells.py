"""Cells of text files: numbers with their marks, dates with their format, and codes for missing values.

Columns are read as text. A column becomes numbers or dates if all its cells are; a column in which most cells are stays
text, but is not treated as categorical: `stray_cells` finds the other cells, and `declare_missing` declares them
missing.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute

from molehill.errors import InputError
from molehill.tables.table import Dialect, Table, find_columns, series_from_arrow

# Arrow makes these functions while it is imported: type checkers do not see them.
pc: Any = pyarrow.compute

# With at least this share of numbers (or dates), the other cells of a column are stray cells.
MOSTLY = 0.8
# Codes of categories: maximum number of distinct numbers, and minimum mean frequency.
FEW, REPEATS = 10, 5
_HEAD = 100
_LOOKED_AT = 2_000
_DIGITS = 1_000

# Decimal mark and thousands separator; readings with fewer marks come first.
READINGS = ((".", ""), (",", ""), (".", ","), (",", "."), (".", " "), (",", " "), (".", "'"), (",", "'"))
_SPACES, _APOSTROPHES = " \u00a0\u2009\u202f", "'\u2019"
_ANY_NUMBER = re.compile(
    r"[+-]?(?:(?:\d+|[1-9]\d{0,2}(?:[.,' \u00a0\u2009\u202f\u2019]\d{3})+)(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d+)?"
    r"|[+-]?(?:inf|infinity)",
    re.ASCII | re.IGNORECASE,
)
# Codes that a cast would convert to numbers: 007, 0x1F, and numbers with too many digits.
_CODES = {pa.int64(): r"^[+-]?0[0-9xX]", pa.float64(): r"^[+-]?(0[0-9xX]|\d{19,}$)"}
_CODE = re.compile(r"[+-]?0\d|[+-]?\d{19,}$", re.ASCII)
_DATE = re.compile(
    r"(\d{4}|\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d{1,2})(?:([T ])(\d{2}:\d{2})(:\d{2})?(\.\d{1,6})?)?", re.ASCII
)
# Lower case without final full stop, in the main languages of official statistics.
_WORDS = (
    "na|n/a|n.a|n. a|nan|null|none|nil|#n/a|#null!|#value!|#ref!|-|--|---|\u2013|\u2014|.|..|...|?|??|???|*|**|/|"
    ":|unknown|missing|refused|refusal|no answer|not applicable|not available|not stated|not reported|"
    "inapplicable|inap|undefined|don't know|dont know|do not know|dk|rf|nr|blank|k.a|k. a|ka|keine angabe|"
    "keine angaben|unbekannt|fehlt|fehlend|weiß nicht|weiss nicht|verweigert|trifft nicht zu|entfällt|inconnu|"
    "inconnue|manquant|sans réponse|non réponse|non renseigné|refus|ne sait pas|sans objet|nsp|n.d|nd|"
    "desconocido|no sabe|no contesta|ns/nc|no aplica|sin dato|sin datos|s/d|no responde|sconosciuto|non risponde|"
    "non sa|mancante|desconhecido|não sabe|não respondeu|não aplicável|sem resposta|onbekend|weet niet|"
    "geen antwoord|niet van toepassing|okänd|uppgift saknas|ukjent|ukendt|brak danych|nie wiem|bd|b.d|нет данных|"
    "неизвестно|不明|无|缺失"
)
_MISSING_WORDS = frozenset(_WORDS.split("|"))


@dataclass(frozen=True)
class Settled:
    """Columns converted to numbers and dates, and the marks and formats found."""

    columns: Mapping[str, pa.ChunkedArray]
    decimal: str
    thousands: str
    grouped: tuple[str, ...]
    dates: Mapping[str, str]


def settle(
    columns: Mapping[str, pa.ChunkedArray],
    *,
    decimal: str | None = None,
    thousands: str | None = None,
    separator: str = ",",
) -> Settled:
    """Convert columns of text to numbers and dates where all their cells are.

    Marks are found from the cells of a column: 12,5 has a decimal comma, 1,234,567 has not. Where both are possible, as
    in 1.234, the other columns decide; a column with whole numbers below a thousand and numbers such as 1.250 has
    thousands separators, because decimals would not end in 0; a semicolon as separator goes with a decimal comma.
    Otherwise the decimal mark is the point.

    Parameters
    ----------
    columns
        The columns as text, with nulls for missing.
    decimal, thousands
        The marks, if known; `thousands=""` for none.
    separator
        Separator of the cells.
    """
    allowed = [reading for reading in READINGS if _allows(reading, decimal, thousands)]
    fitting = {name: _fitting_readings(column, allowed) for name, column in columns.items()}
    chosen = decimal or _elect(columns, fitting, separator)
    done, marks = dict(columns), {}
    for name, column in columns.items():
        readings, number = fitting[name].readings, fitting[name].numbers
        if fitting[name].whole and readings and (number is None or chosen != "."):
            reading = next((one for one in readings if one[0] == chosen), readings[0])
            number = _numbers(_without_marks(column, reading))
            marks |= {name: mark} if number is not None and (mark := _mark(column, reading[1])) else {}
        done[name] = column if number is None else number
    dates = settle_dates({name: column for name, column in done.items() if column is columns[name]})
    common = Counter(marks.values()).most_common(1)
    found = thousands or (common[0][0] if common else "")
    return Settled(done | dict(dates.columns), chosen, found, tuple(marks), dates.dates)


def settle_dates(columns: Mapping[str, pa.ChunkedArray]) -> Settled:
    """Convert columns of text to dates where all their cells are."""
    found = {name: dates for name, column in columns.items() if (dates := _dates(column)) is not None}
    done = dict(columns) | {name: moments for name, (moments, _) in found.items()}
    return Settled(done, ".", "", (), {name: form for name, (_, form) in found.items()})


@dataclass(frozen=True)
class _Fit:
    """Readings by which most cells of a column are numbers, whether all are, and the numbers if no marks are needed."""

    readings: tuple[tuple[str, str], ...] = ()
    whole: bool = False
    numbers: pa.ChunkedArray | None = None


def _fitting_readings(column: pa.ChunkedArray, allowed: Sequence[tuple[str, str]]) -> _Fit:
    number = _numbers(column)
    if number is not None and pa.types.is_integer(number.type):
        return _Fit((), whole=True, numbers=number)
    head = [text.strip() for text in column.drop_null()[:_HEAD].to_pylist()]
    if number is not None and (".", "") in allowed:
        # Usually one of the first cells shows that the point is not a thousands separator.
        pointed = [text for text in head if "." in text]
        other = [reading for reading in allowed if reading[1] == "."]
        if not other or not all(re.fullmatch(_pattern(*other[0]), text) for text in pointed):
            return _Fit((((".", ""),) if pointed else ()), whole=True, numbers=number)
        shares = [reading for reading in (allowed[0], other[0]) if _share(column, reading) == 1.0]
        return _Fit(tuple(shares), whole=True, numbers=number)
    if 2 * sum(_ANY_NUMBER.fullmatch(text) is not None for text in head) < max(len(head), 1):
        return _Fit()
    found = {reading: _share(column, reading) for reading in allowed}
    best = max(found.values())
    if best < MOSTLY:
        return _Fit()
    return _Fit(tuple(reading for reading, share in found.items() if share == best), whole=best == 1.0)


def _elect(columns: Mapping[str, pa.ChunkedArray], fitting: Mapping[str, _Fit], separator: str) -> str:
    """Determine the decimal mark of the file from the columns with a single reading."""
    votes: Counter[str] = Counter()
    unsure: Counter[str] = Counter()
    for name, fit in fitting.items():
        decimals = {reading[0] for reading in fit.readings}
        if len(decimals) == 1:
            votes.update(decimals)
        elif decimals:
            # The ambiguous mark.
            mark = fit.readings[0][0] if fit.readings[0][1] == "" else ""
            # Codes such as 007 contain no mark.
            mark = mark if mark and pc.any(pc.match_substring(columns[name], mark)).as_py() else ""
            thousands = bool(mark) and _has_round_thousands(columns[name], mark)
            votes.update([({".", ","} - {mark}).pop()] if thousands else [])
            # Thousands are separated in all numbers or none. In a comma-separated file such numbers have to be quoted,
            # which suggests manual and inconsistent separators.
            bare = not thousands and mark and separator != "," and _has_bare_thousands(columns[name])
            votes.update([mark] if bare else [])
            unsure.update([mark] if mark and not thousands else [])
    if votes:
        return "," if votes[","] > votes["."] else "."
    return "," if separator == ";" and unsure[","] and not unsure["."] else "."


def _has_round_thousands(column: pa.ChunkedArray, mark: str) -> bool:
    marked = pc.match_substring(column, mark)
    zeros = pc.sum(pc.and_(marked, pc.ends_with(pc.ascii_trim_whitespace(column), "0"))).as_py() or 0
    return zeros >= 5 and not pc.all(marked).as_py()


def _has_bare_thousands(column: pa.ChunkedArray) -> bool:
    return bool(pc.any(pc.match_substring_regex(_trimmed(column), r"^[+-]?[1-9][0-9]{3,}$")).as_py())


def _allows(reading: tuple[str, str], decimal: str | None, thousands: str | None) -> bool:
    fits = decimal in (None, reading[0]) and reading[0] != thousands
    return fits and (thousands is None or reading[1] in ("", _kind_of_mark(thousands)))


def _kind_of_mark(mark: str) -> str:
    return " " if mark in _SPACES else "'" if mark in _APOSTROPHES else mark


@cache
def _pattern(decimal: str, thousands: str) -> str:
    """Pattern of a number with these marks."""
    marks = {" ": f"[{_SPACES}]", "'": f"[{_APOSTROPHES}]", "": ""}.get(thousands, re.escape(thousands))
    whole = rf"(?:[0-9]+|[1-9][0-9]{{0,2}}(?:{marks}[0-9]{{3}})+)" if thousands else "[0-9]+"
    point = re.escape(decimal)
    return rf"^[+-]?(?:{whole}(?:{point}[0-9]*)?|{point}[0-9]+)(?:[eE][+-]?[0-9]+)?$|^[+-]?inf$"


def _share(column: pa.ChunkedArray, reading: tuple[str, str]) -> float:
    """Share of the cells that are numbers by a reading."""
    bare = _trimmed(column)
    return pc.mean(pc.match_substring_regex(bare, _pattern(*reading))).as_py() or 0.0


def _trimmed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Strip white space; empty cells become null."""
    bare = pc.utf8_trim_whitespace(column)
    return pc.if_else(pc.equal(bare, ""), pa.scalar(None, pa.string()), bare)


def _without_marks(column: pa.ChunkedArray, reading: tuple[str, str]) -> pa.ChunkedArray:
    decimal, thousands = reading
    bare = _trimmed(column)
    for mark in {" ": _SPACES, "'": _APOSTROPHES}.get(thousands, thousands):
        bare = pc.replace_substring(bare, mark, "")
    return bare if decimal == "." else pc.replace_substring(bare, decimal, ".")


def _mark(column: pa.ChunkedArray, thousands: str) -> str:
    """The thousands separator used in a column; empty if there is none."""
    if not thousands:
        return ""
    for mark in {" ": _SPACES, "'": _APOSTROPHES}.get(thousands, thousands):
        if pc.any(pc.match_substring(pc.utf8_trim_whitespace(column), mark)).as_py():
            return mark
    return ""


def _numbers(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Numbers with a decimal point; None if a cell is not a number."""
    head = column[:_HEAD]
    for trim in (lambda cells: cells, _trimmed):
        for kind, codes in _CODES.items():
            try:
                # A failing cast is slow, and the first cells usually show it.
                trim(head).cast(kind)
                cells = trim(column)
                numbers = cells.cast(kind)
            except pa.ArrowInvalid:
                continue
            no_numbers = numbers.null_count == len(numbers)
            return None if no_numbers or pc.any(pc.match_substring_regex(cells, codes)).as_py() else numbers
    return None


def check_digits(column: pa.ChunkedArray, name: str) -> None:
    """Raise an error for a cell with too many digits."""
    longest = pc.max(pc.binary_length(column)).as_py() or 0
    if longest <= _DIGITS:
        return
    long = pc.greater(pc.binary_length(column), _DIGITS)
    endless = pc.and_(long, pc.match_substring_regex(column, r"^\s*[+-]?[0-9.,' ]+\s*$"))
    row = pc.index(pc.fill_null(endless, fill_value=False), value=True).as_py()
    if row >= 0:
        problem = f"the column {name!r} has a number of more than {_DIGITS:,} digits in row {row + 1}"
        raise InputError("path", problem, "Correct the file (the first record is row 1)")


# Dates.


def _dates(column: pa.ChunkedArray) -> tuple[pa.ChunkedArray, str] | None:
    """Timestamps and their format; None if a cell is not a date, or if day and month are ambiguous."""
    first = column.drop_null()[:1].to_pylist()
    shape = _DATE.fullmatch(first[0].strip()) if first else None
    if shape is None:
        return None
    coded: Any = pa.chunked_array([_trimmed(column).combine_chunks()]).chunk(0).dictionary_encode()
    texts = coded.dictionary.to_pylist()
    matches = [_DATE.fullmatch(text) for text in texts]
    # All cells must have the same separator, position of the year, and parts of the time.
    kept = {(m[2], len(m[1]) == 4, m[5], m[7] is None, m[8] is None) if m else None for m in matches}
    if len(kept) > 1 or None in kept:
        return None
    form, moments = _date_form(texts, [m for m in matches if m], shape)
    if moments is None:
        return None
    return pa.chunked_array([pa.array(moments, pa.timestamp("us")).take(coded.indices)]), form


def _date_form(texts: list[str], matches: list[re.Match[str]], shape: re.Match[str]) -> tuple[str, Any]:
    mark, time = shape[2], ""
    if shape[5]:
        time = f"{shape[5]}%H:%M" + (":%S" if shape[7] else "") + (".%f" if shape[8] else "")
    if len(shape[1]) == 4:
        orders, parts = ["%Y{0}%m{0}%d"], (3, 4)
    elif len(shape[4]) == 4:
        # With points, the day comes first.
        orders, parts = ["%d{0}%m{0}%Y", *(["%m{0}%d{0}%Y"] if mark != "." else [])], (1, 3)
    else:
        return "", None
    found = {}
    for order in orders:
        form = order.format(mark) + time
        moments = pd.to_datetime(pd.Series(texts, dtype="str"), format=form, errors="coerce")
        if moments.notna().all():
            found[form] = moments
    if len(found) != 1:
        return "", None
    (form, moments), *_ = found.items()
    bare = any(len(match[part]) == 1 for match in matches for part in parts)
    return (form.replace("%d", "%-d").replace("%m", "%-m") if bare else form), moments


def write_dates(column: pa.ChunkedArray, form: str | None) -> pa.ChunkedArray:
    """Write timestamps as text in a format, or in ISO format if it would lose information."""
    if pa.types.is_timestamp(column.type) and column.type.tz is not None:
        return column.cast(pa.string())
    moments = column.cast(pa.timestamp("us"))
    days, minutes, seconds = (
        pc.all(pc.equal(moments, pc.floor_temporal(moments, unit=unit))).as_py() is not False
        for unit in ("day", "minute", "second")
    )
    exact = days or (form is not None and ("%f" in form or ("%S" in form and seconds) or ("%M" in form and minutes)))
    if not exact or form is None:
        form = "%Y-%m-%d" if days else "%Y-%m-%d %H:%M:%S" if seconds else "%Y-%m-%d %H:%M:%S.%f"
    # Arrow writes fractions of a second with %S if the type has them.
    clock = moments if "%f" in form else moments.cast(pa.timestamp("s"), safe=False)
    texts = pc.strftime(clock, form.replace("%-", "%").replace(".%f", ""))
    bare = r"^0?(\d+)([-/.])0?(\d+)([-/.])0?(\d+)"
    return pc.replace_substring_regex(texts, bare, r"\1\2\3\4\5") if "%-d" in form else texts


# Stray cells.


@dataclass(frozen=True)
class StrayCells:
    """Cells of another kind than the rest of their column.

    Attributes
    ----------
    rows
        Their rows, from 1.
    texts
        Their distinct texts, the most frequent first; these are values, not for messages.
    others
        Kind of the other cells: "numbers" or "dates".
    """

    rows: tuple[int, ...] = ()
    texts: tuple[str, ...] = field(default=(), repr=False)
    others: str = "numbers"


def stray_cells(table: Table, name: str) -> StrayCells:
    """Find the cells of a column that are not numbers (or dates), if at least four of five cells are.

    Not for columns of codes: those with leading zeros and constant length, such as postcodes, or with few frequent
    whole numbers and words that do not mean missing, such as "6+" at the end of a count of persons.

    Parameters
    ----------
    table
        The dataset.
    name
        A column of it.

    Examples
    --------
    >>> people = Table(pd.DataFrame({"pay": ["2800", "n/a", "3100", "950", "1200", "4100"]}))
    >>> stray_cells(people, "pay").rows
    (2,)
    """
    column = table.frame[find_columns(table, name, "name")[0]]
    present = column.notna().to_numpy()
    if not _may_have_text(column) or not present.any():
        return StrayCells()
    looked = np.flatnonzero(present)
    looked = looked[np.linspace(0, len(looked) - 1, min(len(looked), _LOOKED_AT)).astype(np.int64)]
    sample = [_as_cell(value) for value in column.iloc[looked]]
    if 2 * sum(_is_number(cell) or _DATE.fullmatch(cell) is not None for cell in sample) < len(sample):
        return StrayCells()
    found, uniques = _factorize_cells(column[present])
    cells, counts = [str(cell) for cell in uniques], np.bincount(found, minlength=len(uniques))
    wrong, others = judge_cells(cells, counts)
    if not len(wrong):
        return StrayCells()
    codes = np.full(len(column), -1)
    codes[present] = found
    rows = np.flatnonzero(np.isin(codes, wrong)) + 1
    texts = [cells[index] for index in wrong[np.argsort(-counts[wrong], kind="stable")]]
    return StrayCells(tuple(rows.tolist()), tuple(dict.fromkeys(texts)), others)


def _factorize_cells(column: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """As `pandas.factorize`, for cells; every distinct text is examined once."""
    if not isinstance(column.dtype, pd.StringDtype):
        return pd.factorize(np.array([_as_cell(value) for value in column], dtype=object))
    codes, texts = pd.factorize(column)
    # Cells that differ in surrounding spaces only are equal.
    merged, uniques = pd.factorize(np.array([_as_cell(value) for value in texts], dtype=object))
    return merged[codes], uniques


def judge_cells(cells: list[str], counts: np.ndarray) -> tuple[np.ndarray, str]:
    """Which of the distinct cells of a column are stray, given their counts."""
    for others, fits in (("numbers", _is_number), ("dates", lambda cell: _DATE.fullmatch(cell) is not None)):
        good = np.array([fits(cell) for cell in cells], dtype=bool)
        if MOSTLY * counts.sum() <= counts[good].sum() < counts.sum():
            if others == "numbers" and _are_codes(cells, counts, good):
                break
            return np.flatnonzero(~good), others
    return np.empty(0, dtype=np.int64), ""


def numbers_as_text(table: Table, name: str) -> bool:
    """Whether a column of text contains only numbers, and is not a list of codes."""
    column = table.frame[name]
    if not _may_have_text(column):
        return False
    return are_numbers([_as_cell(value) for value in pd.unique(column.dropna().astype(object))])


def are_numbers(cells: Sequence[str]) -> bool:
    """Whether the distinct cells of a column are numbers, and not a list of codes."""
    same = len({len(cell) for cell in cells}) == 1 and all(cell.isdigit() for cell in cells)
    return len(cells) > FEW and not same and all(map(_is_number, cells))


def _may_have_text(column: pd.Series) -> bool:
    dtype, values = column.dtype, column
    if isinstance(dtype, pd.CategoricalDtype):
        dtype, values = dtype.categories.dtype, dtype.categories
    if dtype.kind == "O" and not isinstance(dtype, pd.StringDtype):
        return pd.api.types.infer_dtype(values, skipna=True) in ("string", "mixed", "mixed-integer")
    return pd.api.types.is_string_dtype(dtype)


def _as_cell(value: Any) -> str:
    if isinstance(value, str):
        return value.strip()
    # A number among text is written with its digits.
    return repr(value) if isinstance(value, int | float) and not isinstance(value, bool) else "other"


def _is_number(cell: str) -> bool:
    return len(cell) <= _DIGITS and _ANY_NUMBER.fullmatch(cell) is not None and _CODE.match(cell) is None


def _are_codes(cells: list[str], counts: np.ndarray, good: np.ndarray) -> bool:
    digits = [cell for cell in cells if re.fullmatch(r"\d+", cell, re.ASCII)]
    if any(len(cell) > 1 and cell[0] == "0" for cell in digits) and len(set(map(len, digits))) == 1:
        return True
    numbers = [cell for cell, fits in zip(cells, good, strict=True) if fits]
    others = [cell for cell, fits in zip(cells, good, strict=True) if not fits]
    few = len(numbers) <= FEW and set(numbers) <= set(digits) and counts[good].sum() >= REPEATS * len(numbers)
    return few and not any(map(means_missing, others))


def check_header(header: Sequence[str], records: Sequence[Sequence[str]]) -> None:
    """Raise an error if the first line is a record: its values would be published as names.

    One name is enough that is a date above dates, a number with a fraction or sign above numbers, or an e-mail address;
    otherwise at least a third of the names must be whole numbers above numbers, or values of their columns. Evenly
    spaced whole numbers, and years, are accepted as names of wide data.

    Parameters
    ----------
    header, records
        The cells of the first line, and of some lines after it.
    """
    names = [name.strip() for name in header]
    like = [[cell.strip() for cell in row] for row in records if len(row) == len(names)]
    below = list(zip(*like, strict=True))
    seen = list(zip(names, below, strict=False))
    whole = [int(name) for name in names if re.fullmatch(r"\d{1,15}", name, re.ASCII)]
    steps = {after - before for before, after in pairwise(whole)}
    series = (len(whole) > 2 and len(steps) == 1 and min(steps) > 0) or all(1900 <= each <= 2100 for each in whole)
    sure = [_is_surely_cell(name, cells) for name, cells in seen]
    may = [_may_be_cell(name, cells) and not (series and name.isdigit()) for name, cells in seen]
    if any(sure) or sum(may) >= min(max(2, len(names) / 3), max(1, len(names) / 2)):
        problem = "its first line looks like a record, not like names of columns"
        remedy = "Add a line of names above it; a name must not be a number or a value of its own column"
        raise InputError("path", problem, remedy)


def _is_surely_cell(name: str, below: Sequence[str]) -> bool:
    if re.fullmatch(r"[^@\s]+@[^@\s]+\.[^@\s]+", name):
        return True
    if _DATE.fullmatch(name):
        return _mostly(below, lambda cell: _DATE.fullmatch(cell) is not None)
    marked = _ANY_NUMBER.fullmatch(name) is not None and re.search(r"\d\D|^\D+\d", name) is not None
    return marked and _mostly(below, lambda cell: _ANY_NUMBER.fullmatch(cell) is not None)


def _may_be_cell(name: str, below: Sequence[str]) -> bool:
    # A check box has its name or nothing as value.
    if name and name in below and len({*below} - {""}) > 1:
        return True
    numeric = re.fullmatch(r"\d+", name, re.ASCII) is not None
    return numeric and _mostly(below, lambda cell: _ANY_NUMBER.fullmatch(cell) is not None)


def _mostly(cells: Sequence[str], fits: Callable[[str], bool]) -> bool:
    present = [cell for cell in cells if not means_missing(cell)]
    return bool(present) and sum(map(fits, present)) >= MOSTLY * len(present)


def means_missing(text: str) -> bool:
    """Whether a text is a usual word for a missing value, in one of several languages.

    Examples
    --------
    >>> means_missing(" N/A "), means_missing("k.A."), means_missing("6+")
    (True, True, False)
    """
    plain = text.strip().casefold()
    return not plain or plain in _MISSING_WORDS or plain.rstrip(".") in _MISSING_WORDS


# Codes for missing values.


def find_missing_codes(table: Table) -> dict[str, tuple[float | str, ...]]:
    """Propose codes for missing values of every variable, to be confirmed by the user.

    `explain_missing_codes` documents the rules, and returns the evidence.

    Parameters
    ----------
    table
        The dataset.

    Examples
    --------
    >>> people = pd.DataFrame({"pay": ["2800", "n/a", "3100", "950", "1200", "4100"], "age": [31, 54, -9, 22, -9, 60]})
    >>> find_missing_codes(Table(people))
    {'pay': ('n/a',), 'age': (-9,)}
    """
    return {name: tuple(codes) for name, codes in explain_missing_codes(table).items()}


def explain_missing_codes(table: Table) -> dict[str, dict[float | str, str]]:
    """Propose codes for missing values of every variable, with the evidence for each.

    - Among numbers or dates: text without a digit, such as n/a, ? and keine Angabe; the same text in categories.
    - Numbers such as -9, -99 and 9999 that occur at least twice and are separated from the others: above the maximum by
      more than the range of the others, or negative where no other value is, and further away than the others are from
      each other. A -1 below 0 and 1 can also be an infant, a loss or a score; it is a code only beside another code of
      its variable, such as -9, or in a short list of answers if two other variables have it as a code.
    - Among numbers with value labels: those whose label means missing, or that lie outside the unlabelled numbers.

    Values declared missing in SPSS, Stata or SAS files are missing when read.

    Parameters
    ----------
    table
        The dataset.

    Examples
    --------
    >>> people = pd.DataFrame({"age": [31, 0, -1, 22, -1, 1, 2], "rooms": [3, 4, -9, 2, -9, 5, 1]})
    >>> explain_missing_codes(Table(people))
    {'rooms': {-9: 'in 2 records, below 0 and separated from all other values'}}
    """
    found: dict[str, dict[float | str, str]] = {}
    doubtful: dict[str, dict[float | str, int]] = {}
    for name in table.frame.columns:
        dtype = table.frame[name].dtype
        if pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype) and dtype.kind != "c":
            found[name], doubtful[name] = _numeric_codes(table, name)
        else:
            stray = stray_cells(table, name)
            texts = [text for text in stray.texts if means_missing(text) or not re.search(r"\d", text)]
            found[name] = dict.fromkeys(texts, f"text among {stray.others}")
    for name, codes in doubtful.items():
        for code, count in codes.items():
            others = sum(code in own for other, own in found.items() if other != name)
            if others >= _SEVERAL:
                found[name][code] = f"in {count:,} records, and a code in {others:,} other variables"
    # Codes found among numbers also apply to categories.
    texts = {code for codes in found.values() for code in codes if isinstance(code, str)}
    for name in [name for name, codes in found.items() if texts and not codes and is_text(table.frame[name])]:
        same = sorted(texts & {*table.frame[name].dropna().astype(str).unique()})
        found[name] = dict.fromkeys(same, "the same text occurs among the numbers of another variable")
    return {name: codes for name, codes in found.items() if codes}


def is_text(column: pd.Series) -> bool:
    """Whether a column holds text, or categories."""
    return isinstance(column.dtype, pd.StringDtype | pd.CategoricalDtype) or pd.api.types.is_string_dtype(column)


def _numeric_codes(table: Table, name: str) -> tuple[dict[float | str, str], dict[float | str, int]]:
    """Codes with evidence; and candidates in short lists without evidence in the variable itself."""
    values = table.frame[name].to_numpy(dtype=np.float64, na_value=np.nan)
    unique, counts = np.unique(values[np.isfinite(values)], return_counts=True)
    labels = {code: label for code, label in table.value_labels.get(name, {}).items() if not isinstance(code, str)}
    # Pre-selection by the last two digits, for speed.
    coded = np.isin(np.abs(unique) % 100, _ENDS_OF_CODES) | ((unique >= -9) & (unique <= -1))
    coded[coded] = [_looks_like_code(value) for value in unique[coded]]
    labelled = np.isin(unique, np.array(list(labels), dtype=np.float64))
    plain = unique[~coded & ~labelled]
    if len(plain) < 2:
        return {}, {}
    low, high = plain[0], plain[-1]
    alone = _stand_apart(unique, plain) if low >= 0 else np.zeros(len(unique), dtype=bool)
    beside = bool((alone & coded & (counts > 1)).any())
    codes: dict[float | str, str] = {}
    doubtful: dict[float | str, int] = {}
    for place, (value, count) in enumerate(zip(unique.tolist(), counts.tolist(), strict=True)):
        code = int(value) if float(value).is_integer() else float(value)
        has_label, repeated = labelled[place], coded[place] and count > 1
        records = f"in {count:,} record{'' if count == 1 else 's'}"
        if has_label and _label_means_missing(labels[value]):
            codes[code] = f"{records}, by its value label"
        elif has_label and not low <= value <= high:
            codes[code] = f"{records}, with a value label and outside the range of unlabelled numbers"
        elif repeated and value > high + (high - low):
            codes[code] = f"{records}, above all other values by more than their range"
        elif repeated and value < 0 <= low and alone[place]:
            codes[code] = f"{records}, below 0 and separated from all other values"
        elif repeated and value < 0 <= low and beside:
            codes[code] = f"{records}, below 0 beside another code"
        elif repeated and value < 0 <= low and len(plain) <= FEW:
            doubtful[code] = count
    return codes, doubtful


def _stand_apart(unique: np.ndarray, plain: np.ndarray) -> np.ndarray:
    """Which negative values are further from the next value above than the other values are from each other."""
    # A zero of an amount is not counted as a neighbour.
    positive = plain[plain > 0]
    if len(positive) < 2:
        return np.zeros(len(unique), dtype=bool)
    usual = float(np.median(np.diff(positive[:_LOWEST])))
    far = plain[0] == 0 and positive[0] > _FAR * max(usual, 1.0)
    above = np.array([np.min(unique[unique > value], initial=np.inf) for value in unique[unique < 0]])
    above[(above == 0) & far] = positive[0]
    apart = np.zeros(len(unique), dtype=bool)
    apart[: len(above)] = above - unique[: len(above)] > 1.5 * max(usual, 1.0)
    return apart


# Minimum number of other variables with the same code; number of lowest values used for distances; and their factor.
_SEVERAL, _LOWEST, _FAR = 2, 20, 10
_ENDS_OF_CODES = (66, 77, 88, 97, 98, 99)


def _looks_like_code(value: float) -> bool:
    if abs(value) >= 1e15 or not float(value).is_integer():
        return False
    return re.fullmatch(r"-[1-9]|-?(?:(6|7|8)\1+|9+[789])", str(int(value))) is not None


def _label_means_missing(label: str) -> bool:
    plain = label.casefold()
    return means_missing(label) or any(
        len(word) > 3 and re.search(rf"(?<!\w){re.escape(word)}(?!\w)", plain) for word in _MISSING_WORDS
    )


def declare_missing(table: Table, codes: Mapping[str, Sequence[float | str]]) -> Table:
    """Set cells with these codes to missing, and convert columns that are then numbers or dates.

    An empty list of codes declares that a column of text contains numbers. Value labels of the codes are removed.

    Parameters
    ----------
    table
        The dataset.
    codes
        By variable, the codes for missing values, as they are in the file.

    Examples
    --------
    >>> people = Table(pd.DataFrame({"pay": ["2800", "n/a", "3100"]}))
    >>> declare_missing(people, {"pay": ["n/a"]}).frame["pay"].tolist()
    [2800, <NA>, 3100]
    """
    frame, dialect, labels = table.frame.copy(deep=False), table.dialect, dict(table.value_labels)
    for name in find_columns(table, list(codes), "missing_codes"):
        given: Any = codes[name]
        given = [given] if isinstance(given, str | int | float) else list(given)
        gone = {*_as_numbers(given), *_as_texts(given)}
        labels[name] = {code: label for code, label in labels.get(name, {}).items() if code not in gone}
        column = frame[name]
        if _is_numeric(column):
            absent = column.isin(_as_numbers(given))
            # Nullable integers stay whole beside missing values.
            whole = absent.any() and isinstance(column.dtype, np.dtype) and column.dtype.kind in "iu"
            frame[name] = (column.astype("Int64") if whole else column).mask(absent)
        elif pd.api.types.is_datetime64_any_dtype(column.dtype):
            frame[name] = column.mask(column.isin(_as_moments(given, dialect.dates.get(name) if dialect else None)))
        else:
            absent = _cells(column).isin(_as_texts(given))
            settled = _settle_again(column.astype(object).mask(absent, None), name, dialect)
            if settled is None:
                # It stays text, without the codes as levels.
                frame[name] = _without_levels(column.mask(absent))
            else:
                untold = not any(map(pd.api.types.is_float_dtype, frame.dtypes))
                frame[name] = series_from_arrow(settled.columns[name])
                dialect = _with_marks(dialect, settled, untold=untold)
    labels = {name: codes for name, codes in labels.items() if codes}
    return replace(table, frame=frame, dialect=dialect, value_labels=labels)


def _settle_again(column: pd.Series, name: str, dialect: Dialect | None) -> Settled | None:
    """Convert a column of text again, by the marks of its file; None if it stays text."""
    present = column.dropna()
    if not len(present) or not present.map(lambda value: isinstance(value, str | int | float)).all():
        return None
    try:
        text = pa.chunked_array([pa.array(_cells(column).where(column.notna(), None), pa.string())])
    except UnicodeError:
        # Text with half a character is not a number.
        return None
    separator = dialect.separator if dialect else ","
    for decimal in (dialect.decimal, None) if dialect else (None,):
        settled = settle({name: text}, decimal=decimal, separator=separator)
        if settled.columns[name] is not text:
            return settled
    return None


def _with_marks(dialect: Dialect | None, settled: Settled, *, untold: bool) -> Dialect | None:
    """Add the marks of a column; its decimal mark becomes that of the file if `untold` by other columns."""
    if dialect is None:
        return None
    grouped = tuple(dict.fromkeys([*dialect.grouped, *settled.grouped]))
    dates, mark = {**dialect.dates, **settled.dates}, dialect.thousands or settled.thousands
    decimal = settled.decimal if untold else dialect.decimal
    return replace(dialect, grouped=grouped, dates=dates, thousands=mark, decimal=decimal)


def _is_numeric(column: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype)


def _cells(column: pd.Series) -> pd.Series:
    # From a list: with `map`, pandas would convert to text, which fails for half characters.
    cells = [value.strip() if isinstance(value, str) else str(value) for value in column.astype(object)]
    return pd.Series(cells, dtype=object)


def _as_numbers(codes: Sequence[float | str]) -> list[float]:
    numbers = (pd.to_numeric(code, errors="coerce") if isinstance(code, str) else code for code in codes)
    return [number for number in numbers if not np.isnan(number)]


def _as_moments(codes: Sequence[float | str], form: str | None) -> list[pd.Timestamp]:
    form = (form or "%Y-%m-%d").replace("%-", "%")
    moments = (pd.to_datetime(str(code), format=form, errors="coerce") for code in codes)
    return [moment for moment in moments if not pd.isna(moment)]


def _as_texts(codes: Sequence[float | str]) -> list[str]:
    texts = []
    for code in codes:
        whole = isinstance(code, float) and code.is_integer()
        texts += [str(code).strip(), *([str(int(code))] if whole else [])]
    return texts


def _without_levels(column: pd.Series) -> pd.Series:
    return column.cat.remove_unused_categories() if isinstance(column.dtype, pd.CategoricalDtype) else column
