"""Kernels against the plainest loops: any number of columns, ties, empty cells, any radius."""

import subprocess
import sys
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from molehill.risk import balls
from properties import examples


def close(values, low, high, cells):
    """Who is in whose ball, as the (balls, points) matrix that the library never builds."""
    inside = (values[None] >= low[:, None]) & (values[None] <= high[:, None])
    return inside.all(axis=2) & (cells[:, None] == cells[None])


def missed(size, cover, order):
    """Share of the sets of `order - 1` others of a pattern whose balls all miss a record that `cover` balls hold."""
    return comb(max(size - 1 - cover, 0), order - 1) / max(comb(size - 1, order - 1), 1)


@st.composite
def tables(draw, largest_columns=4):
    rows = draw(st.integers(1, 30))
    columns = draw(st.integers(0, largest_columns))
    numbers = st.integers(-6, 9) if draw(st.booleans()) else st.floats(-1e6, 1e6)
    values = draw(st.lists(st.lists(numbers, min_size=columns, max_size=columns), min_size=rows, max_size=rows))
    cells = draw(st.lists(st.integers(-1, 3), min_size=rows, max_size=rows))
    radius = draw(st.sampled_from([0.0, 0.15, 0.5, 1.0]))
    floor = draw(st.sampled_from([0.0, 1.0, 2.5]))
    values = np.array(values, dtype=float).reshape(rows, columns)
    return values, np.array(cells), np.full(columns, radius), np.full(columns, floor)


@given(tables())
@examples(60)
def test_cover_counts_and_sums_like_the_matrix(table):
    values, cells, radius, floor = table
    low, high = balls.bounds(values, radius, floor)
    matrix = close(values, low, high, cells) & (cells >= 0)[:, None]
    size = np.array([9, 40, 31, 2, 1])
    for order in (1, 2, 3):
        result = balls.cover(values, cells, size=size, order=np.full(5, order), radius=radius, floor=floor)
        shares = [missed(size[cell], cover, order) for cell, cover in zip(cells, matrix.sum(axis=0), strict=True)]
        part = cells >= 0
        assert (result.within == matrix.sum(axis=1)).all()
        np.testing.assert_allclose(result.inside[part], (matrix @ shares)[part], rtol=0, atol=1e-12)
        totals = np.bincount(cells[part], np.array(shares)[part], minlength=5)
        np.testing.assert_allclose(result.total, totals, rtol=0, atol=1e-12)


@given(tables(), st.randoms(use_true_random=False))
@examples(50)
def test_count_within_counts_points_of_another_table(table, random):
    values, cells, radius, floor = table
    points = values[random.choices(range(len(values)), k=17)] + random.choice([0, 1])
    point_cells = np.array(random.choices([-1, 0, 1, 2, 3], k=17))
    low, high = balls.bounds(values, radius, floor)
    inside = ((points[None] >= low[:, None]) & (points[None] <= high[:, None])).all(axis=2)
    expected = (inside & (cells[:, None] == point_cells[None]) & (cells >= 0)[:, None]).sum(axis=1)
    around = balls.sort_cells(values, balls.group(cells, 4))
    found = balls.group(point_cells, 4)
    assert (balls.count_within([points, points], found, low, high, around) == expected).all()


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_threads_and_one_thread_agree(columns, monkeypatch):
    rng = np.random.default_rng(3)
    values = rng.lognormal(3, 1, (3000, columns)).round(1)
    cells = rng.integers(0, 7, 3000)
    arguments = {
        "size": np.bincount(cells),
        "order": np.full(7, 2),
        "radius": np.full(columns, 0.2),
        "floor": np.zeros(columns),
    }
    results = []
    for small, workers in ((10**9, 1), (1, 3)):
        monkeypatch.setattr(balls, "_SMALL", small)
        monkeypatch.setattr(balls, "workers", lambda number=workers: number)
        results.append(balls.cover(values, cells, **arguments))
    assert (results[0].within == results[1].within).all()
    assert (results[0].inside == results[1].inside).all()
    assert (results[0].total == results[1].total).all()


@pytest.mark.linux
def test_threads_are_made_anew_in_a_fork():
    code = (
        "import os, numpy as np; from molehill.risk import balls; balls._SMALL = 1; balls.workers = lambda: 2\n"
        "def run(): return balls.cover(np.arange(9.).reshape(-1, 1), np.arange(9) % 3, size=np.full(3, 3), "
        "order=np.ones(3, int), radius=np.zeros(1), floor=np.zeros(1)).within.sum()\n"
        "run(); child = os.fork()\n"
        "if child == 0: os._exit(0 if run() == 9 else 1)\n"
        "assert os.waitpid(child, 0)[1] == 0"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=1500)


def test_group_lists_every_record_once():
    grouped = balls.group(np.array([2, -1, 0, 2, 0]), 4)
    assert grouped.starts.tolist() == [0, 2, 2, 4, 4]
    assert grouped.records.tolist() == [2, 4, 0, 3]


def test_ball_is_closed_and_uses_the_size_of_negative_values():
    low, high = balls.bounds(np.array([[-100.0], [0.0], [10.0]]), np.array([0.2]), np.array([5.0]))
    assert low[:, 0].tolist() == [-120.0, -5.0, 5.0]
    assert high[:, 0].tolist() == [-80.0, 5.0, 15.0]
