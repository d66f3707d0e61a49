"""Whether draws can be trusted: convergence of functionals that do not depend on labels."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from arviz_stats.base.array import array_stats

if TYPE_CHECKING:
    from molehill.synthesis.sampling.chains import Run

HIGHEST_RHAT = 1.02
LEAST_BULK = 200
LEAST_TAIL = 100
LARGEST_DIVERGENT_SHARE = 0.01
# Functionals that must mix by themselves, before others may lie in modes that a released dataset does not show.
LEAST_MIXED = 0.5


class ConvergenceWarning(UserWarning):
    """A fit ended without converging; `draw` will refuse it."""


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """How well the chains of a fit agree and mix.

    Attributes
    ----------
    table
        One row a functional: mean, sd, R-hat (rank-normalized, split), bulk and tail effective size, the Monte Carlo
        standard error of the mean; how far `apart` the means of half chains lie, the `tolerance` for that, and whether
        the functional `decides`. It does, unless it has not mixed, but lies within its tolerance.
    divergent
        Share of the trajectories that broke down.
    accept
        Mean acceptance.
    gradients
        Gradients taken after the warm-up, by all chains.
    sweeps
        Sweeps of a chain after the warm-up; more than the draws if the run had to go on, see `fit`.
    seconds
        Wall time by stage.
    problems
        What is wrong and what to do, in words; empty if the fit can be used.
    remarks
        What is not as it should be, but changes nothing of what is released.
    """

    table: pd.DataFrame
    divergent: float
    accept: float
    gradients: int
    sweeps: int
    seconds: Mapping[str, float]
    problems: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    @property
    def effective_size(self) -> float:
        """Smallest bulk effective size over the functionals that decide and move; 0 if none does."""
        return float(np.nan_to_num(self.table.loc[self.table["decides"], "bulk"].min()))

    @property
    def largest_rhat(self) -> float:
        """Largest R-hat over the functionals that decide."""
        return float(self.table.loc[self.table["decides"], "rhat"].max())

    def is_hopeless(self, longer: float, effective: int) -> bool:
        """Whether chains so many times as long would still not have the effective size.

        Chains in different places have that of a few draws, however long they are.
        """
        far = self.table["apart"] > self.table["tolerance"]
        return bool((far & (self.table["bulk"] * longer < effective)).any())


def diagnose(run: "Run", *, tolerances: Mapping[str, float] = {}, effective: int = LEAST_BULK) -> Diagnostics:
    """Judge the chains of a run by their functionals.

    Parameters
    ----------
    run
        Its functionals are (chains, draws, number).
    tolerances
        How far apart the means of half chains may lie, by functional, so that no released dataset shows it: infinitely
        for one that no dataset depends on, not at all for those that are not named. This counts where chains lie in
        different modes, and at least half of the functionals mix all the same.
    effective
        The least bulk effective size.
    """
    names, columns, allowed = [], [], []
    for name, values in run.functionals.items():
        flat = values.reshape(*values.shape[:2], -1)
        names += [f"{name}[{i}]" if flat.shape[2] > 1 else name for i in range(flat.shape[2])]
        allowed += [tolerances.get(name, 0.0)] * flat.shape[2]
        columns.append(flat)
    chains = np.concatenate(columns, axis=2).astype(np.float64)
    axes: dict[str, Any] = {"chain_axis": 0, "draw_axis": 1}
    # A functional that never moves says nothing of convergence, and has no R-hat.
    moving = (chains.max(axis=(0, 1)) > chains.min(axis=(0, 1))) & np.isfinite(chains).all(axis=(0, 1))
    # Infinite values have no mean, and chains that stand still at different places no variance within: both are told.
    with np.errstate(divide="ignore", invalid="ignore"):
        table = pd.DataFrame({"mean": chains.mean(axis=(0, 1)), "sd": chains.std(axis=(0, 1))}, index=pd.Index(names))
        measures = {
            "rhat": array_stats.rhat(chains[..., moving], **axes),
            "bulk": array_stats.ess(chains[..., moving], **axes),
            "tail": array_stats.ess(chains[..., moving], method="tail", prob=(0.05, 0.95), **axes),
            "error": array_stats.mcse(chains[..., moving], **axes),
        }
    for measure, values in measures.items():
        column = np.full(len(table), np.nan)
        column[moving] = values
        table[measure] = column
    half = max(chains.shape[1] // 2, 1)
    halves = np.concatenate([chains[:, :half].mean(axis=1), chains[:, -half:].mean(axis=1)])
    table["apart"], table["tolerance"] = np.ptp(halves, axis=0), allowed
    mixed = (table["rhat"] <= HIGHEST_RHAT) & (table["bulk"] >= effective) & (table["tail"] >= LEAST_TAIL)
    asked = np.isfinite(table["tolerance"])
    excused = ~mixed & (table["apart"] <= table["tolerance"]) & (mixed[moving & asked].mean() >= LEAST_MIXED)
    table["decides"] = asked & ~excused
    share = float(np.mean(run.divergent))
    modes = table.loc[moving & ~table["decides"] & (table["rhat"] > HIGHEST_RHAT), "rhat"]
    remarks = [] if modes.empty else [_tell_modes(modes)]
    broken = table.index[np.flatnonzero(~np.isfinite(chains).all(axis=(0, 1)))]
    problems = _find_problems(table[moving & table["decides"]], share, broken, effective)
    return Diagnostics(
        table,
        share,
        float(np.nanmean(run.accept)),
        run.gradients,
        run.sweeps,
        run.seconds,
        problems,
        () if problems else tuple(remarks),
    )


def trust_independent(functionals: Mapping[str, np.ndarray], seconds: Mapping[str, float]) -> Diagnostics:
    """Describe draws that are independent by construction: each counts fully, and there is nothing to converge.

    Parameters
    ----------
    functionals
        (1, draws, number) by name.
    seconds
        Wall time by stage.
    """
    rows = {}
    for name, values in functionals.items():
        flat = np.asarray(values, dtype=np.float64).reshape(values.shape[1], -1)
        for place in range(flat.shape[1]):
            label = f"{name}[{place}]" if flat.shape[1] > 1 else name
            spread = float(flat[:, place].std())
            rows[label] = {"mean": float(flat[:, place].mean()), "sd": spread, "error": spread / np.sqrt(len(flat))}
    number = next(iter(functionals.values())).shape[1]
    table = pd.DataFrame.from_dict(rows, orient="index")
    table = table.assign(rhat=1.0, bulk=float(number), tail=float(number), apart=0.0, tolerance=0.0, decides=True)
    return Diagnostics(table, 0.0, 1.0, 0, number, seconds, ())


def _tell_modes(rhats: pd.Series) -> str:
    worst = f"R-hat of {rhats.idxmax()} is {rhats.max():.3f}"
    return (
        f"the chains lie in different modes ({worst}), which differ by less than the tolerances in all that is watched"
    )


def _find_problems(table: pd.DataFrame, divergent: float, broken: pd.Index, effective: int) -> tuple[str, ...]:
    problems = []
    more = "run it longer (patience=, draws=)"
    if len(broken):
        problems.append(
            f"{len(broken)} functionals are not finite, {broken[0]} among them: look at the data and the model, or "
            "give a support"
        )
    elif not len(table):
        problems.append("no chain ever moved: look at the data and the model, or narrow the priors")
    if table[["rhat", "bulk", "tail"]].isna().any(axis=None):
        problems.append(f"there are too few draws to judge; {more}")
    if len(table) and table["rhat"].max() > HIGHEST_RHAT:
        problems.append(
            f"R-hat of {table['rhat'].idxmax()} is {table['rhat'].max():.3f}, above {HIGHEST_RHAT}: "
            f"the chains have not come together; {more}"
        )
    for measure, least in (("bulk", effective), ("tail", LEAST_TAIL)):
        if len(table) and table[measure].min() < least:
            problems.append(
                f"the {measure} effective size of {table[measure].idxmin()} is {table[measure].min():.0f}, "
                f"below {least}: {more}"
            )
    if divergent > LARGEST_DIVERGENT_SHARE:
        problems.append(
            f"{divergent:.1%} of the trajectories diverged: the posterior has corners that the sampler misses; use "
            "narrower priors or fewer predictors"
        )
    return tuple(problems)


def join_diagnostics(parts: Mapping[str, Diagnostics]) -> Diagnostics:
    """Put the diagnostics of parts that were fitted on their own together."""
    tables = {
        name: part.table.rename(index=lambda functional, name=name: f"{name}.{functional}")
        for name, part in parts.items()
    }
    return Diagnostics(
        pd.concat(tables.values()),
        max(part.divergent for part in parts.values()),
        min(part.accept for part in parts.values()),
        sum(part.gradients for part in parts.values()),
        max(part.sweeps for part in parts.values()),
        {f"{name}, {stage}": s for name, part in parts.items() for stage, s in part.seconds.items()},
        tuple(f"{name}: {problem}" for name, part in parts.items() for problem in part.problems),
        tuple(f"{name}: {remark}" for name, part in parts.items() for remark in part.remarks),
    )
