"""What is typed, turned into arguments: nothing takes the place of something else in silence."""

import io
import re

import pandas as pd
import pytest
from rich.console import Console

from molehill.cli import terminal
from molehill.cli.terminal import hashing_bar, parse_bounds, parse_breaks, parse_kinds, parse_pairs, read_releases
from molehill.errors import InputError


@pytest.fixture
def files(tmp_path):
    """Three tables that can be told apart."""
    paths = [tmp_path / f"{name}.csv" for name in "abc"]
    for number, path in enumerate(paths):
        pd.DataFrame({"pay": [number + 0.5, 7.5]}).to_csv(path, index=False)
    return paths


def test_a_name_is_given_once():
    for call, given in (
        (parse_breaks, ["age=25,35", "age=40"]),
        (parse_bounds, ["membership_distance=off", "a=1,2", "a=1,2"]),
        (parse_kinds, ["pay=count", "pay=continuous"]),
        (lambda texts: parse_pairs(texts, "compare", "x=y"), ["a=1", "b=2", "a=1"]),
    ):
        with pytest.raises(InputError, match=r"'(age|pay|a)' is given more than once. Give it once"):
            call(given)
    assert parse_breaks(["age=25,35", "size=2"]) == {"age": [25.0, 35.0], "size": [2.0]}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("matches_tru=0.1,0.2", "there is no measure 'matches_tru'. Did you mean 'matches_true'"),
        ("matches_true=0.1,0.2,0.3", "more than two thresholds"),
        ("matches_true=low", "amber of 'matches_true' is not a number"),
        ("matches_true=nan", "amber of 'matches_true' is not a number"),
        ("matches_true=,", "neither a table"),
        ("matches_true", "not of the form NAME=..."),
    ],
)
def test_bounds_that_cannot_be_are_told(given, words):
    with pytest.raises(InputError, match=r"^threshold: ") as caught:
        parse_bounds([given])
    assert words in str(caught.value)


def test_either_bound_may_be_left_out():
    assert parse_bounds(["matches_true=,0.1", "membership_distance=0.65", "closer_to_participants=0.6,never"]) == {
        "matches_true": {"red": 0.1},
        "membership_distance": {"amber": 0.65},
        "closer_to_participants": {"amber": 0.6, "red": "never"},
    }


@pytest.mark.parametrize("name", ["released", "confidential"])
def test_another_release_cannot_take_the_place_of_the_tables_themselves(files, name):
    with pytest.raises(InputError, match=f"compare: {name!r} is taken. Choose another name"):
        read_releases(files[:1], [f"{name}={files[1]}"], None, {})


def test_every_release_is_read_under_its_own_name(files):
    found = read_releases(files[:2], [f"topcoded={files[2]}"], None, {})
    values = {name: [table.frame["pay"][0] for table in tables] for name, tables in found.items()}
    assert values == {"released": [0.5, 1.5], "topcoded": [2.5]}
    with pytest.raises(InputError, match=re.escape("'topcoded' is given more than once")):
        read_releases(files[:1], [f"topcoded={files[1]}", f"topcoded={files[2]}"], None, {})


@pytest.mark.parametrize(("patience", "shown"), [(-1.0, True), (3600.0, False)])
def test_a_bar_is_shown_only_where_hashing_takes_long(patience, shown, monkeypatch):
    said = io.StringIO()
    monkeypatch.setattr(terminal, "_PATIENCE", patience)
    monkeypatch.setattr(terminal, "Console", lambda **_: Console(file=said, force_terminal=True, width=100))
    with hashing_bar() as advance:
        advance(50, 100)
        advance(100, 100)
    assert ("Reading the files" in said.getvalue()) == shown
    assert shown or said.getvalue() == ""
