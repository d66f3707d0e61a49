"""Expected risk: the mean over hundreds of tables that a posterior could release, with its Monte Carlo error."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from molehill.arrays import Floats, freeze
from molehill.errors import InputError, check_choice, check_whole
from molehill.risk.identification import release_risk
from molehill.risk.intruder import Intruder, View
from molehill.runtime import parallel_map
from molehill.tables.table import Table

if TYPE_CHECKING:
    # It needs JAX, which whoever has a posterior has loaded; to evaluate other people's files must not wait for it.
    from molehill.synthesis.posterior import Posterior

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
    posterior: "Posterior",
    intruder: Intruder | View,
    *,
    seed: int,
    datasets: int = 400,
    tables_in_run: int = 20,
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
    intruder
        What the intruder knows, and what counts as close; or how that intruder sees the confidential table already.
    datasets
        How many tables: a multiple of 20, at most the number of draws, unless these are independent.
    tables_in_run
        How many tables a release would have, for `runs`.
    seed
        The same posterior and seed give the same result. Schemes that are compared need different ones.
    unconverged
        "error" refuses a fit that has not converged, "allow" measures it all the same.
    """
    check_choice("unconverged", unconverged, ("error", "allow"))
    if posterior.diagnostics.problems and unconverged == "error":
        problems = "; ".join(posterior.diagnostics.problems)
        raise InputError("posterior", f"it has not converged: {problems}", "Or allow it: unconverged='allow'")
    runs_number = _count_runs(posterior, datasets, tables_in_run)
    view = intruder if isinstance(intruder, View) else intruder.view(posterior.table)
    blocks, runs = np.zeros((BLOCKS, view.records)), np.zeros((runs_number, view.records))
    number = 0
    for rows in spread_batches(_measure_batch, posterior, view, datasets, seed):
        for row in rows:
            blocks[number * BLOCKS // datasets] += row
            # Every run takes one table of each stretch of the chains; the few tables after the last full stretch none.
            if number // runs_number < tables_in_run:
                runs[number % runs_number] += row
            number += 1
    blocks *= BLOCKS / datasets
    runs /= tables_in_run
    mean, error = blocks.mean(axis=0), blocks.std(axis=0, ddof=1) / np.sqrt(BLOCKS)
    return ExpectedRisk(freeze(mean), freeze(error), freeze(blocks), freeze(runs), datasets, tables_in_run)


def spread_batches(
    measure: Callable[..., Iterable[Floats]], posterior: "Posterior", view: View, datasets: int, seed: int
) -> Iterator[Iterable[Floats]]:
    """Give `measure(posterior, view, table, datasets, seed, at_once, start)` of batch after batch of tables."""
    at_once = min(datasets, max(1, _BATCH // view.records))
    calls = [(datasets, seed, at_once, start) for start in range(0, datasets, at_once)]
    return parallel_map(measure, calls, shared=(posterior, view, view.table))


def _measure_batch(
    posterior: "Posterior", view: View, _table: Table, datasets: int, seed: int, at_once: int, start: int
) -> Floats:
    """Give the risk of every record in every table of a batch."""
    return release_risk(view, posterior.predict_batch(datasets, start, seed=seed, at_once=at_once)).by_dataset


def _count_runs(posterior: "Posterior", datasets: int, tables_in_run: int) -> int:
    for argument, number in (("datasets", datasets), ("tables_in_run", tables_in_run)):
        check_whole(argument, number, 1)
    if datasets % BLOCKS or datasets < 2 * BLOCKS:
        raise InputError("datasets", f"it is not a multiple of {BLOCKS}, at least {2 * BLOCKS}", "400 is usual")
    if datasets > posterior.number and not posterior.independent:
        raise InputError(
            "datasets", f"{datasets} tables need as many draws; there are {posterior.number}", "Fit with more draws"
        )
    if tables_in_run > datasets // 2:
        raise InputError("tables_in_run", f"{datasets} tables make no two such runs", "Ask for more datasets")
    return datasets // tables_in_run
