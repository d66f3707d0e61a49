"""The data as the attacks of `molehill.attacks` see them: what is published, in which form, and beside which control.

Numbers are compared by size, codes that are categories exactly, and key variables in the groups that the intruder
knows. Attacks that look for the nearest record are tried on some people and the first few datasets: more of either
would make the intervals narrower and nothing else.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from molehill.arrays import Floats, Integers, derive_seed
from molehill.attacks.prediction import group_by_kept, read_target
from molehill.attacks.rates import Attack, Trial
from molehill.errors import InputError, check_names
from molehill.evaluation.context import Context
from molehill.evaluation.measure import Block, Measure, Threshold, Value, shared
from molehill.tables.intervals import Figure
from molehill.tables.resolution import holds_dates
from molehill.tables.schema import column_numbers, cut_into_groups, infer_kind
from molehill.tables.table import Table, as_table, find_columns

# People and predicates that are tried at most, and datasets that they are tried in.
PEOPLE, PREDICATES, TABLES = 1_000, 1_000, 5
# Groups that a number is cut into where targets are looked up: at these shares of the confidential values.
SHARES = (0.2, 0.4, 0.6, 0.8)
# Variables at most whose pairs and reconstruction are looked at.
MOST_COLUMNS = 12
# Numbers count as guessed within this share of the true value.
TOLERANCE = 0.05
# What a release adds to what is known of a kind of people, as a share of what is left to be learned: amber and red.
BEYOND_CONTROL = (0.1, 0.3)


def read_control(control: Any, columns: Sequence[str]) -> Table:
    """Accept people who were not used, with the variables that attacks are about."""
    table = as_table(control, argument="control")
    find_columns(table, check_names("control", columns), "control")
    return table


def is_published(context: Context, name: str) -> bool:
    """Whether every released dataset has a variable, and it is not hidden."""
    tables = context.tables if context.beside is None else context.beside.tables
    return name not in context.options.hidden and all(name in table.frame for table in tables)


def known(context: Context) -> tuple[str, ...]:
    """The key variables, as far as they are published."""
    return tuple(name for name in context.view.intruder.known if is_published(context, name))


def sensitive(context: Context) -> tuple[str, ...]:
    """The sensitive variables, as far as they are published."""
    return tuple(name for name in context.view.intruder.sensitive if is_published(context, name))


@shared
def kinds(context: Context) -> dict[str, str]:
    """The kind of every variable that an attack may look at; none of one of which it cannot be told."""
    schema, table = context.view.schema, context.view.table
    named = {column.name: column.kind for column in schema.columns}
    found: dict[str, str] = {}
    for name in (*known(context), *sensitive(context), *(context.options.related or ())):
        try:
            found[name] = named[name] if name in named else infer_kind(table, name)[0]
        except InputError:
            continue
    return found


@shared
def kept(context: Context) -> tuple[str, ...]:
    """The key variables, and others that are looked at, which the release has as they are, record by record."""
    seen = (*known(context), *sensitive(context))
    others = [name for name in context.options.related or () if name not in seen]
    others = [name for name in others if is_published(context, name) and kinds(context).get(name)]
    if not all(reading.rows is None for reading in context.readings):
        return ()
    own, tables = context.view.table.frame, [table.frame for table in context.tables]
    names = [*known(context), *others]
    return tuple(name for name in names if all(own[name].equals(table[name]) for table in tables))[:MOST_COLUMNS]


@shared
def data(context: Context) -> Table:
    """The confidential data as the intruder knows them."""
    return _read(context, context.view.table)


@shared
def released(context: Context) -> list[Table]:
    """The released datasets in the same way; of the confidential data themselves."""
    return [_read(context, table) for table in context.tables] or [data(context)]


@shared
def trial(context: Context) -> Trial | None:
    """The control, with whom and what it is compared with; None without one."""
    given = context.trial
    if given is None:
        return None
    control = _read(context, given.control)
    if given.data is context.view.table:
        return Trial(data(context), released(context), control)
    return Trial(_read(context, given.data), [_read(context, one) for one in given.released], control)


def _read(context: Context, table: Table) -> Table:
    """Give key, sensitive and related variables as an intruder compares them."""
    breaks, own = context.view.intruder.breaks, kinds(context)
    related = [name for name in context.options.related or () if name in own and name in table.frame]
    names = (*known(context), *sensitive(context), *related)
    columns = {name: _compared(table, name, own[name], breaks.get(name)) for name in names}
    read = Table(pd.DataFrame(columns))
    # What was decided of a variable is not found out again.
    exact = {name for name in columns if name in breaks or own[name] == "categorical"}
    read.seen_kinds.update({name: ("categorical" if name in exact else "continuous", "") for name in columns})
    return read


def attack_seed(context: Context, *names: str | int) -> int:
    """The seed of an attack, by its name."""
    return derive_seed(context.options.seed, "attacks", *names)


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


def try_attack(context: Context, attack: Callable[[Table, Sequence[Table], Table | None], Attack]) -> Tried:
    """Try an attack on the release, and on its control."""
    people, few = trial(context), released(context)[:TABLES]
    if people is None:
        return Tried(attack(data(context), few, None), None)
    held = attack(people.data, people.released[:TABLES], people.control)
    return Tried(held if people.data is data(context) else attack(data(context), few, None), held)


def attack_measures(
    id_: str,
    block: Block,
    words: str,
    tries: Callable[[Context], list[tuple[Value, Tried]]],
    *,
    explanation: str = "of people who were in the data",
    threshold: Threshold | None = None,
    only_control: bool = False,
) -> list[Measure]:
    """Give the measures of an attack: how often it succeeds, its baseline, its control, and its risk.

    `threshold` is that of the risk beyond the control. Where the attack itself has measures of its own
    (`only_control`), the first of these is left out.
    """

    def compute(choose: Callable[[Tried], Figure | None]) -> Callable[[Context], Iterable[Value]]:
        def values(context: Context) -> Iterable[Value]:
            found = [(value, choose(tried)) for value, tried in tries(context)]
            there = [(value, figure) for value, figure in found if figure is not None and not np.isnan(figure.value)]
            return [value._replace(figure=figure) for value, figure in there]

        return values

    def one(end: str, text: str, choose: Callable[[Tried], Figure | None], explanation: str, **more: Any) -> Measure:
        needs = ("control",) if end in ("_half", "_control", "_risk") else ()
        side: Literal["lower", ""] = "lower" if end in ("", "_risk") else ""
        about: dict[str, Any] = {"explanation": explanation, "needs": needs, "part_of": id_, **more}
        return Measure(f"{id_}{end}", f"{words}: {text}", "risk", block, "share", compute(choose), side, **about)

    found = [
        one("", "succeeds", lambda tried: tried.attack.rate, explanation),
        one(
            "_baseline",
            "by chance",
            lambda tried: tried.attack.baseline,
            "the same by who uses nothing but the spread of the released values",
        ),
        one(
            "_half",
            "fitted to half of the people, on these",
            lambda tried: tried.held.rate if tried.anew and tried.held is not None else None,
            "the model was fitted anew to a random half; this is that half",
        ),
        one(
            "_control",
            "on people who were not used",
            lambda tried: None if tried.held is None else tried.held.control,
            "the same attack on them: what it gives is true of a kind of people, and of no person",
        ),
        one(
            "_risk",
            "risk beyond these",
            lambda tried: None if tried.held is None else tried.held.risk,
            "of what the control leaves to be won, the share that is won; owed to the release",
            reference="(rate - control) / (1 - control)",
            threshold=threshold,
        ),
    ]
    return found[1:] if only_control else found


@shared
def breaks(context: Context) -> dict[str, tuple[float, ...]]:
    """Where every sensitive number is cut into groups: at round numbers near fifths of the confidential values."""
    numbers = [name for name in sensitive(context) if kinds(context)[name] != "categorical"]
    return {name: round_breaks(column_numbers(data(context), name)) for name in numbers}


@shared
def numbers(context: Context) -> list[str]:
    """The sensitive numbers and dates that have values."""
    return [name for name in breaks(context) if data(context).frame[name].notna().any()]


def is_date(context: Context, name: str) -> bool:
    """Whether a variable holds dates, in every dataset."""
    return all(holds_dates(table.frame[name]) for table in (context.view.table, *context.tables))


@shared
def in_order(context: Context) -> list[Table]:
    """The released datasets with their records in the order of the people; none where some person is missing."""
    if not context.is_release or any(one.rows is not None and (one.rows < 0).any() for one in context.readings):
        return []
    frames = [
        one.table.frame if one.rows is None else one.table.frame.iloc[one.rows].reset_index(drop=True)
        for one in context.readings
    ]
    return [Table(frame) for frame in frames]


@shared
def unchanged(context: Context) -> list[str]:
    """The variables that every dataset has as they are, record by record."""
    view, frames = context.view, [one.frame for one in in_order(context)]
    own, secret = view.table.frame, {*view.intruder.sensitive}
    others: list[Any] = [name for name in own if name not in secret and is_published(context, f"{name}")]
    same = [name for name in others if frames and all(own[name].equals(frame[name]) for frame in frames)]
    return [name for name in same if is_readable(view.table, name)]


@shared
def alike(context: Context) -> dict[str, Integers]:
    """By sensitive variable, the records in groups by what variables that are released unchanged say of it."""
    found, view = {}, context.view
    for name in view.intruder.sensitive if unchanged(context) else ():
        exact = name not in view.numeric
        values = read_target(view.table, in_order(context), name, exact=exact)[1]
        about: dict[str, Any] = {"exact": exact, "seed": attack_seed(context, "alike", name)}
        groups = group_by_kept(view.table, values, unchanged(context), **about)
        if groups is not None:
            found[name] = groups
    return found


@shared
def followed(context: Context) -> dict[str, tuple[Floats, Floats]]:
    """By numeric variable the true values and, (datasets, records), those of the same row in all datasets.

    NaN where missing; nothing of fully synthetic data.
    """
    found = {}
    for name in context.view.numeric if context.is_release and context.is_linked else ():
        rows = []
        for reading in context.readings:
            values, of = reading.column(name), reading.rows
            rows.append(values if of is None else np.where(of >= 0, values[of], np.nan))
        found[name] = context.view.column(name), np.stack(rows)
    return found


def is_readable(table: Table, name: str) -> bool:
    """Whether a variable has a kind that can be found out."""
    try:
        infer_kind(table, name)
    except InputError:
        return False
    return True


def _compared(table: Table, name: str, kind: str, breaks: Sequence[float] | None) -> Any:
    """Give a variable as it is compared: numbers and dates by their size, all else, and groups, as text."""
    if breaks:
        codes = cut_into_groups(column_numbers(table, name), breaks, name)
        return as_categories(codes, [f"group {place}" for place in range(len(breaks) + 1)])
    if kind != "categorical":
        return column_numbers(table, name)
    codes, values = pd.factorize(table.frame[name])
    labels = [f"_{value:.17g}" if isinstance(value, int | float | np.number) else f"_{value}" for value in values]
    # The same code may be stored in two ways, such as 1 and "1".
    distinct = list(dict.fromkeys(labels))
    places = np.array(
        [distinct.index(label) for label in labels] if len(distinct) < len(labels) else range(len(labels))
    )
    return as_categories(np.append(places, -1)[codes].astype(np.int64), distinct)


def as_categories(codes: Any, names: Any) -> Any:
    """Categories by their codes."""
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
