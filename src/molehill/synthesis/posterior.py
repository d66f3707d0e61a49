"""The posterior of a fitted synthesizer, and drawing datasets from it."""

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
# Maximum number of redraws of records that fail an edit rule; datasets from which the acceptance rate is estimated.
_TURNS, _TRIED = 50, 5
# Tolerance of multiples of a unit, as a share of the unit.
_ROUNDING = 1e-6


@dataclass(frozen=True, eq=False, repr=False)
class Posterior:
    """The result of `fit`: posterior draws, diagnostics, and the means to draw datasets.

    Attributes
    ----------
    synthesizer, table, weights
        The synthesizer, the data, and the exponents of the records' likelihoods; with a survey these are `risk_weights`
        times `survey_weights`.
    learned
        Everything that the synthesizer learned from the data.
    draws
        Sites to arrays (chains, draws, ...).
    diagnostics
        Convergence diagnostics.
    mass_outside_range
        Share of the predictive mass outside the declared support, which is truncated when drawing.
    parts
        The posteriors of the parts of a synthesizer; their sites are also in `draws`, as "part.site".
    given_up
        Descriptions of models that did not converge, see `Synthesizer.simpler`.
    acceptance_rate
        With edit rules, the share of the records that meet them at the first draw; the others are redrawn.
    survey
        The survey design, if any.
    correction
        Variance corrections for the survey design, with design effects.
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
        """The survey weights, scaled to sum to the number of records."""
        return None if self.survey is None else self.survey.times

    @property
    def risk_weights(self) -> np.ndarray:
        """The risk weights; 0 for records that are left out."""
        if self.survey is None:
            return self.weights
        return np.where(self.weights > 0, self.weights / np.where(self.survey.times > 0, self.survey.times, 1.0), 0.0)

    @property
    def options(self) -> Mapping[str, Any]:
        """Options of drawing with their values, including those of parts."""
        if not self.parts:
            return self.synthesizer.options
        return {name: value for part in self.parts.values() for name, value in part.options.items()}

    @property
    def variant(self) -> str:
        """Size of the fitted model, of every part that has variants."""
        if isinstance(self.synthesizer, Synthesizer | DirectSynthesizer):
            return self.synthesizer.variant
        return "; ".join(f"{name}: {part.variant}" for name, part in self.parts.items() if part.variant)

    @property
    def number(self) -> int:
        """Number of draws of all chains."""
        if self.parts:
            return min(part.number for part in self.parts.values())
        chains, draws = next(iter(self.draws.values())).shape[:2]
        return chains * draws

    @property
    def independent(self) -> bool:
        """Whether the draws are independent, so that any number of datasets can be drawn."""
        if self.parts:
            return all(part.independent for part in self.parts.values())
        return isinstance(self.synthesizer, DirectSynthesizer)

    @property
    def units(self) -> dict[str, float]:
        """The rounding unit of each synthesized amount or count, for example 0.01 or 100; 0 for none."""
        if self.parts:
            return {name: unit for part in self.parts.values() for name, unit in part.units.items()}
        frame = self.table.frame
        names = [name for name in self.synthesizer.sensitive if name not in _levels(self)]
        numbers = pd.api.types.is_numeric_dtype
        numeric = [name for name in names if numbers(frame[name].dtype) or holds_dates(frame[name])]
        return {name: column_unit(frame[name]) for name in numeric}

    @property
    def evidence(self) -> dict[str, Any]:
        """Convergence diagnostics as plain values."""
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
        """Draw datasets in batches, from draws spread evenly over the posterior.

        Parameters
        ----------
        datasets
            Total number of datasets.
        seed
            The same posterior, seed and batch size give the same datasets.
        at_once
            Batch size; by default all.
        records
            Full synthesis: records per dataset, see `draw`.
        """
        size = min(datasets, at_once or datasets)
        for start in range(0, datasets, size):
            yield self.predict_batch(datasets, start, seed=seed, at_once=size, records=records)

    def predict_batch(
        self, datasets: int, start: int, *, seed: int, at_once: int, records: int | None = None
    ) -> list[Any]:
        """Draw the batch of `predict_tables` that begins with dataset number `start`."""
        own = seed if at_once >= datasets else derive_seed(seed, "batch", start)
        batch = _Batch(datasets, start, min(start + at_once, datasets))
        how = {"levels": _levels(self), "modelled": modelled_columns(self), "emptied": _emptied(self)}
        turns = []
        # More records than confidential ones are further draws from the same parameters.
        for turn in range(-(-(records or 1) // len(self.table.frame))):
            with double_precision():
                values = _predict(self, batch, derive_seed(own, "turn", turn) if turn else own, None)
            turns.append([put_back(self.table, one, **how) for one in values])
        made = zip(*turns, strict=True)
        return [as_given(one[0] if records is None else _join_turns(self, one, records)) for one in made]

    @property
    def is_removable(self) -> bool:
        """Whether the effect of removing a record can be computed without refitting."""
        return why_not(self) is None

    def removals(self, rows: Integers, *, datasets: int, releases: int, seed: int) -> list[Removal]:
        """Effect of removing each of some records: see `molehill.synthesis.sampling.removal`."""
        return remove_records(self, rows, datasets=datasets, releases=releases, seed=seed)

    def can_guess(self, column: str) -> bool:
        """Whether the effect of other values of a variable can be computed without refitting."""
        return why_no_guess(self, column) is None

    def guesses(
        self, rows: Integers, column: str, values: Any, *, datasets: int, releases: int, seed: int
    ) -> list[Guessing]:
        """Effect of other values of some records: see `molehill.synthesis.sampling.guessing`."""
        return guess_records(self, rows, column, values, datasets=datasets, releases=releases, seed=seed)

    @property
    def levels(self) -> Mapping[str, Any]:
        """Levels of the synthesized categorical variables, in the order of their codes."""
        return _levels(self)

    def drawing_by(self, **options: Any) -> "Posterior":
        """The same fit with other options of drawing, where it or its parts have them."""
        own = {name: value for name, value in options.items() if name in self.options}
        if not own:
            return self
        if self.parts:
            return replace(self, parts={name: part.drawing_by(**own) for name, part in self.parts.items()})
        assert isinstance(self.synthesizer, Synthesizer | DirectSynthesizer)
        return replace(self, synthesizer=replace(self.synthesizer, options={**self.synthesizer.options, **own}))


def _join_turns(posterior: Posterior, turns: Sequence[Table], records: int) -> Table:
    """Stack datasets of one draw, keep the synthesized variables, and cut to the number of records."""
    own = {*posterior.synthesizer.sensitive}
    names = [name for name in posterior.table.frame.columns if name in own]
    frame = pd.concat([table.frame[names] for table in turns], ignore_index=True)
    return replace(turns[0], frame=frame.iloc[:records])


@dataclass(frozen=True, eq=False)
class Drawn:
    """A partly drawn dataset, without the variables still to be drawn, and the names of those already synthesized."""

    table: Table
    replaced: tuple[str, ...]


@dataclass(frozen=True)
class _Batch:
    """Datasets `first` to `last` of `datasets`."""

    datasets: int
    first: int
    last: int


def spread_draws(posterior: Posterior, number: int) -> list[tuple[int, int]]:
    """Choose draws (chain, index), spread evenly."""
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
    """Predict every record from each of the chosen draws; `drawn` are partly drawn datasets in sequential synthesis."""
    synthesizer = posterior.synthesizer
    if isinstance(synthesizer, DirectSynthesizer):
        return _predict_directly(posterior, synthesizer, chosen, seed, drawn, supports)
    # Imported here so that forests do not load JAX.
    from molehill.synthesis.model_fit import predict_by_model  # noqa: PLC0415

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
        # JAX's precision setting is per thread.
        with double_precision():
            for number in range(first, len(chosen), step):
                predict(number)

    # Every dataset has its own random numbers, whichever thread draws it.
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
    """New values of every dataset of a batch, within supports where the synthesizer can."""
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
    """Round predicted amounts to the unit of their variable, within the support."""
    facts = posterior.learned.facts
    low, high = facts.get("support", (-np.inf, np.inf))
    # On the log scale nothing is rounded to zero.
    low = max(low, np.finfo(np.float64).tiny) if facts.get("transform") == "log" else low
    rounded = {name: round_to_unit(values[name], unit, low, high) for name, unit in units.items() if name in values}
    return {**values, **rounded}


def _predict_links(posterior: Posterior, batch: _Batch, seed: int) -> list[Values]:
    """Draw the variables sequentially; records that fail an edit rule are redrawn as a whole."""
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
        problem = f"no values that meet them were found for {number:,} record(s)"
        raise InputError("constraints", problem, "Relax one, synthesize more of their variables, or widen value ranges")
    return list(drawn)


def share_accepted(posterior: Posterior, seed: int) -> float:
    """Share of the records that meet the edit rules at the first draw."""
    batch = _Batch(_TRIED, 0, _TRIED)
    with double_precision():
        _, broken = _predict_links_once(posterior, batch, derive_seed(seed, "accepted"))
    return 1.0 - float(broken.mean())


def _predict_links_once(posterior: Posterior, batch: _Batch, seed: int) -> tuple[list[dict[str, Any]], Booleans]:
    """Draw the variables sequentially, each given those before it.

    Also returns which records fail an edit rule, (datasets, records).
    """
    chain = posterior.synthesizer
    assert isinstance(chain, SequentialSynthesizer)
    number = batch.last - batch.first
    drawn: list[dict[str, Any]] = [{} for _ in range(number)]
    columns = [name for link in chain.links for name in link.sensitive]
    # Every dataset contains the unchanged variables and those drawn so far.
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
    """The data without the variables that are synthesized after a link, which cannot be predictors."""
    later = [column for after in chain.links[place + 1 :] for column in after.sensitive]
    return replace(table, frame=table.frame.drop(columns=later))


def _find_supports(
    rules: Rules, columns: Sequence[str], frame: pd.DataFrame, order: Sequence[str]
) -> dict[str, Support]:
    """Supports of the next variables, by name."""
    found = {}
    for column in columns:
        support = rules.support(column, frame, order[order.index(column) + 1 :])
        if support is not None:
            found[column] = support
    return found


def _keep_rules(
    rules: Rules, column: str, values: Any, frame: pd.DataFrame, support: Support | None, *, coded: bool
) -> np.ndarray:
    """Replace drawn values by those that edit rules determine: a value, or missing."""
    kept = np.array(values, dtype=np.int64 if coded else np.float64)
    empty = rules.empty_in(column, frame) if rules.empties(column) else np.zeros(len(kept), dtype=bool)
    if support is not None:
        known, unit = ~np.isnan(support.fixed), 0.0 if coded else rules.units.get(column, 0.0)
        # Differences of rounded numbers are multiples of the unit up to floating-point error.
        written = round_to_unit(support.fixed, unit)
        near = np.abs(written - support.fixed) <= _ROUNDING * unit
        kept[known] = np.where(near, written, support.fixed)[known]
        empty = empty | support.empty
        # Where no value is possible, use any: the record is redrawn.
        nothing = support.impossible & (kept < 0 if coded else np.isnan(kept))
        kept[nothing] = 0 if coded else np.clip(0.0, *rules.limits.get(column, (-np.inf, np.inf)))
    kept[empty] = -1 if coded else np.nan
    return kept


def inputs_again(name: str, learned: Learned, table: Table, *replaced: Sequence[str]) -> Mapping[str, Any]:
    """Inputs computed from predictors, for a dataset in which some of these were synthesized."""
    if learned.again is None:
        problem = f"the inputs of {name!r} cannot be recomputed from predictors that were synthesized before"
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

    Missing values stay missing (those of `before`, if given), except in the `modelled` variables, where the prediction
    decides. In the `emptied` variables, records without a predicted value become missing too.
    """
    replaced = {}
    for name, predicted in values.items():
        column = (before or table).frame[name]
        new = np.asarray(predicted)
        there = column.notna().to_numpy()
        if name in levels:
            # Code -1 selects the last entry: missing.
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
        # A shortcut for the usual case without missing values.
        made = made if there.all() else made.where(there)
        replaced[name] = made.astype(_with_room(column.dtype, there))
    return with_columns(table, replaced)


def as_given(table: Table) -> Any:
    """A frame, or the `Table` if it has labels."""
    return table if table.column_labels or table.value_labels else table.frame


def _levels(posterior: Posterior) -> Mapping[str, Any]:
    """Levels of the synthesized categorical variables, in the order of their codes."""
    synthesizer = posterior.synthesizer
    if isinstance(synthesizer, SequentialSynthesizer):
        return {name: found for part in posterior.parts.values() for name, found in _levels(part).items()}
    if isinstance(synthesizer, Composite):
        return _levels(posterior.parts[synthesizer.coded_by]) if synthesizer.coded_by else {}
    if synthesizer.levels is not None:
        return synthesizer.levels(posterior.learned)
    return posterior.learned.facts["levels"] if synthesizer.learn is None else {}


def modelled_columns(posterior: Posterior) -> set[str]:
    """The variables whose missingness the synthesizer predicts."""
    synthesizer = posterior.synthesizer
    if not isinstance(synthesizer, SequentialSynthesizer):
        return {*synthesizer.sensitive} if synthesizer.missing else set()
    ruled = {rule.column for rule in synthesizer.rules.empty if rule.by is not None}
    return ruled | {name for link in synthesizer.links if link.missing for name in link.sensitive}


def _emptied(posterior: Posterior) -> set[str]:
    """The variables that edit rules require to be missing in some records."""
    synthesizer = posterior.synthesizer
    rules = synthesizer.rules if isinstance(synthesizer, SequentialSynthesizer) else Rules()
    claims = [claim for one in rules.constraints for claim in one.conclusion if isinstance(claim, Empty)]
    return {claim.column for claim in claims if claim.empty}


def _with_room(dtype: Any, there: Booleans) -> Any:
    """The type of a variable, or its nullable version if needed for missing values."""
    if there.all() or not isinstance(dtype, np.dtype) or dtype.kind not in "iub":
        return dtype
    return "boolean" if dtype.kind == "b" else dtype.name.replace("uint", "UInt").replace("int", "Int")


def _check_fits(values: np.ndarray, column: pd.Series) -> None:
    """Raise an error for values that the variable's type cannot represent (integers would wrap around)."""
    kind: Any = getattr(column.dtype, "numpy_dtype", column.dtype)
    if isinstance(kind, np.dtype) and kind.kind in "iuf":
        limits = np.finfo(kind) if kind.kind == "f" else np.iinfo(kind)
        if not ((values >= float(limits.min)) & (values < float(limits.max) + 1.0)).all():
            problem = f"a value drawn for {column.name!r} does not fit into its type, {column.dtype}"
            raise InputError(
                "posterior", problem, "Declare a support (lower, upper), or give the variable a wider type"
            )
