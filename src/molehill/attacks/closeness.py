"""Closeness: whether released records lie nearer to people who were in the data than to people who were not.

Boards ask for the distance to the closest record, and it is shown because they ask. That a release passes proves
little: copies of a few people, or one column given away, hardly move a share over all records and all columns.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from molehill.arrays import Booleans, Floats, Integers, derive_seed, freeze
from molehill.attacks.neighbours import find_neighbours, learn_places, read_tables
from molehill.errors import InputError, check_choice, check_whole
from molehill.risk.holdout import Scale, choose_rows
from molehill.tables.intervals import Figure

_Z = 1.96


@dataclass(frozen=True, eq=False, repr=False)
class Closeness:
    """How near released records lie to people who were in the data, and to others.

    Attributes
    ----------
    nearer
        Share of the released records that lie nearer to somebody in the data than to anybody held out; those that are
        as near count by a coin. 1/2: no sign.
    copies, copies_held_out
        Share of the released records that equal somebody in the data, in all columns, and somebody held out.
    median, median_held_out
        Median distance to the closest record of the data, and of the holdout.
    low, low_held_out
        Their 5% quantiles.
    inside, outside
        Distance of every released record that was asked about, to the data and to the holdout.
    records
        People on either side.
    """

    nearer: Figure
    copies: Figure
    copies_held_out: Figure
    median: float
    median_held_out: float
    low: float
    low_held_out: float
    inside: Floats
    outside: Floats
    records: int

    def __repr__(self) -> str:
        return f"Closeness(nearer: {self.nearer.value:.3f}, copies: {self.copies.value:.3f})"


def closest_records(
    data: Any,
    released: Any,
    holdout: Any,
    columns: Sequence[str] | str,
    *,
    attacks: int = 10_000,
    scale: Scale = "rank",
    seed: int,
) -> Closeness:
    """Compare the distances of released records to the data with those to a holdout (DCR).

    Whoever made the release had the data and not the holdout. If released records repeat people, they lie nearer to the
    data; if they only follow the distribution, they lie as near to either, and the share of those nearer to the data is
    1/2. Both sides have as many people: of more, one lies nearer. The interval is of the share if it were a matter of
    chance who of all people was in the data and who was held out. With w_j released records that have person j for
    their closest among N, R in all, its variance is `N / (N - 1) sum of (w_j - R / N)^2 / (4 R^2)`: few people whom
    many released records are near to tell little, however many records there are.

    The distance is Gower's, as in `inference`; a share near 1/2 proves little, as a copy of one person in a hundred
    does not show in it. See `inference` and `singling_out` with control records for attacks that somebody would make,
    and `compare_halves` for tables that were made from halves of the data.

    Parameters
    ----------
    data, released
        The confidential table that was used, and one released table or a sequence of them, of any number of records.
    holdout
        Records of people like those of the confidential table that were not used.
    columns
        What is compared; those that were replaced, or all.
    attacks
        Released records that are asked about at most, over all tables.
    scale
        Numbers are compared by "rank", which an outlier does not stretch, or by their place in the "range".
    seed
        Of choices and coins.

    Examples
    --------
    >>> import pandas as pd
    >>> data, others = pd.DataFrame({"pay": [1.5, 2.5, 3.5]}), pd.DataFrame({"pay": [1.1, 2.1, 3.1]})
    >>> closest_records(data, pd.DataFrame({"pay": [1.5, 2.4, 3.1]}), others, "pay", scale="range", seed=1)
    Closeness(nearer: 0.667, copies: 0.333)
    """
    check_whole("attacks", attacks, 1)
    check_choice("scale", scale, ("rank", "range"))
    if holdout is None:
        raise InputError("holdout", "there is none", "Give records that were not used to make the release")
    names, table, tables, held = read_tables(data, released, holdout, columns, "columns")
    assert held is not None
    places = learn_places(table, [held], names, scale)
    random = np.random.default_rng(seed)
    sides = [places.of(table), places.of(held)]
    records = min(map(len, sides))
    sides = [side[choose_rows(random, len(side), records)] for side in sides]
    asked = np.concatenate([places.of(one) for one in tables])
    asked = asked[choose_rows(random, len(asked), attacks)]
    found = [
        find_neighbours(asked, side, places.exact, 1, seed=derive_seed(seed, "closest", number))
        for number, side in enumerate(sides)
    ]
    inside, outside = (distances[:, 0] for _, distances in found)
    nearer = np.where(inside == outside, random.random(len(asked)) < 0.5, inside < outside)
    closest = np.where(nearer, found[0][0][:, 0], records + found[1][0][:, 0])
    (median, median_held_out), (low, low_held_out) = (
        [float(np.quantile(one, share)) for one in (inside, outside)] for share in (0.5, 0.05)
    )
    return Closeness(
        _share(nearer, closest, 2 * records),
        _share(inside == 0, found[0][0][:, 0], records),
        _share(outside == 0, found[1][0][:, 0], records),
        median,
        median_held_out,
        low,
        low_held_out,
        freeze(inside),
        freeze(outside),
        records,
    )


def _share(told: Booleans, closest: Integers, people: int) -> Figure:
    """Give a share of released records with an interval over the people that they are closest to."""
    share, number = float(told.mean()), len(told)
    weights = np.bincount(closest, minlength=people)
    spread = people / max(people - 1, 1) * float(((weights - number / people) ** 2).sum())
    # Never narrower than of so many coins: all may have fallen alike.
    reach = _Z * np.sqrt(max(spread, number) / 4) / number
    return Figure(share, max(share - reach, 0.0), min(share + reach, 1.0))
