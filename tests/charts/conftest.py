"""What tests of charts share: an evaluation of a few baselines, every chart of it, and charts as what can be read."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from html import unescape
from typing import Any

import numpy as np
import pandas as pd
import pytest
from altair.utils.schemapi import debug_mode

from molehill.charts import (
    densities,
    draw_svg,
    ecdfs,
    estimate_intervals,
    group_spread,
    level_shares,
    measure_map,
    radius_lines,
    risk_histogram,
    risk_scatter,
    risk_utility_map,
    risk_violins,
    search_map,
    shape_curve,
    specify,
    weights_scatter,
)
from molehill.evaluation.evaluation import evaluate
from molehill.evaluation.options import EvaluationOptions
from molehill.risk.intruder import Intruder
from molehill.risk.profile import count_bins
from molehill.sdc_methods import add_noise, swap_ranks, topcode
from molehill.tables.populations import consumer_survey

NASTY = {
    "topcoding": "<script>alert('x')</script>",
    "noise": 'a.b[0]"\n\u202e=cmd|x',
    "swapping": "y" * 10_000,
    "income": "in.co[me]<b>\n" + "合成" * 2_000,
}


LEVELS = ("owner <b>", "tenant")


@dataclass(frozen=True)
class Drawn:
    """A chart's specification and, once a test looks at it, its drawing."""

    specification: dict[str, Any]

    @cached_property
    def svg(self) -> str:
        return draw_svg(self.specification)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Rows of every dataset."""
        return [row for rows in self.specification["datasets"].values() for row in rows]

    @property
    def parts(self) -> Iterator[dict[str, Any]]:
        """Every object inside the specification but its data."""
        return _parts_of(self.specification)

    @property
    def texts(self) -> list[str]:
        """Texts that are drawn."""
        return [unescape(text) for text in re.findall("<(?:text|tspan)[^>]*>([^<]*)</", self.svg)]

    @property
    def subtitle(self) -> str:
        return " ".join(self.specification["title"]["subtitle"])

    def data_with(self, field) -> Any:
        """Rows that have a field."""
        return pd.DataFrame([row for row in self.rows if field in row])


def _parts_of(node):
    if isinstance(node, dict):
        yield node
        for key, child in node.items():
            if key != "datasets":
                yield from _parts_of(child)
    elif isinstance(node, list):
        for child in node:
            yield from _parts_of(child)


def _draw(chart):
    return Drawn(specify(chart, validate=False))


@pytest.fixture(scope="session")
def draw():
    """Specify a variant of a chart: `charts` has the same form, and checks it against the schema."""
    return _draw


@pytest.fixture(scope="session")
def data():
    return consumer_survey(n=240, seed=1)


@pytest.fixture(scope="session")
def released(data):
    return {
        "topcoding": topcode(data, "income"),
        "noise": [add_noise(data, "income", scale=0.1, seed=seed) for seed in range(3)],
        "swapping": [swap_ranks(data, "income", window=0.1, seed=seed) for seed in range(3)],
    }


@pytest.fixture(scope="session")
def evaluation(data, released):
    intruder = Intruder(known=["gender", "age"], sensitive="income", radius=0.2)
    return evaluate(
        data, released, intruder, EvaluationOptions(reference="noise", step=0.2, propensity_methods=(), groups="urban")
    )


@pytest.fixture(scope="session")
def expected(evaluation):
    """The same with expected risks, as posteriors would add them: those of the releases without their error."""
    known = ~evaluation.records["scheme"].isin(["confidential", "topcoding"])
    records = evaluation.records.assign(
        expected_risk=evaluation.records["risk"].where(known), expected_error=np.where(known, 0.01, np.nan)
    )
    return replace(evaluation, records=records)


@pytest.fixture(scope="session")
def bins():
    return {"order 1": count_bins(np.linspace(0, 1, 50)), "<script>alert(1)</script>": count_bins(np.zeros(9))}


@pytest.fixture(scope="session")
def points():
    """Three points of a search: the first misses a target."""
    number = np.arange(3)
    risk = {"mean_expected_risk": 0.21357 - number / 100, "mean_expected_risk_error": 0.001}
    loss = {"U_m": 0.03579 + number / 100, "U_m_error": 0.0005}
    schemes = [f"{name}, membership prior" for name in ("unweighted", "pairwise, shift 0.5", "pairwise")]
    return pd.DataFrame({"point": number, "scheme": schemes, "met": number > 0, **risk, **loss})


@pytest.fixture(scope="session")
def baselines():
    """What agencies do today, beside the points."""
    measures = ("scheme", "risk", "risk_low", "risk_high", "U_m", "U_m_low", "U_m_high")
    unknown = float("nan")
    rows = [
        ("confidential", 0.9, *[unknown] * 5),
        ("topcoding", 0.8, unknown, unknown, 0.02, unknown, unknown),
        ("noise, 10% of the sd", 0.5, 0.48, 0.52, 0.05, 0.04, 0.06),
    ]
    return pd.DataFrame(rows, columns=measures)


def _with_levels(evaluation):
    """The same as if the column were a category: two levels, of which the first grows by a tenth in the releases."""
    rows = evaluation.shapes.drop_duplicates(["scheme", "column"]).assign(by="", group="", curve="level", at=np.nan)
    first = np.where(rows["scheme"] == "confidential", 0.6, 0.7)
    parts = [rows.assign(level=LEVELS[0], value=first), rows.assign(level=LEVELS[1], value=1 - first)]
    return replace(evaluation, shapes=pd.concat(parts, ignore_index=True))


class Charts(Mapping[str, Drawn]):
    """Charts by their names, each specified when a test first asks for it."""

    def __init__(self, makers: Mapping[str, Callable[[], Any]], *, validate: bool) -> None:
        self._makers, self._validate, self._made = makers, validate, {}

    def __getitem__(self, name: str) -> Drawn:
        if name not in self._made:
            with debug_mode(arg=self._validate):
                self._made[name] = Drawn(specify(self._makers[name](), validate=self._validate))
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


def _all_charts(data, released, evaluation, expected, search, bins):
    column = next(name for name in data if name not in {"gender", "age"} and data[name].dtype.kind in "if")
    names, weights = list(evaluation.schemes), np.linspace(0, 1, len(data))
    return {
        "histogram": lambda: risk_histogram(bins),
        "violins": lambda: risk_violins(evaluation),
        "expected violins": lambda: risk_violins(expected, measure="expected"),
        "scatter": lambda: risk_scatter(evaluation, names[2], names[1]),
        "expected scatter": lambda: risk_scatter(expected, names[2], names[1]),
        "intervals": lambda: estimate_intervals(evaluation),
        "map": lambda: risk_utility_map(evaluation),
        "any two": lambda: measure_map(evaluation, "overlap", "matches_true"),
        "search": lambda: search_map(*search, fresh=0.0311, chosen=1, column=column),
        "radii": lambda: radius_lines(evaluation, radius=0.2),
        "densities": lambda: densities(data, released, column),
        "ecdfs": lambda: ecdfs(data, released, column),
        "weights": lambda: weights_scatter(weights, data[column], column=column),
        "tail": lambda: shape_curve(evaluation, column, names[1], curve="above"),
        "density by group": lambda: shape_curve(evaluation, column, names[1], curve="density", by="gender"),
        "within groups": lambda: group_spread(evaluation, column, names[1]),
        "levels": lambda: level_shares(_with_levels(evaluation), column, names[1]),
        "weights by scheme": lambda: weights_scatter(dict.fromkeys(names[:2], weights), data[column], column=column),
    }


@pytest.fixture(scope="session")
def charts(data, released, evaluation, expected, points, baselines, bins):
    """Every chart, checked against the schema of Vega-Lite."""
    made = _all_charts(data, released, evaluation, expected, (points, baselines), bins)
    return Charts(made, validate=True)


def _rename(frame):
    """Make the names in a frame as bad as names can be."""
    frame = frame.assign(scheme=[NASTY.get(name, name) for name in frame["scheme"]])
    texts = [name for name in ("column", "of", "name") if name in frame]
    return frame.assign(**{name: frame[name].str.replace("income", NASTY["income"], regex=False) for name in texts})


@pytest.fixture(scope="session")
def nasty_charts(data, released, evaluation, expected, points, baselines, bins):
    about = {"income": NASTY["income"]}
    tables = {
        NASTY[name]: [table.rename(columns=about) for table in tables]
        if isinstance(tables, list)
        else tables.rename(columns=about)
        for name, tables in released.items()
    }
    worse, worse_expected = (
        replace(one, **{name: _rename(getattr(one, name)) for name in ("risk", "utility", "records", "shapes")})
        for one in (evaluation, expected)
    )
    search = (points.assign(scheme=[*list(NASTY.values())[:2], "x"]), _rename(baselines))
    # As charts of the same form are checked against the schema, these are not.
    made = _all_charts(data.rename(columns=about), tables, worse, worse_expected, search, bins)
    return Charts(made, validate=False)
