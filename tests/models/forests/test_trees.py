"""The kernels of a forest: trees by hand and by brute force, the least mass of a part, and draws by their shares."""

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agreement import assert_counts, assert_rate
from molehill.models.forests.trees import find_leaves, grow_tree, lean_tree, walk

NO_SCORES = np.empty(0)
SHRINKAGE = 2.0


class Tree(NamedTuple):
    feature: np.ndarray
    left: np.ndarray
    child: np.ndarray
    shares: np.ndarray


def grown(codes: Any, outcome: Any, masses: Any, *, leaf: float, seed: int = 1, **changes: Any) -> Tree:
    codes = np.ascontiguousarray(codes, dtype=np.uint8)
    outcome = np.asarray(outcome, dtype=np.int64)
    sizes = changes.get("sizes", codes.max(axis=0).astype(np.int64) + 1)
    unordered = np.array(changes.get("unordered", [False] * codes.shape[1]), dtype=bool)
    number = changes.get("number", int(outcome.max()) + 1)
    scores, most = changes.get("scores", NO_SCORES), changes.get("try_most", max(codes.shape[1], 1))
    masses = np.asarray(masses, dtype=np.float64)
    task = (codes, sizes, unordered, outcome, number, scores, float(leaf), most)
    # As `forest` calls it: a default that is left out would be compiled anew.
    return Tree(*grow_tree(*task, masses, seed, SHRINKAGE, who=None, times=None))


def leaves_of(tree: Tree, codes: Any) -> np.ndarray:
    return find_leaves(np.ascontiguousarray(codes, dtype=np.uint8), tree.feature, tree.left, tree.child)


def entropy(counts: np.ndarray) -> float:
    total = counts.sum()
    return float(-(counts[counts > 0] * np.log(counts[counts > 0] / total)).sum())


def counts_of(outcome: np.ndarray, masses: np.ndarray, number: int) -> np.ndarray:
    return np.bincount(outcome, masses, minlength=number)


# By hand.


def test_four_records_are_parted_in_two():
    tree = grown([[0], [0], [1], [1]], [0, 0, 1, 1], np.ones(4), leaf=2)
    assert tree.feature.tolist() == [0, -1, -1]
    assert tree.left.tolist() == [1, 0, 0]
    assert tree.child.tolist() == [1, -1, -2]
    # (2 + 1/2) / (4 + 1) at the root; (2 + 2 * 1/2) / (2 + 2) in a leaf.
    np.testing.assert_allclose(tree.shares, [[0.75, 0.25], [0.25, 0.75]])
    assert leaves_of(tree, [[1], [0]]).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("outcome", "leaf", "why"),
    [([0, 0, 1, 1], 2.01, "a part would be too small"), ([1, 1, 1, 1], 1, "nothing is left to tell")],
)
def test_what_cannot_be_parted_is_one_leaf(outcome, leaf, why):
    tree = grown([[0], [0], [1], [1]], outcome, np.ones(4), leaf=leaf, number=2)
    assert tree.child.tolist() == [-1], why
    ones = sum(outcome)
    np.testing.assert_allclose(tree.shares, [[(4 - ones + 0.5) / 5, (ones + 0.5) / 5]], rtol=1e-6)


def test_without_predictors_there_is_one_leaf():
    tree = grown(np.zeros((5, 0)), [0, 1, 2, 2, 2], [1, 2, 0.5, 0.5, 1], leaf=1)
    np.testing.assert_allclose(tree.shares, (np.array([[1, 2, 2]]) + 1 / 3) / 6, rtol=1e-6)


# By brute force.


@pytest.mark.parametrize("seed", range(5))
def test_a_number_is_parted_where_the_levels_differ_most(seed):
    random = np.random.default_rng(seed)
    codes, masses = random.integers(1, 12, (60, 1)), random.gamma(1.0, size=60)
    outcome = random.integers(0, 3, 60) * (codes[:, 0] > 6)
    leaf = 8.0
    tree = grown(codes, outcome, masses, leaf=leaf, number=3)
    left = {}
    for cut in range(12):
        below = codes[:, 0] <= cut
        if min(masses[below].sum(), masses[~below].sum()) >= leaf:
            left[cut] = sum(entropy(counts_of(outcome[part], masses[part], 3)) for part in (below, ~below))
    best = min(left, key=lambda cut: left[cut])
    parted = [bool(int(tree.left[0]) >> code & 1) for code in range(1, 12)]
    assert parted == [code <= best for code in range(1, 12)]


@pytest.mark.parametrize("seed", range(5))
def test_of_two_levels_no_set_of_categories_parts_better(seed):
    random = np.random.default_rng(seed)
    codes, masses = np.repeat(np.arange(6), 15)[:, None], random.gamma(1.0, size=90)
    outcome = (random.random(90) < random.random(6)[codes[:, 0]]).astype(np.int64)
    # No code alone is too small, so that every set may be a part.
    tree = grown(codes, outcome, masses, leaf=1, number=2, unordered=[True])
    left = {}
    for size in range(1, 6):
        for chosen in combinations(range(6), size):
            inside = np.isin(codes[:, 0], chosen)
            parts = (counts_of(outcome[part], masses[part], 2) for part in (inside, ~inside))
            left[frozenset(chosen)] = sum(map(entropy, parts))
    found = frozenset(code for code in range(6) if int(tree.left[0]) >> code & 1)
    assert left[found] == pytest.approx(min(left.values()))


def test_numbers_order_categories_by_their_scores():
    # Code 2 has the lowest levels, then 0, then 1: the order that the best part is found in.
    codes, outcome = np.repeat([0, 1, 2], 20)[:, None], np.repeat([1, 2, 0], 20)
    scores = np.arange(3) / 3
    for seed in range(5):
        tree = grown(codes, outcome, np.ones(60), leaf=15, unordered=[True], scores=scores, seed=seed)
        assert int(tree.left[0]) in (0b100, 0b101)
        assert len(tree.shares) == 3


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 120),
    st.integers(0, 4),
    st.integers(2, 6),
    st.floats(1.0, 40.0),
    st.sampled_from([0.01, 0.5, 1.0, 30.0]),
)
def test_every_tree_is_what_it_says(seed, records, predictors, number, leaf, weight):
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 65, predictors)
    codes = (
        np.stack([random.integers(0, size, records) for size in sizes], axis=1)
        if predictors
        else np.zeros((records, 0))
    )
    outcome, masses = random.integers(0, number, records), random.standard_gamma(np.full(records, weight))
    about: dict[str, Any] = {"sizes": sizes, "unordered": random.random(predictors) < 0.5, "number": number}
    about["scores"] = np.arange(number) / number if random.random() < 0.5 else NO_SCORES
    tree = grown(codes, outcome, masses, leaf=leaf, seed=seed, try_most=max(1, predictors // 2), **about)
    again = grown(codes, outcome, masses, leaf=leaf, seed=seed, try_most=max(1, predictors // 2), **about)
    assert all(np.array_equal(one, other) for one, other in zip(tree, again, strict=True))
    # Every node but the root is a child once; every leaf has a number of its own.
    inner = tree.child >= 0
    assert sorted([*tree.child[inner], *(tree.child[inner] + 1)]) == list(range(1, len(tree.child)))
    assert sorted(-tree.child[~inner] - 1) == list(range(len(tree.shares)))
    assert len(tree.child) == 2 * len(tree.shares) - 1
    np.testing.assert_allclose(tree.shares.sum(axis=1), 1, rtol=1e-5)
    # No part has too little mass.
    leaves = leaves_of(tree, codes)
    if len(tree.shares) > 1:
        assert np.bincount(leaves, masses, minlength=len(tree.shares)).min() >= leaf * (1 - 1e-9)
    # The shares, from the root down: the masses of a part, shrunk to the part before.
    where = {0: np.ones(records, dtype=bool)}
    told = {0: (counts_of(outcome, masses, number) + 1 / number) / (masses.sum() + 1)}
    for node in range(len(tree.child)):
        if not inner[node]:
            np.testing.assert_allclose(tree.shares[-tree.child[node] - 1], told[node], rtol=1e-4)
            assert (leaves[where[node]] == -tree.child[node] - 1).all()
            continue
        goes = np.array([int(tree.left[node]) >> int(code) & 1 == 1 for code in codes[:, tree.feature[node]]])
        for child, part in ((tree.child[node], goes), (tree.child[node] + 1, ~goes)):
            where[child] = where[node] & part
            counts = counts_of(outcome[where[child]], masses[where[child]], number)
            told[child] = (counts + SHRINKAGE * told[node]) / (counts.sum() + SHRINKAGE)


def test_codes_that_no_record_of_a_part_has_come_to_some_leaf_always_the_same():
    random = np.random.default_rng(3)
    codes = random.choice([0, 5, 63], (300, 2))
    outcome = (codes[:, 0] == 5) + 2 * (codes[:, 1] == 63)
    tree = grown(codes, outcome, np.ones(300), leaf=10, sizes=np.array([64, 64]), unordered=[True, False])
    everything = np.stack(np.meshgrid(np.arange(64), np.arange(64)), axis=-1).reshape(-1, 2)
    leaves = leaves_of(tree, everything)
    assert set(leaves) <= set(range(len(tree.shares)))
    np.testing.assert_array_equal(leaves, leaves_of(tree, everything))
    # Where the codes have an order, a new one goes with its neighbours on one side.
    first = leaves[everything[:, 0] == 0]
    assert (np.diff(first) != 0).sum() <= 2


def test_records_without_mass_and_records_of_very_much():
    random = np.random.default_rng(4)
    codes, outcome = random.integers(0, 9, (200, 3)), random.integers(0, 3, 200)
    none = grown(codes, outcome, np.zeros(200), leaf=5)
    np.testing.assert_allclose(none.shares, [[1 / 3] * 3])
    few = np.where(random.random(200) < 0.9, 0.0, 10.0)
    assert np.isfinite(grown(codes, outcome, few, leaf=5).shares).all()
    # As many nodes as there can be with these records, not with this mass.
    much = grown(codes, outcome, np.full(200, 1e12), leaf=1)
    assert len(much.shares) <= 200


def test_predictors_are_tried_by_chance_and_one_that_tells_nothing_is_left_alone():
    random = np.random.default_rng(5)
    useful, noise = random.integers(0, 2, 400), random.integers(0, 2, (400, 3))
    codes = np.column_stack([noise[:, :2], useful, noise[:, 2]])
    outcome = np.where(random.random(400) < 0.9, useful, 1 - useful)
    roots = [grown(codes, outcome, np.ones(400), leaf=20, seed=seed, try_most=4).feature[0] for seed in range(20)]
    assert set(roots) == {2}
    some = [grown(codes, outcome, np.ones(400), leaf=20, seed=seed, try_most=2).feature[0] for seed in range(400)]
    # Among two of four it is half of the time.
    assert_rate(some.count(2), 400, 0.5, detects=0.25, of="two of four tried")
    # One that does not vary counts for none of those tried.
    still = np.column_stack([np.zeros((400, 3)), useful])
    assert grown(still, outcome, np.ones(400), leaf=20, try_most=1, sizes=np.array([2] * 4)).feature[0] == 3


# Records taken down their trees.


def walked(tree: Tree, codes: Any, allowed: Any, chance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    codes = np.ascontiguousarray(codes, dtype=np.uint8)
    records = len(codes)
    drawn, given = np.empty(records, dtype=np.int64), np.empty(records)
    feature, left, child, shares = (site[None] for site in tree)
    chosen = np.zeros(records, dtype=np.int64)
    # Without a lean: no predictor has a cell, and all levels are one group.
    nothing = (np.ones((1, 0, 1), np.float32), np.full((codes.shape[1], 64), -1), np.zeros(shares.shape[2], np.int64))
    walk(codes, feature, left, child, shares, *nothing, chosen, chance, np.array(allowed), drawn, given)
    return drawn, given


LEVELS = Tree(
    np.array([0, -1, -1], np.int32),
    np.array([0b01, 0, 0], np.uint64),
    np.array([1, -1, -2], np.int32),
    np.array([[0.1, 0.2, 0.3, 0.4], [0.7, 0.1, 0.1, 0.1]], np.float32),
)


@pytest.mark.parametrize("allowed", [[True] * 4, [True, False, True, False], [False, False, False, True]])
def test_levels_are_drawn_by_their_shares_of_those_allowed(allowed):
    records = 40_000
    codes = np.repeat([[0], [1]], records // 2, axis=0)
    drawn, given = walked(LEVELS, codes, [allowed], np.random.default_rng(6).random(records))
    for leaf in (0, 1):
        shares = np.where(allowed, LEVELS.shares[leaf], 0).astype(np.float64)
        mine = slice(leaf * records // 2, (leaf + 1) * records // 2)
        np.testing.assert_allclose(given[mine], shares.sum(), rtol=1e-6)
        counts = np.bincount(drawn[mine], minlength=4)
        assert counts[~np.array(allowed)].sum() == 0
        if sum(allowed) > 1:
            # All that are allowed equally often, or by the shares of the other leaf.
            own, others = (LEVELS.shares[place][allowed].astype(np.float64) for place in (leaf, 1 - leaf))
            for other in (np.ones(len(own)), others):
                assert_counts(counts[allowed], own / own.sum(), other=other / other.sum())
    # Where all are allowed nothing is lost, not even by rounding.
    assert (given == 1).all() == all(allowed)


def test_every_record_has_levels_of_its_own_and_none_where_nothing_is_allowed():
    allowed = np.array([[True, False, False, False], [False, False, False, False], [False, True, True, False]])
    drawn, given = walked(LEVELS, [[0], [0], [1]], allowed, np.array([0.99, 0.5, 0.75]))
    assert drawn.tolist() == [0, -1, 2]
    np.testing.assert_allclose(given, [0.1, 0, 0.2], rtol=1e-6)


def test_the_ends_of_chance_are_levels_too():
    for chance in (0.0, np.nextafter(1.0, 0.0)):
        for row in ([True] * 4, [False, True, True, False]):
            drawn, _ = walked(LEVELS, [[0], [1]], [row], np.full(2, chance))
            assert np.array(row)[drawn].all()


# What a tree leans to.


def leaned_slowly(codes, cells, outcome, group, masses, tree, number, sweeps):
    """The same by whole arrays, one predictor after the other."""
    leaves = find_leaves(codes, tree.feature, tree.left, tree.child)
    groups = int(group.max()) + 1
    own = np.stack([tree.shares[:, group == g].sum(axis=1) for g in range(groups)], axis=1).astype(float)[leaves]
    lean = np.ones((number, groups))
    for _ in range(sweeps):
        for f in range(codes.shape[1]):
            where = cells[f, codes[:, f]]
            factors = np.ones_like(own)
            for other in range(codes.shape[1]):
                cell = cells[other, codes[:, other]]
                factors *= np.where(cell[:, None] >= 0, lean[cell], 1.0)
            chances = own * factors / (own * factors).sum(axis=1, keepdims=True)
            for cell in np.unique(where[where >= 0]):
                here = where == cell
                seen = np.bincount(group[outcome[here]], masses[here], minlength=groups)
                lean[cell] *= (seen + 2.0) / (masses[here] @ chances[here] + 2.0)
    return lean


def test_a_tree_leans_to_every_predictor_by_itself_as_it_would_by_whole_arrays():
    random = np.random.default_rng(8)
    codes = np.column_stack([random.integers(0, 5, 500), random.random(500) < 0.1]).astype(np.uint8)
    outcome = np.minimum(random.poisson(1 + codes[:, 0] + 3 * codes[:, 1]), 9)
    masses, group = random.standard_gamma(1.0, 500), np.array([0, 0, 1, 1, 1, 2, 2, 3, 3, 3])
    tree = grown(codes, outcome, masses, leaf=120)
    cells = np.full((2, 64), -1)
    cells[0, :4], cells[1, :2] = [0, 0, 1, 2], [3, 4]
    about = (codes, cells, outcome, group, 4, masses, tree.feature, tree.left, tree.child, tree.shares, 5)
    found = lean_tree(*about, 3, 2.0, None)
    np.testing.assert_allclose(found, leaned_slowly(codes, cells, outcome, group, masses, tree, 5, 3))
    assert (lean_tree(*about, 0, 2.0, None) == 1).all()
