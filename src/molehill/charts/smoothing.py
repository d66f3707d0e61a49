"""Values as curves on a grid, so that a figure shows how they are spread and holds none of them."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# What lies beyond is not drawn, since there a curve is the values of a few records: a share of them, and so many.
_MASKED, _FEWEST = 0.005, 5
_BINS = (2048, 16384)
# In bandwidths: what is further away adds nothing to a density.
_REACH = 6.0


def smooth_density(
    values: Floats, grid: Floats, bandwidth: float, *, bounds: tuple[float, float] | None = None
) -> Floats:
    """Give the normal kernel density of the values on a grid.

    Parameters
    ----------
    values
        Finite.
    grid
        Where the density is wanted.
    bandwidth
        Standard deviation of the kernel, above 0.
    bounds
        Where the values end by nature. What the kernel would put beyond is reflected, so that the whole is still 1.

    Examples
    --------
    >>> smooth_density(np.array([0.0]), np.array([0.0, 1.0]), 1.0).round(3)
    array([0.399, 0.242])
    """
    reach = _REACH * bandwidth
    low, high = grid[0] - reach, grid[-1] + reach
    near = values[(values >= low) & (values <= high)]
    # Binned finer than the kernel, the work does not grow with the number of records.
    bins = int(np.clip(8 * (high - low) / bandwidth, *_BINS))
    step = (high - low) / (bins - 1)
    counts = np.bincount(np.rint((near - low) / step).astype(np.intp), minlength=bins)
    filled = np.flatnonzero(counts)
    centres, shares = low + step * filled, counts[filled] / len(values)
    density = _kernel(grid, centres, bandwidth) @ shares
    if bounds is not None:
        for end in bounds:
            density += _kernel(grid, 2 * end - centres, bandwidth) @ shares
    return density


def _kernel(grid: Floats, centres: Floats, bandwidth: float) -> Floats:
    return np.exp(-0.5 * ((grid[:, None] - centres) / bandwidth) ** 2) / (bandwidth * np.sqrt(2 * np.pi))


def usual_bandwidth(values: Floats) -> float:
    """Give Silverman's bandwidth, by the smaller of two measures of spread so that a long tail does not widen it.

    Examples
    --------
    >>> round(usual_bandwidth(np.arange(32.0)), 3)
    4.155
    """
    quarter, three = np.quantile(values, [0.25, 0.75])
    spreads = [spread for spread in (values.std(), (three - quarter) / 1.349) if spread > 0]
    return float(0.9 * min(spreads, default=1.0) * len(values) ** -0.2)


def masked_share(records: int) -> float:
    """Give the share of the records at either end that is not drawn: half a percent, of few records at least five.

    Examples
    --------
    >>> masked_share(6208), masked_share(100)
    (0.005, 0.05)
    """
    return min(max(_MASKED, _FEWEST / records), 0.25)


def masked_grid(values: Floats, points: int) -> Floats:
    """Lay an even grid over the values without their tails; its ends are round numbers, not values of records.

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


def round_step(span: float) -> float:
    """Give the power of ten between a hundredth and a thousandth of a span: too small to see in a figure.

    Examples
    --------
    >>> round_step(20_000.0)
    100.0
    """
    return float(10.0 ** np.floor(np.log10(span / 100.0)))
