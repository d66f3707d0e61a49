"""Densities, distribution functions and tails for charts, on grids of round numbers that show no value."""

import numpy as np
from scipy.ndimage import gaussian_filter1d

from molehill.arrays import Floats

# Share, and minimum number, of the records at either end that are not drawn, where a curve would show single records.
_MASKED, _FEWEST = 0.005, 5
# Truncation of the kernel, and width of the bins, in bandwidths.
_REACH, _FINEST = 6.0, 1 / 16
_BINS = (512, 16384)
# Grid of a tail, within a power of ten.
_ROUND = (1.0, 1.25, 1.6, 2.0, 2.5, 3.2, 4.0, 5.0, 6.3, 8.0)
# A tail ends at this multiple of the largest confidential value.
_FARTHEST = 1000.0


def round_step(span: float) -> float:
    """Power of ten between a hundredth and a thousandth of a span.

    Examples
    --------
    >>> round_step(20_000.0)
    100.0
    """
    return float(10.0 ** np.floor(np.log10(span / 100.0)))


def smooth_density(
    values: Floats, grid: Floats, bandwidth: float, *, bounds: tuple[float, float] | None = None
) -> Floats:
    """Normal kernel density of the values on a grid, from binned values.

    Parameters
    ----------
    values
        Finite values.
    grid
        Points at which to evaluate the density.
    bandwidth
        Standard deviation of the kernel, above 0.
    bounds
        Natural bounds of the values, at which the kernel is reflected.

    Examples
    --------
    >>> smooth_density(np.array([0.0]), np.array([0.0, 1.0]), 1.0).round(2)
    array([0.4 , 0.24])
    """
    low, high = bounds or (grid[0] - _REACH * bandwidth, grid[-1] + _REACH * bandwidth)
    near = values[(values >= low) & (values <= high)]
    if not len(near):
        return np.zeros(len(grid))
    bins = int(np.clip((high - low) / (_FINEST * bandwidth), *_BINS))
    counts, edges = np.histogram(near, bins=bins, range=(low, high))
    width = edges[1] - edges[0]
    # Reflected at the bounds; without bounds the ends are too far away to matter.
    smooth = gaussian_filter1d(counts / width, bandwidth / width, mode="reflect", truncate=_REACH)
    return np.interp(grid, (edges[:-1] + edges[1:]) / 2, smooth) / len(values)


def masked_share(records: int) -> float:
    """Share of the records at either end that is not drawn: 0.5%, but at least five records.

    Examples
    --------
    >>> masked_share(6208), masked_share(100)
    (0.005, 0.05)
    """
    return min(max(_MASKED, _FEWEST / records), 0.25)


def masked_grid(values: Floats, points: int) -> Floats:
    """Even grid over the values without their tails, with round numbers as ends.

    Examples
    --------
    >>> masked_grid(np.arange(10_001.0), 5)
    array([  50., 2525., 5000., 7475., 9950.])
    """
    share = masked_share(len(values))
    low, high = np.quantile(values, [share, 1 - share])
    if low == high:
        low, high = low - 1.0, high + 1.0
    step = round_step(high - low)
    return np.linspace(np.ceil(low / step) * step, np.floor(high / step) * step, points)


def usual_bandwidth(values: Floats, grid: Floats) -> float:
    """Silverman's bandwidth, or a fiftieth of the grid if half of the values are equal."""
    spread = min(np.std(values), np.ptp(np.quantile(values, [0.25, 0.75])) / 1.34)
    return float(0.9 * spread * len(values) ** -0.2) or (grid[-1] - grid[0]) / 50


def tail_grid(values: Floats, others: Floats) -> Floats:
    """Round numbers from the median of the positive values to beyond the largest of both.

    Examples
    --------
    >>> tail_grid(np.array([90.0, 100.0, 140.0]), np.array([210.0]))
    array([100., 125., 160., 200., 250.])
    """
    positive = values[values > 0]
    if not len(positive):
        return np.zeros(0)
    most = min(max(positive.max(), others.max(initial=0.0)), _FARTHEST * positive.max())
    powers = 10.0 ** np.arange(np.floor(np.log10(np.median(positive))), np.floor(np.log10(most)) + 2)
    steps = np.round(np.outer(powers, _ROUND).ravel(), 12)
    grid = steps[(steps >= np.median(positive)) & (steps <= steps[np.searchsorted(steps, most, side="right")])]
    # Without a tail if most values are the largest one, for example a top code.
    return grid if positive.max() > grid[0] else np.zeros(0)


def share_above(values: Floats, grid: Floats) -> Floats:
    """Share of the values above each point of a grid.

    Examples
    --------
    >>> share_above(np.array([1.0, 2.0, 3.0, 4.0]), np.array([2.0, 4.0]))
    array([0.5, 0. ])
    """
    return 1.0 - share_below(values, grid)


def share_below(values: Floats, grid: Floats) -> Floats:
    """Share of the values at or below each point of a grid."""
    return np.searchsorted(np.sort(values), grid, side="right") / len(values)
