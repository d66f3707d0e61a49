"""The attacks of `molehill.attacks` on one release: whom and what they are tried on, each made once and when asked for.

Numbers are compared by size, codes that are categories exactly, and known columns in the groups that the intruder
knows. Attacks that look for the nearest record are tried on some people and the first few tables: more of either would
make the intervals narrower and nothing else.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from molehill.arrays import Floats, Integers, derive_seed
from molehill.attacks.attribute import Attribution, Disclosure, correct_attribution, disco, l_diversity
from molehill.attacks.closeness import Closeness, closest_records
from molehill.attacks.consistency import (
    CellCheck,
    DateCheck,
    HeapCheck,
    PairCheck,
    RangeCheck,
    RuleCheck,
    check_cells,
    check_dates,
    check_heaps,
    check_pairs,
    check_ranges,
    check_rules,
)
from molehill.attacks.criteria import inference, linkability, singling_out
from molehill.attacks.digits import Digits, shared_digits
from molehill.attacks.identity import (
    Linkage,
    Uniques,
    k_anonymity,
    linkage,
    replicated_uniques,
    replicated_uniques_vs_control,
)
from molehill.attacks.prediction import Prediction, group_by_kept, predict_synthesized, read_target
from molehill.attacks.rates import Attack
from molehill.attacks.reconstruction import Reconstruction, infer_unchanged
from molehill.errors import InputError, check_names
from molehill.tables.intervals import Figure, mean_over_tables
from molehill.tables.resolution import column_unit, holds_dates
from molehill.tables.schema import column_numbers, cut_into_groups, infer_kind
from molehill.tables.table import Table, as_table, find_columns

if TYPE_CHECKING:
    from molehill.evaluation.scene import Scene

# People and predicates that are tried at most, and tables that they are tried in.
PEOPLE, PREDICATES, TABLES = 1_000, 1_000, 5
# Groups that a number is cut into where targets are looked up: at these shares of the confidential values.
SHARES = (0.2, 0.4, 0.6, 0.8)
# Released records in either list of a link, and of fewer than a hundred a list for each.
_NEIGHBOURS, _RECORDS_A_NEIGHBOUR = 10, 100
# Columns in a predicate, and columns at most whose pairs and reconstruction are looked at.
SIZES, MOST_COLUMNS = (1, 3), 12
# Numbers count as guessed within this share of the true value.
_TOLERANCE = 0.05


@dataclass(frozen=True, eq=False)
class Trial:
    """Tables beside the people that they were made from, and people like them who were not used: the control."""

    data: Table
    released: Sequence[Table]
    control: Table


@dataclass(frozen=True)
class Tried:
    """An attack on the release itself, and the same with a control, where there is one.

    `held` is the same attack where the control is of the release. Where the model was fitted anew to some of the people
    so that the others could be the control, it is the attack on what came out of that.
    """

    attack: Attack
    held: Attack | None

    @property
    def anew(self) -> bool:
        """Whether the control comes from fitting anew."""
        return self.held is not None and self.held is not self.attack


def read_control(control: Any, columns: Sequence[str]) -> Table:
    """Accept people who were not used, with the columns that attacks are about."""
    table = as_table(control, argument="control")
    find_columns(table, check_names("control", columns), "control")
    return table


@dataclass(frozen=True, eq=False)
class Attacks:
    """The attacks on the release of a scene; of the confidential table, if it were published as it is."""

    scene: "Scene"

    @cached_property
    def known(self) -> tuple[str, ...]:
        """What the intruder knows, as far as it is published."""
        return tuple(name for name in self.scene.view.intruder.known if self._is_published(name))

    @cached_property
    def sensitive(self) -> tuple[str, ...]:
        """What the intruder wants to know, as far as it is published."""
        return tuple(name for name in self.scene.view.intruder.sensitive if self._is_published(name))

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Both: the known columns and the sensitive ones."""
        return (*self.known, *self.sensitive)

    @cached_property
    def kept(self) -> tuple[str, ...]:
        """The known columns, and others that are looked at, which the release has as they are, record by record."""
        scene = self.scene
        others = [name for name in scene.options.related or () if name not in self.columns]
        names = [*self.known, *(name for name in others if self._is_published(name) and self._kinds.get(name))]
        tables = [table.frame for table in scene.tables]
        own = scene.view.table.frame
        if not all(reading.rows is None for reading in scene.readings):
            return ()
        return tuple(name for name in names if all(own[name].equals(table[name]) for table in tables))[:MOST_COLUMNS]

    def _is_published(self, name: str) -> bool:
        tables = self.scene.tables if self.scene.beside is None else self.scene.beside.tables
        return name not in self.scene.options.hidden and all(name in table.frame for table in tables)

    @cached_property
    def _kinds(self) -> Mapping[str, str]:
        """The kind of every column that an attack may look at; none of a column of which it cannot be told."""
        schema, table = self.scene.view.schema, self.scene.view.table
        named = {column.name: column.kind for column in schema.columns}
        kinds: dict[str, str] = {}
        for name in (*self.columns, *(self.scene.options.related or ())):
            try:
                kinds[name] = named[name] if name in named else infer_kind(table, name)[0]
            except InputError:
                continue
        return kinds

    @cached_property
    def data(self) -> Table:
        """The confidential table as the intruder knows it."""
        return self._read(self.scene.view.table)

    @cached_property
    def released(self) -> list[Table]:
        """The released tables in the same way; of the confidential table itself."""
        return [self._read(table) for table in self.scene.tables] or [self.data]

    @cached_property
    def trial(self) -> Trial | None:
        """The control, with whom and what it is compared with; None without one."""
        given = self.scene.trial
        if given is None:
            return None
        if given.data is self.scene.view.table:
            return Trial(self.data, self.released, self._read(given.control))
        return Trial(self._read(given.data), [self._read(one) for one in given.released], self._read(given.control))

    def _read(self, table: Table) -> Table:
        """Give known and sensitive columns as an intruder compares them."""
        breaks = self.scene.view.intruder.breaks
        related = [name for name in self.scene.options.related or () if name in self._kinds and name in table.frame]
        columns = {
            name: _compared(table, name, self._kinds[name], breaks.get(name)) for name in (*self.columns, *related)
        }
        read = Table(pd.DataFrame(columns))
        # What was decided of a column is not found out again.
        exact = {name for name in columns if name in breaks or self._kinds[name] == "categorical"}
        read.seen_kinds.update({name: ("categorical" if name in exact else "continuous", "") for name in columns})
        return read

    def _seed(self, *names: str | int) -> int:
        return derive_seed(self.scene.options.seed, "attacks", *names)

    def _try(self, attack: Callable[[Table, Sequence[Table], Table | None], Attack]) -> Tried:
        trial, few = self.trial, self.released[:TABLES]
        if trial is None:
            return Tried(attack(self.data, few, None), None)
        held = attack(trial.data, trial.released[:TABLES], trial.control)
        return Tried(held if trial.data is self.data else attack(self.data, few, None), held)

    @cached_property
    def pattern_sizes(self) -> dict[str, Figure]:
        """Records in patterns of a size, in the released tables."""
        if not self.known:
            return {}
        # Where the known columns are kept, one table tells of all.
        tables = self.released[:1] if self.keeps_known else self.released
        found = [k_anonymity(table, self.known).records for table in tables]
        return {name: mean_over_tables(np.array([float(one[name]) for one in found]), least=0.0) for name in found[0]}

    @cached_property
    def keeps_known(self) -> bool:
        """Whether every table has the known columns as collected, whatever the order of its records."""
        known = list(self.known)
        own = self.data.frame[known]
        return all(len(one.frame) == len(own) and one.frame[known].equals(own) for one in self.released)

    @cached_property
    def uniques(self) -> Uniques | None:
        """Who is unique by the known columns, in the data and in the release."""
        tables = self.released[:1] if self.known and self.keeps_known else self.released
        return replicated_uniques(self.data, tables, self.known) if self.known else None

    @cached_property
    def again(self) -> Tried | None:
        """Who is unique in the data and in the release, beyond those who were not used; none without a control."""
        if not self.known or self.trial is None:
            return None
        seed = self._seed("again")

        def attack(data: Table, released: Sequence[Table], control: Table | None) -> Attack:
            return replicated_uniques_vs_control(data, list(released), self.known, control=control, seed=seed)

        return self._try(attack)

    @cached_property
    def linkage(self) -> Linkage | None:
        """What linking by the known columns gives, where some of these were changed."""
        if not self.known or not self.scene.is_linked or self.keeps_known:
            return None
        tables = []
        for reading, table in zip(self.scene.readings, self.released, strict=True):
            if reading.rows is not None and (reading.rows < 0).any():
                return None
            tables.append(table if reading.rows is None else Table(table.frame.iloc[reading.rows]))
        return linkage(self.data, tables, self.known)

    def _grouped(self, table: Table, column: str) -> Table:
        """Give a table with a number in groups, as targets are looked up."""
        ends = self.breaks.get(column)
        if not ends:
            return table
        codes = cut_into_groups(column_numbers(table, column), ends, column)
        names = np.array(["missing", *(f"group {place}" for place in range(len(ends) + 1))])
        grouped = Table(table.frame.assign(**{column: _categories(codes + 1, names)}))
        grouped.seen_kinds.update({**table.seen_kinds, column: ("categorical", "")})
        return grouped

    @cached_property
    def breaks(self) -> dict[str, tuple[float, ...]]:
        """Where every sensitive number is cut into groups: at round numbers near fifths of the confidential values."""
        numbers = [name for name in self.sensitive if self._kinds[name] != "categorical"]
        return {name: round_breaks(column_numbers(self.data, name)) for name in numbers}

    @cached_property
    def diversity(self) -> dict[str, Figure]:
        """By sensitive column, the fewest different targets in any pattern."""
        found = {}
        for column in self.sensitive if self.known else ():
            tables = [self._grouped(table, column) for table in self.released[:TABLES]]
            least = [float(l_diversity(table, self.known, column).distinct) for table in tables]
            found[column] = mean_over_tables(np.array(least), least=0.0)
        return found

    @cached_property
    def _by_target(self) -> dict[str, tuple[Table, list[Table]]]:
        tables = {}
        for column in self.sensitive if self.known else ():
            tables[column] = self._grouped(self.data, column), [self._grouped(one, column) for one in self.released]
        return tables

    @cached_property
    def disclosure(self) -> dict[str, tuple[Disclosure, Tried]]:
        """By sensitive column, what looking people up in the release tells of it."""
        found, trial = {}, self.trial
        for column, (data, released) in self._by_target.items():
            if trial is None or trial.data is not self.data:
                own = disco(data, released, self.known, column)
            else:
                own = disco(data, released, self.known, column, control=self._grouped(trial.control, column))
            held = own.attack if trial is not None else None
            if trial is not None and trial.data is not self.data:
                tables = [self._grouped(one, column) for one in trial.released]
                inside, outside = (self._grouped(one, column) for one in (trial.data, trial.control))
                held = disco(inside, tables, self.known, column, control=outside).attack
            found[column] = own, Tried(own.attack, held)
        return found

    @cached_property
    def attribution(self) -> dict[str, Attribution]:
        """By sensitive column, how often that is true which the release is sure of."""
        tables = self._by_target.items()
        return {name: correct_attribution(data, released, self.known, name) for name, (data, released) in tables}

    @cached_property
    def inference(self) -> dict[str, Tried]:
        """By sensitive column, guesses from the released record that looks most like a person."""
        found = {}
        for column in self.sensitive if self.known else ():
            about: dict[str, Any] = {"tolerance": _TOLERANCE, "attacks": PEOPLE, "seed": self._seed("infer", column)}

            def attack(
                data: Table, released: Sequence[Table], control: Table | None, column: str = column, about: Any = about
            ) -> Attack:
                return inference(data, list(released), self.known, column, control=control, **about)

            found[column] = self._try(attack)
        return found

    @cached_property
    def linkability(self) -> Tried | None:
        """Links between the known columns and the sensitive ones by way of the release."""
        if not self.known or not self.sensitive:
            return None
        seed = self._seed("link")

        def attack(data: Table, released: Sequence[Table], control: Table | None) -> Attack:
            least = min(len(one.frame) for one in released)
            about: dict[str, Any] = {"attacks": PEOPLE, "seed": seed}
            about["neighbours"] = max(1, min(_NEIGHBOURS, least // _RECORDS_A_NEIGHBOUR))
            return linkability(data, list(released), self.known, self.sensitive, control=control, **about)

        return self._try(attack)

    @cached_property
    def singling_out(self) -> dict[int, Tried]:
        """By the number of columns in a predicate, claims that it is true of one person alone."""
        found = {}
        for size in SIZES if self.columns else ():
            if size <= len(self.columns):

                def attack(data: Table, released: Sequence[Table], control: Table | None, size: int = size) -> Attack:
                    about: dict[str, Any] = {"size": size, "attacks": PREDICATES, "seed": self._seed("single", size)}
                    return singling_out(data, list(released), self.columns, control=control, **about)

                found[size] = self._try(attack)
        return found

    @cached_property
    def closeness(self) -> Closeness | None:
        """Whether released records lie nearer to who was in the data; by the columns that were not kept."""
        trial = self.trial
        columns = [name for name in self.columns if name in self.sensitive or not self.scene.is_linked]
        if trial is None or not columns:
            return None
        released = list(trial.released[:TABLES])
        about: dict[str, Any] = {"attacks": PEOPLE * TABLES, "seed": self._seed("closest")}
        return closest_records(trial.data, released, trial.control, columns, **about)

    @cached_property
    def reconstruction(self) -> list[Reconstruction]:
        """What an intruder learns of a kept column who knows all the others."""
        if len(self.kept) < 2 or (self.scene.is_release and not self.scene.is_linked):
            return []
        return infer_unchanged(self.data, self.released[:1], self.kept, tolerance=_TOLERANCE)

    @cached_property
    def _in_order(self) -> list[Table]:
        """The released tables with their records in the order of the people; none where some person is missing."""
        if not self.scene.is_release or any(
            one.rows is not None and (one.rows < 0).any() for one in self.scene.readings
        ):
            return []
        frames = [
            one.table.frame if one.rows is None else one.table.frame.iloc[one.rows].reset_index(drop=True)
            for one in self.scene.readings
        ]
        return [Table(frame) for frame in frames]

    @property
    def _places(self) -> list[Integers]:
        """Where every person stands in the released files; none where these are put in random order."""
        if self.scene.options.shuffled:
            return []
        everyone = np.arange(self.scene.view.records)
        return [everyone if one.rows is None else one.rows for one in self.scene.readings]

    @cached_property
    def digits(self) -> dict[str, list[Digits]]:
        """By sensitive number, how often released values end like the true ones."""
        found, table = {}, self.scene.view.table
        for name in self._numbers if self._in_order else ():
            released = np.array([column_numbers(one, name, "released") for one in self._in_order])
            unit = column_unit(table.frame[name])
            found[name] = [] if self._is_date(name) else shared_digits(column_numbers(table, name), released, unit)
        return found

    @cached_property
    def _unchanged(self) -> list[str]:
        """The variables that every dataset has as they are, record by record."""
        view, frames = self.scene.view, [one.frame for one in self._in_order]
        own, sensitive = view.table.frame, {*view.intruder.sensitive}
        others: list[Any] = [name for name in own if name not in sensitive and self._is_published(f"{name}")]
        kept = [name for name in others if frames and all(own[name].equals(frame[name]) for frame in frames)]
        return [name for name in kept if _is_readable(view.table, name)]

    @cached_property
    def alike(self) -> dict[str, Integers]:
        """By sensitive variable, the records in groups by what variables that are released unchanged say of it."""
        found, view = {}, self.scene.view
        for name in view.intruder.sensitive if self._unchanged else ():
            exact = name not in view.numeric
            released = read_target(view.table, self._in_order, name, exact=exact)[1]
            about: dict[str, Any] = {"exact": exact, "seed": self._seed("alike", name)}
            groups = group_by_kept(view.table, released, self._unchanged, **about)
            if groups is not None:
                found[name] = groups
        return found

    @cached_property
    def predictions(self) -> list[Prediction]:
        """What variables that are released unchanged disclose of every synthesized one."""
        view, kept = self.scene.view, self._unchanged
        reach = {name: (view.radius[place], view.min_radius[place]) for place, name in enumerate(view.numeric)}
        known = [name for name in self.known if name in kept]
        left_out = {*kept, *self.scene.options.hidden}
        beside = {f"{name}": one for one in self._in_order for name in one.frame if name not in left_out}
        beside = [name for name, one in beside.items() if _is_readable(one, name)]
        found = []
        for column in self.sensitive if self._in_order else ():
            radius, least = reach.get(column, (0.0, 0.0))
            about: dict[str, Any] = {"radius": float(radius), "least": float(least), "exact": column not in reach}
            about |= {"known": known, "breaks": view.intruder.breaks, "seed": self._seed("predict", column)}
            about |= {"beside": beside, "places": self._places}
            found.append(predict_synthesized(view.table, self._in_order, column, kept, **about))
        return [one for one in found if not np.isnan(one.rate.value)]

    @cached_property
    def pairs(self) -> PairCheck | None:
        """Pairs of values that nobody in the data has, of all pairs of columns together."""
        columns = (*self.sensitive, *self.known)[:MOST_COLUMNS]
        kept = [name for name in columns if name in self.kept]
        return check_pairs(self.data, self.released[:TABLES], columns, kept=kept)[0] if len(columns) > 1 else None

    @cached_property
    def cells(self) -> CellCheck | None:
        """Small cells of two columns, and how many of them the release has as they are; not of kept columns alone."""
        columns = (*self.sensitive, *self.known)[:MOST_COLUMNS]
        kept = [name for name in columns if name in self.kept]
        return check_cells(self.data, self.released[:TABLES], columns, kept=kept) if len(columns) > 1 else None

    @cached_property
    def _numbers(self) -> list[str]:
        """The sensitive numbers and dates that have values."""
        return [
            name for name in self.breaks if self.data.frame[name].notna().any() and self._kinds[name] != "categorical"
        ]

    @cached_property
    def ranges(self) -> list[RangeCheck]:
        """Values of sensitive numbers beyond the range of the data, and at its ends."""
        return check_ranges(self.data, self.released, self._numbers) if self._numbers else []

    def _is_date(self, name: str) -> bool:
        return all(holds_dates(table.frame[name]) for table in (self.scene.view.table, *self.scene.tables))

    @cached_property
    def heaps(self) -> list[HeapCheck]:
        """How round the values of sensitive numbers are."""
        table = self.scene.view.table
        numbers = [name for name in self._numbers if not self._is_date(name)]
        return check_heaps(table, self.scene.tables or [table], numbers) if numbers else []

    @cached_property
    def dates(self) -> list[DateCheck]:
        """The days that sensitive dates fall on."""
        table = self.scene.view.table
        dates = [name for name in self._numbers if self._is_date(name)]
        return check_dates(table, self.scene.tables or [table], dates) if dates else []

    @cached_property
    def rules(self) -> list[RuleCheck]:
        """Records that break what every record is to keep to, where that is declared."""
        table, rules = self.scene.view.table, self.scene.options.rules
        return [] if rules is None else check_rules(table, self.scene.tables or [table], rules)


def _is_readable(table: Table, name: str) -> bool:
    """Whether a variable has a kind that can be found out."""
    try:
        infer_kind(table, name)
    except InputError:
        return False
    return True


def _compared(table: Table, name: str, kind: str, breaks: Sequence[float] | None) -> Any:
    """Give a column as it is compared: numbers and dates by their size, all else, and groups, as text."""
    if breaks:
        codes = cut_into_groups(column_numbers(table, name), breaks, name)
        return _categories(codes, [f"group {place}" for place in range(len(breaks) + 1)])
    if kind != "categorical":
        return column_numbers(table, name)
    codes, values = pd.factorize(table.frame[name])
    labels = [f"_{value:.17g}" if isinstance(value, int | float | np.number) else f"_{value}" for value in values]
    # The same code may be stored in two ways, such as 1 and "1".
    distinct = list(dict.fromkeys(labels))
    places = np.array(
        [distinct.index(label) for label in labels] if len(distinct) < len(labels) else range(len(labels))
    )
    return _categories(np.append(places, -1)[codes].astype(np.int64), distinct)


def _categories(codes: Any, names: Any) -> Any:
    return pd.Categorical.from_codes(codes, categories=names)


def round_breaks(values: Floats) -> tuple[float, ...]:
    """Give round numbers near the fifths of some values, each once; the least value is no break.

    Examples
    --------
    >>> round_breaks(np.arange(0.0, 12_345.0))
    (2500.0, 4900.0, 7400.0, 9900.0)
    >>> round_breaks(np.array([0.0, 0.0, 0.0, 0.0, 5.0]))
    (1.0,)
    """
    present = values[~np.isnan(values)]
    if not len(present):
        return ()
    ends = sorted({float(f"{end:.2g}") for end in np.quantile(present, SHARES)})
    return tuple(end for end in ends if present.min() < end <= present.max())
