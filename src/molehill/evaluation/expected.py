"""Expected risk: the mean over hundreds of tables that a posterior could release, with its Monte Carlo error."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal

import jax
import numpy as np
from numpy.typing import NDArray

from molehill.errors import InputError, check_choice
from molehill.risk.identification import Singletons, release_risk
from molehill.risk.intruder import Breaks, Floor, Kinds, Missing, Radius
from molehill.synthesis.posterior import Posterior, predict_from, put_back, spread_draws
from molehill.synthesis.synthesizer import Composite

Floats = NDArray[np.float64]

BLOCKS = 20
# Tables are made and measured in batches of about this many values.
_BATCH = 2_000_000


@dataclass(frozen=True, eq=False, repr=False)
class ExpectedRisk:
    """The risk of every record in the tables that a posterior could release.

    Attributes
    ----------
    risk
        One per record: the mean over the tables.
    error
        Its Monte Carlo standard error, from the means of blocks of neighbouring draws.
    blocks
        (blocks, records): mean risk in each block; neighbours in the chains share a block, so that the spread of the
        blocks holds the autocorrelation of the draws.
    runs
        (runs, records): realised risk of runs of `tables_in_run` tables, each spread over the whole posterior like the
        tables of `draw`: what a release of so many tables could have shown.
    datasets, tables_in_run
        How many tables there were in all, and in a run.
    """

    risk: Floats
    error: Floats
    blocks: Floats
    runs: Floats
    datasets: int
    tables_in_run: int

    def __repr__(self) -> str:
        mean, error = float(np.nanmean(self.risk)), float(np.nanmax(self.error))
        return (
            f"ExpectedRisk({self.datasets} tables, {len(self.risk):,} records, mean {mean:.4f}, "
            f"largest standard error {error:.4f})"
        )


def expected_risk(
    posterior: Posterior,
    *,
    known: str | Sequence[str],
    radius: Radius,
    seed: int,
    sensitive: str | Sequence[str] | None = None,
    datasets: int = 400,
    tables_in_run: int = 20,
    floor: Floor = 0.0,
    singletons: Singletons = "protect",
    missing: Missing = "error",
    breaks: Breaks = None,
    kinds: Kinds = None,
    unconverged: Literal["error", "allow"] = "error",
) -> ExpectedRisk:
    """Average the risk of every record over posterior predictive tables.

    The realised risk of a release is the mean over its few tables, each a coin flip for each record. The expected risk
    is what it is an estimate of. Tables are drawn from posterior draws spread evenly over the chains, measured in
    batches and dropped. The draws are correlated along the chains, so the standard error is that of batch means: the
    draws are cut into 20 blocks of neighbours, and the error is the standard deviation of the blocks' means over the
    square root of 20. It is itself known to about a sixth.

    Parameters
    ----------
    posterior
        From `fit`.
    sensitive
        The columns that the intruder compares; by default those that the synthesizer replaces.
    datasets
        How many tables: a multiple of 20, at most the number of draws.
    tables_in_run
        How many tables a release would have, for `runs`.
    seed
        The same posterior and seed give the same result. Schemes that are compared need different ones.
    unconverged
        "error" refuses a fit that has not converged, "allow" measures it all the same.
    known, radius, floor, singletons, missing, breaks, kinds
        As in `release_risk`.
    """
    check_choice("unconverged", unconverged, ("error", "allow"))
    if posterior.diagnostics.problems and unconverged == "error":
        problems = "; ".join(posterior.diagnostics.problems)
        raise InputError("posterior", f"it has not converged: {problems}", "Or allow it: unconverged='allow'")
    runs_number = _count_runs(posterior, datasets, tables_in_run)
    records = len(posterior.table.frame)
    blocks, runs = np.zeros((BLOCKS, records)), np.zeros((runs_number, records))
    number = 0
    for tables in _draw_batches(posterior, datasets, seed):
        risk = release_risk(
            posterior.table,
            tables,
            known=known,
            sensitive=posterior.synthesizer.sensitive if sensitive is None else sensitive,
            radius=radius,
            floor=floor,
            singletons=singletons,
            missing=missing,
            breaks=breaks,
            kinds=kinds,
        )
        for row in risk.by_table:
            blocks[number * BLOCKS // datasets] += row
            # Every run takes one table of each stretch of the chains; the few tables after the last full stretch none.
            if number // runs_number < tables_in_run:
                runs[number % runs_number] += row
            number += 1
    blocks *= BLOCKS / datasets
    runs /= tables_in_run
    mean, error = blocks.mean(axis=0), blocks.std(axis=0, ddof=1) / np.sqrt(BLOCKS)
    for array in (mean, error, blocks, runs):
        array.flags.writeable = False
    return ExpectedRisk(mean, error, blocks, runs, datasets, tables_in_run)


def _count_runs(posterior: Posterior, datasets: int, tables_in_run: int) -> int:
    chains, draws = next(iter(posterior.draws.values())).shape[:2]
    for argument, number in (("datasets", datasets), ("tables_in_run", tables_in_run)):
        if isinstance(number, bool) or not isinstance(number, Integral) or number < 1:
            raise InputError(argument, "it must be a whole number from 1 up", "400 tables, 20 in a run, are usual")
    if datasets % BLOCKS or datasets < 2 * BLOCKS:
        raise InputError("datasets", f"it is not a multiple of {BLOCKS}, at least {2 * BLOCKS}", "400 is usual")
    if datasets > chains * draws:
        raise InputError(
            "datasets", f"{datasets} tables need as many draws; there are {chains * draws}", "Fit with more draws"
        )
    if tables_in_run > datasets // 2:
        raise InputError("tables_in_run", f"{datasets} tables make no two such runs", "Ask for more datasets")
    return datasets // tables_in_run


def _draw_batches(posterior: Posterior, datasets: int, seed: int) -> Iterator[list[Any]]:
    """Draw tables from draws spread over the posterior, as `draw` does, a batch at a time."""
    size = max(1, min(datasets, _BATCH // len(posterior.table.frame)))
    starts = range(0, datasets, size)
    composite = isinstance(posterior.synthesizer, Composite)
    parts = posterior.parts if composite else {"": posterior}
    chosen = {name: spread_draws(part, datasets) for name, part in parts.items()}
    learned = {name: part.learned for name, part in parts.items()}
    for start, branch in zip(starts, np.random.SeedSequence(seed).spawn(len(starts)), strict=True):
        seeds = branch.generate_state(len(parts))
        with jax.enable_x64(new_val=True):
            drawn = {
                name: [prediction.values for prediction in predict_from(part, chosen[name][start : start + size], own)]
                for (name, part), own in zip(parts.items(), seeds.tolist(), strict=True)
            }
        batch = []
        for number in range(len(next(iter(drawn.values())))):
            values = {name: predictions[number] for name, predictions in drawn.items()}
            if isinstance(posterior.synthesizer, Composite):
                batch.append(put_back(posterior, posterior.synthesizer.join(values, learned)))
            else:
                batch.append(put_back(posterior, values[""]))
        yield batch
