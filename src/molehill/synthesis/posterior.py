"""A fitted synthesizer, and new datasets from it."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from molehill.arrays import Booleans, Integers, derive_seed
from molehill.errors import InputError
from molehill.rules.constraints import Empty
from molehill.rules.rules import Rules
from molehill.rules.support import Support
from molehill.runtime import double_precision, in_threads, workers
from molehill.synthesis.sampling.diagnostics import Diagnostics
from molehill.synthesis.sampling.guessing import Guessing, guess_records, why_no_guess
from molehill.synthesis.sampling.removal import Removal, remove_records, why_not
from molehill.synthesis.survey_fit import Correction, Survey
from molehill.synthesis.synthesizer import (
    AnySynthesizer,
    Composite,
    DirectSynthesizer,
    Learned,
    Prediction,
    SequentialSynthesizer,
    Synthesizer,
)
from molehill.tables.resolution import column_unit, dates_like, holds_dates, round_to_unit
from molehill.tables.table import Table, with_columns

Values = Mapping[str, Any]
# How often records that break a constraint are drawn again, and datasets that their share is told from.
_TURNS, _TRIED = 50, 5
# What differs from a multiple of its unit by less than this share of the unit is one.
_ROUNDING = 1e-6


@dataclass(frozen=True, eq=False, repr=False)
class Posterior:
    """What any way of fitting gives: draws of the parameters, whether they can be trusted, and datasets from them.

    Attributes
    ----------
    synthesizer, table, weights
        What was fitted, to what, and how each record counted: what its likelihood was raised to. Under a survey that is
        `risk_weights` times `survey_weights`.
    learned
        Everything that the synthesizer took from the dataset.
    draws
        Sites to arrays (chains, draws, ...).
    diagnostics
        Whether the draws can be trusted.
    outside
        Share of the predictive mass outside the declared support, which drawing cuts off.
    parts
        Of a synthesizer that has parts or links, the posterior of each; its sites are in `draws` too, as "part.site".
    given_up
        What was tried first and did not converge, in words; see `Synthesizer.simpler`.
    accepted
        Of a chain with constraints, the share of the records that keep them when they are first drawn; the others are
        drawn again.
    survey
        The survey that the records are from, if any.
    correction
        What of the uncertainty was brought to that of the survey's design, how, and with what design effects.
    """

    synthesizer: AnySynthesizer
    table: Table
    weights: np.ndarray
    learned: Learned
    draws: Mapping[str, np.ndarray]
    diagnostics: Diagnostics
    mass_outside_range: float
    parts: Mapping[str, "Posterior"] = field(default_factory=dict)
    given_up: tuple[str, ...] = ()
    acceptance_rate: float = 1.0
    survey: Survey | None = None
    correction: Correction | None = None

    def __repr__(self) -> str:
        chains, draws = next(iter(self.draws.values())).shape[:2]
        state = "converged" if not self.diagnostics.problems else "NOT converged"
        return f"Posterior({', '.join(self.synthesizer.sensitive)}: {chains} chains x {draws} draws, {state})"

    @property
    def survey_weights(self) -> np.ndarray | None:
        """The design weights, scaled to sum to the number of records: the second factor of `weights`."""
        return None if self.survey is None else self.survey.times

    @property
    def risk_weights(self) -> np.ndarray:
        """The first factor of `weights`: 0 where a record does not count."""
        if self.survey is None:
            return self.weights
        return np.where(self.weights > 0, self.weights / np.where(self.survey.times > 0, self.survey.times, 1.0), 0.0)

    @property
    def options(self) -> Mapping[str, Any]:
        """Ways to draw that may be changed, and which are chosen: those of the parts that it has."""
        if not self.parts:
            return self.synthesizer.options
        return {name: value for part in self.parts.values() for name, value in part.options.items()}

    @property
    def variant(self) -> str:
        """Which of several sizes of the model was fitted, of every part that has some."""
        if isinstance(self.synthesizer, Synthesizer | DirectSynthesizer):
            return self.synthesizer.variant
        told = {name: part.variant for name, part in self.parts.items()}
        return "; ".join(f"{name}: {variant}" for name, variant in told.items() if variant)

    @property
    def number(self) -> int:
        """How many draws there are, of all chains."""
        if self.parts:
            return min(part.number for part in self.parts.values())
        chains, draws = next(iter(self.draws.values())).shape[:2]
        return chains * draws

    @property
    def independent(self) -> bool:
        """Whether the draws are independent: then any number of datasets can be predicted from them."""
        if self.parts:
            return all(part.independent for part in self.parts.values())
        return isinstance(self.synthesizer, DirectSynthesizer)

    @property
    def units(self) -> dict[str, float]:
        """The unit that each replaced amount or count is written in, cents or hundreds for example; 0 for none."""
        if self.parts:
            return {name: unit for part in self.parts.values() for name, unit in part.units.items()}
        frame = self.table.frame
        names = [name for name in self.synthesizer.sensitive if name not in _levels(self)]
        numbers = pd.api.types.is_numeric_dtype
        numeric = [name for name in names if numbers(frame[name].dtype) or holds_dates(frame[name])]
        return {name: column_unit(frame[name]) for name in numeric}

    @property
    def evidence(self) -> dict[str, Any]:
        """What says whether the draws can be trusted, in plain values."""
        found = self.diagnostics
        return {
            "converged": not found.problems,
            "problems": "; ".join(found.problems),
            "remarks": "; ".join((*found.remarks, *self.given_up)),
            "variant": self.variant,
            "sweeps": found.sweeps,
            "effective_size": found.effective_size,
            "largest_rhat": found.largest_rhat,
            "divergent": found.divergent,
        }

    def predict_tables(
        self, datasets: int, *, seed: int, at_once: int | None = None, records: int | None = None
    ) -> Iterator[list[Any]]:
        """Draw datasets from draws that are spread over the whole posterior, some at a time.

        Parameters
        ----------
        datasets
            How many datasets in all.
        seed
            The same posterior, seed and number at a time give the same datasets.
        at_once
            How many datasets to make at a time; by default all.
        records
            How many new records every dataset has, of nothing but the synthesized variables: see `draw`.
        """
        size = min(datasets, at_once or datasets)
        for start in range(0, datasets, size):
            yield self.predict_batch(datasets, start, seed=seed, at_once=size, records=records)

    def predict_batch(
        self, datasets: int, start: int, *, seed: int, at_once: int, records: int | None = None
    ) -> list[Any]:
        """Draw the datasets from `start` on of `predict_tables`, as many as it makes at a time."""
        own = seed if at_once >= datasets else derive_seed(seed, "batch", start)
        batch = _Batch(datasets, start, min(start + at_once, datasets))
        how = {"levels": _levels(self), "modelled": modelled_columns(self), "emptied": _emptied(self)}
        turns = []
        # A record more is one draw more from the same parameters.
        for turn in range(-(-(records or 1) // len(self.table.frame))):
            with double_precision():
                values = _predict(self, batch, derive_seed(own, "turn", turn) if turn else own, None)
            turns.append([put_back(self.table, one, **how) for one in values])
        made = zip(*turns, strict=True)
        return [as_given(one[0] if records is None else _join_turns(self, one, records)) for one in made]

    @property
    def is_removable(self) -> bool:
        """Whether it can be told what taking out a record would do, without fitting again."""
        return why_not(self) is None

    def removals(self, rows: Integers, *, datasets: int, releases: int, seed: int) -> list[Removal]:
        """Say what taking out each of some records would do: see `molehill.synthesis.sampling.removal`."""
        return remove_records(self, rows, datasets=datasets, releases=releases, seed=seed)

    def can_guess(self, column: str) -> bool:
        """Whether it can be told what another value of a variable would do, without fitting again."""
        return why_no_guess(self, column) is None

    def guesses(
        self, rows: Integers, column: str, values: Any, *, datasets: int, releases: int, seed: int
    ) -> list[Guessing]:
        """Say what other values of some records would do: see `molehill.synthesis.sampling.guessing`."""
        return guess_records(self, rows, column, values, datasets=datasets, releases=releases, seed=seed)

    @property
    def levels(self) -> Mapping[str, Any]:
        """The levels of the categorical variables that are replaced, in the order of their codes."""
        return _levels(self)

    def drawing_by(self, **options: Any) -> "Posterior":
        """Give the same fit with other ways to draw: those of `options` that it, or some of its parts, has."""
        own = {name: value for name, value in options.items() if name in self.options}
        if not own:
            return self
        if self.parts:
            return replace(self, parts={name: part.drawing_by(**own) for name, part in self.parts.items()})
        assert isinstance(self.synthesizer, Synthesizer | DirectSynthesizer)
        return replace(self, synthesizer=replace(self.synthesizer, options={**self.synthesizer.options, **own}))


def _join_turns(posterior: Posterior, turns: Sequence[Table], records: int) -> Table:
    """Lay datasets of one draw under each other, without what was not replaced, and cut them to so many records."""
    own = {*posterior.synthesizer.sensitive}
    names = [name for name in posterior.table.frame.columns if name in own]
    frame = pd.concat([table.frame[names] for table in turns], ignore_index=True)
    return replace(turns[0], frame=frame.iloc[:records])


@dataclass(frozen=True, eq=False)
class Drawn:
    """A dataset as far as it is drawn, without the variables that are still to come, and which of its variables are
    new."""

    table: Table
    replaced: tuple[str, ...]


@dataclass(frozen=True)
class _Batch:
    """Datasets `first` to `last` of so many in all."""

    datasets: int
    first: int
    last: int


def spread_draws(posterior: Posterior, number: int) -> list[tuple[int, int]]:
    """Choose draws (chain, place) evenly over the chains and along them."""
    chains, draws = next(iter(posterior.draws.values())).shape[:2]
    places = ((np.arange(number) + 0.5) * chains * draws / number).astype(int)
    return [divmod(int(place), draws) for place in places]


def predict_from(
    posterior: Posterior,
    chosen: Sequence[tuple[int, int]],
    seed: int,
    drawn: Sequence[Drawn] | None = None,
    supports: Sequence[Mapping[str, Support]] | None = None,
) -> list[Prediction]:
    """Predict every record from each of the chosen draws; `drawn` are the datasets as far as they are drawn already."""
    synthesizer = posterior.synthesizer
    if isinstance(synthesizer, DirectSynthesizer):
        return _predict_directly(posterior, synthesizer, chosen, seed, drawn, supports)
    # Here, because a forest must not wait for JAX to load.
    from molehill.synthesis.model_predictions import predict_by_model  # noqa: PLC0415

    return predict_by_model(posterior, chosen, seed, None if drawn is None else [each.table for each in drawn])


def _predict_directly(
    posterior: Posterior,
    synthesizer: DirectSynthesizer,
    chosen: Sequence[tuple[int, int]],
    seed: int,
    drawn: Sequence[Drawn] | None,
    supports: Sequence[Mapping[str, Support]] | None,
) -> list[Prediction]:
    learned = posterior.learned
    predictions = dict[int, Prediction]()

    def predict(number: int) -> None:
        inputs = dict(learned.inputs)
        if drawn is not None:
            inputs |= inputs_again(synthesizer.name, learned, drawn[number].table, drawn[number].replaced)
        for support in () if supports is None else supports[number].values():
            inputs |= {"lower": support.lower, "upper": support.upper, "filled": support.filled}
            inputs |= {} if support.allowed is None else {"allowed": support.allowed}
        random, place = np.random.default_rng([seed, number]), chosen[number][1]
        predictions[number] = synthesizer.predict(
            random, posterior.draws, place, learned, inputs, **synthesizer.options
        )

    def predict_every(first: int, step: int) -> None:
        # What JAX is told holds in one thread only, and a model of the user's may ask it.
        with double_precision():
            for number in range(first, len(chosen), step):
                predict(number)

    # Every dataset has random numbers of its own: which thread draws it makes no difference.
    step = min(workers(), len(chosen))
    in_threads(predict_every, [(first, step) for first in range(step)])
    return [predictions[number] for number in range(len(chosen))]


def _predict(
    posterior: Posterior,
    batch: _Batch,
    seed: int,
    drawn: Sequence[Drawn] | None,
    supports: Sequence[Mapping[str, Support]] | None = None,
) -> list[Values]:
    """Give the new values of every dataset of a batch; within supports, where the synthesizer can."""
    synthesizer = posterior.synthesizer
    if isinstance(synthesizer, SequentialSynthesizer):
        return _predict_links(posterior, batch, seed)
    if isinstance(synthesizer, Synthesizer | DirectSynthesizer):
        chosen = spread_draws(posterior, batch.datasets)[batch.first : batch.last]
        units = posterior.units
        made = predict_from(posterior, chosen, seed, drawn, supports)
        return [_in_units(posterior, one.values, units) for one in made]
    seeds = np.random.SeedSequence(seed).generate_state(len(posterior.parts)).tolist()
    parts = {
        name: _predict(part, batch, own, drawn)
        for (name, part), own in zip(posterior.parts.items(), seeds, strict=True)
    }
    learned = {name: part.learned for name, part in posterior.parts.items()}
    rows = range(batch.last - batch.first)
    return [synthesizer.join({name: values[row] for name, values in parts.items()}, learned) for row in rows]


def _in_units(posterior: Posterior, values: Values, units: Mapping[str, float]) -> Values:
    """Write predicted amounts in the unit of their variable, within the support that the model was given."""
    facts = posterior.learned.facts
    low, high = facts.get("support", (-np.inf, np.inf))
    # Where a model speaks of logarithms, nothing is rounded to zero.
    low = max(low, np.finfo(np.float64).tiny) if facts.get("transform") == "log" else low
    rounded = {name: round_to_unit(values[name], unit, low, high) for name, unit in units.items() if name in values}
    return {**values, **rounded}


def _predict_links(posterior: Posterior, batch: _Batch, seed: int) -> list[Values]:
    """Draw one variable after the other; records that break a constraint all the same are drawn again, whole."""
    drawn, broken = _predict_links_once(posterior, batch, seed)
    for turn in range(1, _TURNS):
        if not broken.any():
            return list(drawn)
        again, still = _predict_links_once(posterior, batch, derive_seed(seed, "again", turn))
        for row, values in enumerate(drawn):
            for name in values:
                values[name] = np.where(broken[row] & ~still[row], again[row][name], values[name])
        broken &= still
    if broken.any():
        number = int(broken.any(axis=0).sum())
        problem = f"{number:,} record(s) cannot be drawn so that they keep them"
        raise InputError("constraints", problem, "Loosen one, replace more of their variables, or widen limits")
    return list(drawn)


def share_accepted(posterior: Posterior, seed: int) -> float:
    """The share of the records that keep the constraints of a chain when they are first drawn."""
    batch = _Batch(_TRIED, 0, _TRIED)
    with double_precision():
        _, broken = _predict_links_once(posterior, batch, derive_seed(seed, "accepted"))
    return 1.0 - float(broken.mean())


def _predict_links_once(posterior: Posterior, batch: _Batch, seed: int) -> tuple[list[dict[str, Any]], Booleans]:
    """Draw one variable after the other, each given those before it; the first as it would be drawn alone.

    Also gives which records break a constraint, (datasets, records).
    """
    chain = posterior.synthesizer
    assert isinstance(chain, SequentialSynthesizer)
    number = batch.last - batch.first
    drawn: list[dict[str, Any]] = [{} for _ in range(number)]
    columns = [name for link in chain.links for name in link.sensitive]
    # Every dataset holds what is kept and what was drawn so far: what is still to come is not there to be conditioned
    # on.
    kept = replace(posterior.table, frame=posterior.table.frame.drop(columns=columns))
    full = [kept] * number
    broken = np.zeros((number, len(posterior.table.frame)), dtype=bool)
    how: dict[str, Any] = {"levels": _levels(posterior), "modelled": modelled_columns(posterior)}
    how["emptied"] = _emptied(posterior)
    for place, (name, link) in enumerate(posterior.parts.items()):
        own = seed if place == 0 else derive_seed(seed, "link", name)
        replaced = tuple(columns[: columns.index(link.synthesizer.sensitive[0])])
        tables = [Drawn(table, replaced) for table in full] if place else None
        ruled = link.synthesizer.sensitive if chain.rules else ()
        supports = [_find_supports(chain.rules, ruled, table.frame, columns) for table in full if ruled]
        for row, values in enumerate(_predict(link, batch, own, tables, supports or None)):
            new = dict(values)
            for column in ruled:
                support, frame = supports[row].get(column), full[row].frame
                coded = column in how["levels"]
                new[column] = _keep_rules(chain.rules, column, values[column], frame, support, coded=coded)
                broken[row] |= False if support is None else support.impossible
            drawn[row] |= new
            full[row] = put_back(full[row], new, **how, before=posterior.table)
    if chain.rules.constraints:
        for row, table in enumerate(full):
            broken[row] |= chain.rules.broken(table.frame)
    return drawn, broken


def see_before(chain: SequentialSynthesizer, place: int, table: Table) -> Table:
    """Give a dataset without the variables that are replaced after a link: these are not there to be conditioned on."""
    later = [column for after in chain.links[place + 1 :] for column in after.sensitive]
    return replace(table, frame=table.frame.drop(columns=later))


def _find_supports(
    rules: Rules, columns: Sequence[str], frame: pd.DataFrame, order: Sequence[str]
) -> dict[str, Support]:
    """Where the next variables may lie in every record, by variable."""
    found = {}
    for column in columns:
        support = rules.support(column, frame, order[order.index(column) + 1 :])
        if support is not None:
            found[column] = support
    return found


def _keep_rules(
    rules: Rules, column: str, values: Any, frame: pd.DataFrame, support: Support | None, *, coded: bool
) -> np.ndarray:
    """Put what is determined in the place of what was drawn: a value, or none."""
    kept = np.array(values, dtype=np.int64 if coded else np.float64)
    empty = rules.empty_in(column, frame) if rules.empties(column) else np.zeros(len(kept), dtype=bool)
    if support is not None:
        known, unit = ~np.isnan(support.fixed), 0.0 if coded else rules.units.get(column, 0.0)
        # The difference of two numbers that are written in a unit is written so but for rounding.
        written = round_to_unit(support.fixed, unit)
        near = np.abs(written - support.fixed) <= _ROUNDING * unit
        kept[known] = np.where(near, written, support.fixed)[known]
        empty = empty | support.empty
        # Where no value was left to be drawn, any will do for the variables to come: the record is drawn again.
        nothing = support.impossible & (kept < 0 if coded else np.isnan(kept))
        kept[nothing] = 0 if coded else np.clip(0.0, *rules.limits.get(column, (-np.inf, np.inf)))
    kept[empty] = -1 if coded else np.nan
    return kept


def inputs_again(name: str, learned: Learned, table: Table, *replaced: Sequence[str]) -> Mapping[str, Any]:
    """The inputs that come from predictors, for a dataset in which some of these were replaced."""
    if learned.again is None:
        problem = f"what {name!r} is given cannot be made again from variables that were replaced before"
        raise InputError("synthesizer", problem, "Give its Learned an `again`, or draw it before those variables")
    return learned.again(table, *replaced)


def put_back(
    table: Table,
    values: Values,
    levels: Mapping[str, Any],
    modelled: Collection[str] = (),
    *,
    emptied: Collection[str] = (),
    before: Table | None = None,
) -> Table:
    """Write predicted values into a copy of the dataset, in the variables' own types; `levels` by their codes.

    What was missing stays missing (in the dataset `before`, if that is another one), but for the variables that are
    `modelled`: there the prediction says what is. In those that are `emptied` what has no value becomes missing, too.
    """
    replaced = {}
    for name, predicted in values.items():
        column = (before or table).frame[name]
        new = np.asarray(predicted)
        there = column.notna().to_numpy()
        if name in levels:
            # The code -1 is the last: nothing.
            there = there | (new >= 0) if name in modelled else there
            there = there & (new >= 0) if name in emptied else there
            new = np.array([*levels[name], None], dtype=object)[new.astype(int)]
        else:
            new = np.rint(new) if pd.api.types.is_integer_dtype(column.dtype) else new
            there = ~np.isnan(new) if name in modelled else there
            there = there & ~np.isnan(new) if name in emptied else there
            _check_fits(new[there], column)
        if name not in levels and holds_dates(column):
            replaced[name] = dates_like(np.where(there, new, np.nan), column)
            continue
        made = pd.Series(new, index=column.index)
        # A search puts back thousands of datasets, most of them without a gap.
        made = made if there.all() else made.where(there)
        replaced[name] = made.astype(_with_room(column.dtype, there))
    return with_columns(table, replaced)


def as_given(table: Table) -> Any:
    """Give a frame where there are no labels to keep beside it."""
    return table if table.column_labels or table.value_labels else table.frame


def _levels(posterior: Posterior) -> Mapping[str, Any]:
    """The levels of the categorical variables that are replaced, in the order of their codes."""
    synthesizer = posterior.synthesizer
    if isinstance(synthesizer, SequentialSynthesizer):
        return {name: found for part in posterior.parts.values() for name, found in _levels(part).items()}
    if isinstance(synthesizer, Composite):
        return _levels(posterior.parts[synthesizer.coded_by]) if synthesizer.coded_by else {}
    if synthesizer.levels is not None:
        return synthesizer.levels(posterior.learned)
    return posterior.learned.facts["levels"] if synthesizer.learn is None else {}


def modelled_columns(posterior: Posterior) -> set[str]:
    """The variables of which the synthesizer says itself which values are missing."""
    synthesizer = posterior.synthesizer
    if not isinstance(synthesizer, SequentialSynthesizer):
        return {*synthesizer.sensitive} if synthesizer.missing else set()
    ruled = {rule.column for rule in synthesizer.rules.empty if rule.by is not None}
    return ruled | {name for link in synthesizer.links if link.missing for name in link.sensitive}


def _emptied(posterior: Posterior) -> set[str]:
    """The variables that constraints say to be empty, whether a confidential value is missing or not."""
    synthesizer = posterior.synthesizer
    rules = synthesizer.rules if isinstance(synthesizer, SequentialSynthesizer) else Rules()
    claims = [claim for one in rules.constraints for claim in one.conclusion if isinstance(claim, Empty)]
    return {claim.column for claim in claims if claim.empty}


def _with_room(dtype: Any, there: Booleans) -> Any:
    """The type of a variable, or where a value is missing that it has no room for, one that has."""
    if there.all() or not isinstance(dtype, np.dtype) or dtype.kind not in "iub":
        return dtype
    return "boolean" if dtype.kind == "b" else dtype.name.replace("uint", "UInt").replace("int", "Int")


def _check_fits(values: np.ndarray, column: pd.Series) -> None:
    """Refuse values that the type of the variable cannot hold: whole numbers would wrap around in silence."""
    kind: Any = getattr(column.dtype, "numpy_dtype", column.dtype)
    if isinstance(kind, np.dtype) and kind.kind in "iuf":
        limits = np.finfo(kind) if kind.kind == "f" else np.iinfo(kind)
        if not ((values >= float(limits.min)) & (values < float(limits.max) + 1.0)).all():
            problem = f"a value drawn for {column.name!r} does not fit into its type, {column.dtype}"
            raise InputError("posterior", problem, "Declare a support (lower, upper), or give the variable a wider type")
