"""The scorecard of a release: for every family of measures a colour in words, the rule that makes it so, and why.

There is no score: a board that weighs one family against another must say so itself. The bounds are ours. They are
meant to be argued with: `score(evaluation, rules=...)` takes others.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from molehill.evaluation.telling import cut_name, list_figures, significant

if TYPE_CHECKING:
    from molehill.evaluation.evaluation import Evaluation

# Where a figure becomes a remark of the verdict, or colours a family here; docs/review-boards.md says why.
RISK_STEP = 0.05
# Medians over the tables predict from the kept columns, as anybody can from one table: some rise is no surprise.
POOLED_STEP = 0.1
HIGH_RISK, ABOVE_HIGH = 0.8, "above_80"
UNPROTECTED = 0.5
# Mean risk of those who stand out most; the floor of a typical record is about a tenth.
STANDING_OUT = {"isolated_mean": "the most isolated 1%", "largest_mean": "the largest 1%"}
EXPOSED, GIVEN_AWAY = 0.2, 0.5
LOW_OVERLAP = 0.5
FAR = 2.0
TELLABLE = 3.0
# How often tables lie nearer to who was in the data: half is no sign of it. docs/columns.md has what was measured.
SHOWN, REPEATED = 0.6, 0.75
# Ratios to the confidential table, in either direction: beyond the first to be decided on, beyond the second absurd.
SPREAD = {"spread_ratio": (1.25, 2.0), "tail_ratio": (1.25, 1.75)}
REACH = (4.0, 10.0)

Colour = Literal["green", "amber", "red", "not judged"]
COLOURS: tuple[Colour, ...] = ("not judged", "green", "amber", "red")


@dataclass(frozen=True)
class Rule:
    """When a measure makes its family amber, and when red.

    Attributes
    ----------
    family
        The family that it is about.
    measure
        The id of the measure; of several figures, such as one for every column, the worst counts.
    amber, red
        From here on.
    words
        What the measure is, in a few words.
    beyond
        What would be no sign at all. A figure whose interval reaches it counts as that.
    take
        "worst" of the figures; "mean" of them, which is better the higher; "ratio", of the worst in either direction.
    at
        What a figure is at, with {} for the number: "by {} column(s)".
    """

    family: str
    measure: str
    amber: float
    red: float
    words: str
    beyond: float | None = None
    take: Literal["worst", "mean", "ratio"] = "worst"
    at: str = ""

    def __str__(self) -> str:
        side = "below" if self.red < self.amber else "from"
        red = "never red" if np.isinf(self.red) else f"red {side} {self.red:g}"
        told = f"{self.words}: amber {side} {self.amber:g}, {red}"
        return told if self.beyond is None else f"{told}, if its interval lies above {self.beyond:g}"


@dataclass(frozen=True)
class Score:
    """What is said of a family: its colour, why, and the rules that were asked."""

    family: str
    colour: Colour
    why: str
    rules: tuple[str, ...]


IDENTITY, ATTRIBUTE = "identity", "attribute"
SINGLING_OUT, LINKABILITY, INFERENCE = "singling out", "linkability", "inference"
MEMBERSHIP, RECONSTRUCTION, CONSISTENCY, UTILITY = "membership", "reconstruction", "consistency", "utility"
# What a release adds to what is known of a kind of people, as a share of what is left to be learned.
_RISK, _HIGH_RISK = 0.1, 0.3
COLUMNS_AT, TABLES_AT = "by {} column(s)", "from {} table(s)"
RULES: Sequence[Rule] = (
    Rule(IDENTITY, "matches_true", 0.01, 0.05, "records matched uniquely and rightly"),
    Rule(IDENTITY, "isolated_mean", EXPOSED, GIVEN_AWAY, "mean risk of the most isolated 1%"),
    Rule(IDENTITY, "replicated_uniques", 0.01, 0.1, "people alone in the known columns, released as such"),
    Rule(ATTRIBUTE, "guess_right_gain", 0.05, 0.2, "right guesses that are owed to the person's own record"),
    Rule(ATTRIBUTE, "alike_gain", 0.05, 0.2, "right guesses beyond what other people would tell"),
    Rule(ATTRIBUTE, "disclosive_risk", _RISK, _HIGH_RISK, "people given away beyond the control", 0.0),
    Rule(
        SINGLING_OUT,
        "singling_out_risk",
        _RISK,
        _HIGH_RISK,
        "people singled out beyond the control",
        0.0,
        at=COLUMNS_AT,
    ),
    Rule(LINKABILITY, "linkability_risk", _RISK, _HIGH_RISK, "people linked beyond the control", 0.0),
    Rule(INFERENCE, "inference_risk", _RISK, _HIGH_RISK, "secrets guessed beyond the control", 0.0),
    Rule(MEMBERSHIP, "members", SHOWN, REPEATED, "tables nearer to who was in the data", 0.5),
    Rule(MEMBERSHIP, "closest_records", SHOWN, REPEATED, "released records nearer to who was in the data", 0.5),
    # An upper bound, of one who knows everybody else: it warns, and condemns nothing.
    Rule(MEMBERSHIP, "advantage_random", 0.5, np.inf, "advantage, at most, of who knows everybody else", at=TABLES_AT),
    Rule(RECONSTRUCTION, "reconstruction_gain", 0.1, 0.5, "a kept column guessed right, owed to the own record"),
    Rule(CONSISTENCY, "new_pairs_ratio", 1.5, 5.0, "pairs of values that nobody has, over those of a fresh sample"),
    Rule(CONSISTENCY, "reach_ratio", *REACH, "how far out the extremes lie, over those collected"),
    Rule(CONSISTENCY, "small_cells_gain", _RISK, _HIGH_RISK, "cells of one or two, found again beyond chance", 0.0),
    # What shows that values were made warns: whoever publishes them says so anyway.
    Rule(CONSISTENCY, "round_gap", 0.1, np.inf, "share of round values, from that of the data"),
    Rule(CONSISTENCY, "off_unit", 0.01, np.inf, "values written as nobody's are"),
    Rule(CONSISTENCY, "dates_gap", 0.05, np.inf, "share of dates on a day, from that of the data"),
    Rule(CONSISTENCY, "broken_more", 0.001, 0.01, "records that break a rule, beyond the confidential ones"),
    Rule(UTILITY, "overlap", LOW_OVERLAP, LOW_OVERLAP / 2, "mean overlap of the intervals of estimates", take="mean"),
    Rule(UTILITY, "spread_ratio", *SPREAD["spread_ratio"], "standard deviation over the confidential", take="ratio"),
    Rule(UTILITY, "tail_ratio", *SPREAD["tail_ratio"], "reach of the tails over the confidential", take="ratio"),
    Rule(UTILITY, "pmse_ratio", TELLABLE, 10.0, "how well a classifier tells released records, over chance"),
)
_NEEDS_CONTROL = (SINGLING_OUT, LINKABILITY, INFERENCE, MEMBERSHIP)


def score(evaluation: "Evaluation", scheme: str | None = None, rules: Sequence[Rule] = RULES) -> list[Score]:
    """Say of every family how a release stands; by default of the first one."""
    name = scheme or evaluation.schemes[0]
    families = dict.fromkeys(rule.family for rule in rules)
    return [_score(evaluation, name, family, [rule for rule in rules if rule.family == family]) for family in families]


def _score(evaluation: "Evaluation", scheme: str, family: str, rules: Sequence[Rule]) -> Score:
    found = [one for rule in rules for one in _judge(evaluation, scheme, rule)]
    asked = tuple(f"{rule}" for rule in rules)
    if not found:
        why = "people who were not used are needed as a control" if family in _NEEDS_CONTROL else "it was not measured"
        return Score(family, "not judged", f"Not judged: {why}.", asked)
    colour = COLOURS[max(COLOURS.index(one) for one, _ in found)]
    reasons = [why for own, why in found if own == colour]
    return Score(family, colour, f"{colour.capitalize()}: {'; '.join(reasons)}.", asked)


def _judge(evaluation: "Evaluation", scheme: str, rule: Rule) -> Iterable[tuple[Colour, str]]:
    """Judge the worst figure of a rule; nothing where there is none."""
    measures = evaluation.measures
    family = dict(zip(measures["id"], measures["family"], strict=True)).get(rule.measure)
    rows = [] if family is None else list_figures(getattr(evaluation, family), scheme, rule.measure)
    if not rows:
        return
    about = max(rows, key=lambda row: _size(row, rule))
    size = float(np.mean([row["value"] for row in rows])) if rule.take == "mean" else _size(about, rule)
    sign = -1 if rule.red < rule.amber else 1
    colour: Colour = (
        "red" if sign * size >= sign * rule.red else "amber" if sign * size >= sign * rule.amber else "green"
    )
    several = len({row["column"] for row in rows}) > 1 and rule.take != "mean"
    words = f"{rule.words}, {cut_name(about['column'])}" if several else rule.words
    words += "" if np.isnan(about["at"]) or not rule.at else ", " + rule.at.format(f"{about['at']:g}")
    # A figure within its error of no sign is none, whatever its size.
    if rule.beyond is not None and not about["low"] > rule.beyond:
        yield "green", f"{words}: {significant(about['value'])} (no sign: its interval holds {rule.beyond:g})"
        return
    shown = size if rule.take == "mean" else about["value"]
    yield colour, f"{words}: {significant(shown)} ({_bound(rule, colour)})"


def _size(row: dict[Any, Any], rule: Rule) -> float:
    """How bad a figure is; one whose interval reaches no sign is no worse than that."""
    value = float(row["value"])
    if rule.take == "ratio":
        return max(value, 1 / value if value else np.inf)
    return rule.beyond if rule.beyond is not None and not row["low"] > rule.beyond else value


def _bound(rule: Rule, colour: Colour) -> str:
    passed = "below" if rule.red < rule.amber else "from"
    if colour == "green":
        return f"amber {passed} {rule.amber:g}"
    return f"{colour} {passed} {rule.red if colour == 'red' else rule.amber:g}"
