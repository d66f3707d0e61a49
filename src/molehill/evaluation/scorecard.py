"""The scorecard of a release: for every family of measures a colour in words, the rule that makes it so, and why.

There is no score: a board that weighs one family against another must say so itself. The bounds are ours, and meant to
be argued with: an agency sets others in its settings, and what it set is marked wherever it is told.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import pandas as pd

from molehill.arrays import FrozenDict
from molehill.errors import InputError, nearest
from molehill.evaluation.catalogue import MEASURES
from molehill.evaluation.measure import CONFIDENTIAL, Measure, MeasureFamily, RiskType, Threshold
from molehill.evaluation.telling import cut_name, list_figures, significant
from molehill.tables.intervals import Figure

if TYPE_CHECKING:
    from molehill.evaluation.evaluation import Evaluation

# Where a figure becomes a remark of the recommendation; docs/review-boards.md says why. What the scorecard asks as well
# is the threshold of a measure: the recommendation takes it from there, so that it is the agency's where it set one.
RISK_STEP = 0.05
# Medians over the tables predict from the kept columns, as anybody can from one table: some rise is no surprise.
POOLED_STEP = 0.1
HIGH_RISK, ABOVE_HIGH = 0.8, "above_80"
UNPROTECTED = 0.5
STANDING_OUT = {"isolated_mean": "the most isolated 1%", "largest_mean": "the largest 1%"}
FAR = 2.0

Colour = Literal["green", "amber", "red", "not judged"]
COLOURS: tuple[Colour, ...] = ("not judged", "green", "amber", "red")


@dataclass(frozen=True)
class Rule(Threshold):
    """The threshold of a measure as it is in force.

    Attributes
    ----------
    measure
        The id of the measure; of several figures, such as one for every column, the worst counts.
    asked
        False if the agency turned it off.
    ours
        Our bounds in words where the agency set others, or turned ours off.
    """

    measure: str = ""
    asked: bool = True
    ours: str = ""

    @property
    def side(self) -> Literal["below", "from"]:
        """Which way it gets worse."""
        return "below" if self.red < self.amber else "from"

    @property
    def bounds(self) -> str:
        """Both bounds in words."""
        red = "never red" if np.isinf(self.red) else f"red {self.side} {self.red:g}"
        return f"amber {self.side} {self.amber:g}, {red}"

    def colour(self, value: float) -> "Colour":
        """Give the colour of a value; of a ratio, in either direction."""
        size = max(value, 1 / value if value else np.inf) if self.take == "ratio" else value
        sign = -1 if self.side == "below" else 1
        return "red" if sign * size >= sign * self.red else "amber" if sign * size >= sign * self.amber else "green"

    def __str__(self) -> str:
        words = self.words.replace("{of}", "...").replace("{at}", "...")
        told = f"{words}: {self.bounds if self.asked else 'not asked'}"
        told += "" if self.null is None or not self.asked else f", if its interval lies above {self.null:g}"
        told += ", beyond what correct releases of the variable show" if self.benchmark and self.asked else ""
        return f"{told} ({self.whose})" if self.ours else told

    @property
    def whose(self) -> str:
        """Say that the agency set it, and what ours would be."""
        return f"set by the agency; ours: {self.ours}"


@dataclass(frozen=True)
class Score:
    """What is said of a family: its colour, why, and the rules that were asked."""

    family: str
    colour: Colour
    why: str
    rules: tuple[str, ...]


IDENTITY, ATTRIBUTE, MEMBERSHIP, UTILITY = "identity", "attribute", "membership", "utility"
FAMILIES: tuple[RiskType, ...] = get_args(RiskType)


def rule_of(measure: Measure) -> Rule | None:
    """Give the rule of a measure that has a threshold."""
    own = measure.threshold
    if own is None:
        return None
    return Rule(**{**vars(own), "words": own.words or label_in_block(measure)}, measure=measure.id)


def label_in_block(measure: Measure) -> str:
    """Give the label of a measure with its block: beside others of its block, the label may say too little."""
    title = measure.title
    return f"{measure.label} ({title[:1].lower()}{title[1:]})" if title else measure.label


def list_thresholds(measures: Sequence[Measure]) -> tuple[Rule, ...]:
    """Give the rules of measures, risk type by risk type."""
    found = [rule for rule in map(rule_of, measures) if rule is not None]
    return tuple(sorted(found, key=lambda rule: FAMILIES.index(rule.family)))


# The rules of the measures that ship.
RULES = list_thresholds(MEASURES)
_NEEDS_CONTROL = ("singling out", "linkability", "inference", MEMBERSHIP)
# Families whose attacks must succeed on the confidential table itself, or tell nothing.
_OF_PEOPLE = (IDENTITY, ATTRIBUTE, *_NEEDS_CONTROL)
_WEAK = "So would the confidential table itself be: with what the intruder knows, this finds too few to tell."
_NEAREST = "By the closest record alone, which proves little."
OFF, NEVER = "off", "never"
_EXAMPLE = "matches_true = { amber = 0.02, red = 0.1 }"


def read_bounds(given: Any, argument: str = "thresholds") -> FrozenDict:
    """Take the bounds that an agency sets, by measure: a table of amber, red and family, or "off".

    Of a rule of ours what is not named stays as it is. Whether there is such a measure, `set_rules` asks.

    Examples
    --------
    >>> read_bounds({"matches_true": {"red": 0.1}, "closest_records": "off"})
    {'matches_true': {'red': 0.1}, 'closest_records': 'off'}
    """
    if not isinstance(given, Mapping):
        raise InputError(argument, "it is not a table of bounds by measure", f"Write for instance {_EXAMPLE}")
    ours = {rule.measure: rule for rule in RULES}
    taken = {}
    for name, entry in given.items():
        taken[name] = OFF if entry == OFF else FrozenDict(_read_entry(f"{name}", entry, argument))
        if name in ours:
            _merge(ours[name], taken[name], argument)
        elif taken[name] == OFF or not {"amber", "red"} <= set(taken[name]):
            problem = f"{name!r} is no rule of ours, so that both amber and red are needed"
            raise InputError(argument, problem, nearest(f"{name}", list(ours)))
    return FrozenDict(taken)


def _read_entry(name: str, entry: Any, argument: str) -> dict[str, Any]:
    parts = ("amber", "red", "family")
    if not isinstance(entry, Mapping) or not entry:
        problem = f'{name!r} is neither a table of amber and red nor "{OFF}"'
        raise InputError(argument, problem, f"Write for instance {_EXAMPLE}")
    for part, value in entry.items():
        if part not in parts:
            raise InputError(argument, f"{name!r} has no {part!r}", nearest(f"{part}", parts))
        if part == "family":
            if value not in FAMILIES:
                raise InputError(argument, f"{name!r}: there is no such family", nearest(f"{value}", FAMILIES))
        elif not (part == "red" and value == NEVER) and not _is_bound(value):
            also = f', or "{NEVER}"' if part == "red" else ""
            problem = f"{part} of {name!r} is not a number from 0 up"
            raise InputError(argument, problem, f"Give a number such as 0.05{also}")
    return dict(entry)


def _is_bound(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < np.inf


def tell_bounds(bounds: Mapping[str, Any]) -> str:
    """Tell the bounds that an agency set, by the ids of their measures.

    Examples
    --------
    >>> tell_bounds({"matches_true": {"red": 0.1}, "closest_records": "off"})
    'matches_true (red 0.1), closest_records (off)'
    """
    told = {
        name: OFF if entry == OFF else ", ".join(f"{part} {value}" for part, value in entry.items())
        for name, entry in bounds.items()
    }
    return ", ".join(f"{name} ({words})" for name, words in told.items())


def set_rules(bounds: Mapping[str, Any], measures: Sequence[Measure], argument: str = "thresholds") -> tuple[Rule, ...]:
    """Give the rules in force: ours with the bounds that an agency set, and those that it added for other measures."""
    about = {one.id: one for one in measures}
    for name, entry in bounds.items():
        if name not in about:
            raise InputError(argument, f"there is no measure {name!r}", nearest(name, sorted(about)))
        highest = max((entry[part] for part in ("amber", "red") if _is_bound(_of(entry, part))), default=0)
        if about[name].unit == "share" and highest > 1:
            problem = f"{name!r} is a share, and its bounds lie between 0 and 1"
            raise InputError(argument, problem, "Give 0.05 for 5%")
    ours = list_thresholds(list({one.id: one for one in (*MEASURES, *measures)}.values()))
    rules = [_merge(rule, bounds.get(rule.measure, {}), argument) for rule in ours]
    known = {rule.measure for rule in ours}
    added = {name: entry for name, entry in bounds.items() if name not in known}
    return (*rules, *(_add(about[name], entry, about, argument) for name, entry in added.items()))


def _of(entry: Any, part: str) -> Any:
    return entry.get(part) if isinstance(entry, Mapping) else None


def _merge(rule: Rule, entry: Any, argument: str) -> Rule:
    """Give a rule of ours as an agency wants it."""
    if entry == OFF:
        return replace(rule, asked=False, ours=rule.bounds)
    if "family" in entry:
        problem = f"{rule.measure!r} is a rule of the family {rule.family}"
        raise InputError(argument, problem, "Leave its family out")
    falls = rule.side == "below"
    never = -np.inf if falls else np.inf
    taken = {part: never if value == NEVER else float(value) for part, value in entry.items()}
    changed = replace(rule, **taken)
    if rule.null is not None and not falls:
        # What the agency calls amber is a sign.
        changed = replace(changed, null=min(rule.null, changed.amber))
    _check_sides(changed, argument, falls=falls)
    same = (changed.amber, changed.red) == (rule.amber, rule.red)
    return rule if same else replace(changed, ours=rule.bounds, unless="", benchmark="")


def _add(measure: Measure, entry: Mapping[str, Any], about: Mapping[str, Measure], argument: str) -> Rule:
    """Make a rule of a measure that ours do not ask; in the family of what is nearest to it if none is said."""
    falls = measure.better == "higher" or (
        not measure.better and entry["red"] != NEVER and entry["red"] < entry["amber"]
    )
    alike = [rule.family for rule in RULES if rule.measure in about and _is_near(about[rule.measure], measure)]
    family: Any = entry.get("family") or next(iter(alike), UTILITY if measure.family == "utility" else IDENTITY)
    red = float(entry["red"]) if entry["red"] != NEVER else -np.inf if falls else np.inf
    words = label_in_block(measure)
    rule = Rule(family, float(entry["amber"]), red, words, measure=measure.id, ours="none")
    _check_sides(rule, argument, falls=falls)
    return rule


def _is_near(one: Measure, other: Measure) -> bool:
    return one.title == other.title or (one.part_of == other.part_of != "")


def _check_sides(rule: Rule, argument: str, *, falls: bool) -> None:
    if rule.red == rule.amber or (rule.red < rule.amber) != falls:
        side, better = ("below", "higher") if falls else ("above", "lower")
        problem = f"red of {rule.measure!r} does not lie {side} amber, though {better} is better"
        raise InputError(argument, problem, f"Put red {side} amber; what is not named keeps our bound")


def describe_rules(rules: Sequence[Rule] = RULES) -> pd.DataFrame:
    """Give rules as a frame, one row a rule, by which an evaluation that was saved is judged again."""
    names = [each.name for each in fields(Rule)]
    return pd.DataFrame([[getattr(rule, name) for name in names] for rule in rules], columns=names).astype(
        {"null": float}
    )


def list_rules(evaluation: "Evaluation") -> tuple[Rule, ...]:
    """Give the rules by which an evaluation is judged."""
    # Column by column: a verdict asks several times, and rows of a frame as dictionaries take ten times as long.
    columns: Any = {name: evaluation.rules[name].tolist() for name in evaluation.rules}
    columns["null"] = [None if np.isnan(value) else value for value in columns["null"]]
    return tuple(Rule(**dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True))


def asked_rules(evaluation: "Evaluation") -> dict[str, Rule]:
    """Give the rules that are asked, by their measure."""
    return {rule.measure: rule for rule in list_rules(evaluation) if rule.asked}


def score(evaluation: "Evaluation", scheme: str | None = None, rules: Sequence[Rule] | None = None) -> list[Score]:
    """Say of every family how a release stands, by default of the first one, by the rules of the evaluation."""
    name, taken = scheme or evaluation.schemes[0], list_rules(evaluation) if rules is None else rules
    families = dict.fromkeys(rule.family for rule in taken)
    return [_score(evaluation, name, family, [rule for rule in taken if rule.family == family]) for family in families]


def _score(evaluation: "Evaluation", scheme: str, family: str, rules: Sequence[Rule]) -> Score:
    found = [one for rule in rules if rule.asked for one in judge_rule(evaluation, scheme, rule)]
    told = tuple(f"{rule}" for rule in rules)
    if not found:
        why = "people who were not used are needed as a control" if family in _NEEDS_CONTROL else "it was not measured"
        why = why if any(rule.asked for rule in rules) else "the agency turned its rules off"
        return Score(family, "not judged", f"Not judged: {why}.", told)
    colour = COLOURS[max(COLOURS.index(one) for one, _ in found)]
    reasons = [why for own, why in found if own == colour]
    why = f"{colour.capitalize()}: {'; '.join(reasons)}."
    if colour == "green" and family in _OF_PEOPLE:
        asked = [rule for rule in rules if rule.asked and list(judge_rule(evaluation, scheme, rule))]
        own = [list(judge_rule(evaluation, CONFIDENTIAL, rule)) for rule in asked]
        # An attack that finds nobody where everybody is, says nothing of a release.
        why += f" {_WEAK}" if all(one and one[0][0] == "green" for one in own) else ""
        why += f" {_NEAREST}" if {rule.measure for rule in asked} == {"closest_records"} else ""
    return Score(family, colour, why, told)


def judge_rule(evaluation: "Evaluation", scheme: str, rule: Rule) -> Iterable[tuple[Colour, str]]:
    """Judge the worst figure of a rule; nothing where there is none."""
    rows = _find_rows(evaluation, scheme, rule.measure)
    # One that says more is asked in its place, if it is.
    instead = _find_rows(evaluation, scheme, rule.unless) if rows and rule.unless else []
    if not rows or (instead and rule.unless in asked_rules(evaluation)):
        return
    # The worst; before it, what chance does not explain.
    bad = [row for row in rows if rule.colour(row["value"]) != "green"]
    odd = [row for row in bad if find_chance(evaluation, scheme, rule, row) is None]
    about = max(odd or rows, key=lambda row: _badness(row, rule))
    value = float(np.mean([row["value"] for row in rows])) if rule.take == "mean" else float(about["value"])
    several = len({row["column"] for row in rows}) > 1 and rule.take != "mean"
    at = about["of"] if np.isnan(about["at"]) else f"{about['at']:g}"
    told = rule.words.replace("{at}", at).replace("{of}", f"{about['of']}")
    words = f"{told}, {cut_name(about['column'])}" if several else told
    words += "" if np.isnan(about["at"]) or not rule.at else ", " + rule.at.format(f"{about['at']:g}")
    colour = rate_figure({**about, "value": value}, rule)
    if _is_no_sign(about, rule):
        yield colour, f"{words}: {significant(value)} (no sign: its interval holds {rule.null:g})"
        return
    chance = None if colour == "green" else find_chance(evaluation, scheme, rule, about)
    if chance is not None:
        ends = " to ".join(significant(end) for end in chance[1:])
        yield "green", f"{words}: {significant(value)} (correct releases show {ends})"
        return
    yield colour, f"{words}: {significant(value)} ({_bound(rule, colour)})"


def rate_figure(row: Mapping[Any, Any], rule: Rule) -> Colour:
    """Give the colour of a figure; one within its error of no sign is no sign, whatever its size."""
    return "green" if _is_no_sign(row, rule) else rule.colour(float(row["value"]))


def find_chance(evaluation: "Evaluation", scheme: str, rule: Rule, row: Mapping[Any, Any]) -> Figure | None:
    """Give what correct releases would show in the place of a figure that lies within it; None where it does not."""
    beside = _find_rows(evaluation, scheme, rule.benchmark) if rule.benchmark else []
    for one in beside:
        if (one["column"], one["of"]) == (row["column"], row["of"]) and one["low"] <= row["value"] <= one["high"]:
            return Figure(one["value"], one["low"], one["high"])
    return None


def _find_rows(evaluation: "Evaluation", scheme: str, measure: str) -> list[dict[Any, Any]]:
    """Look up the figures of a measure that the evaluation describes; most measures have none."""
    for name in get_args(MeasureFamily):
        rows = list_figures(getattr(evaluation, name), scheme, measure)
        if rows and ((evaluation.measures["id"] == measure) & (evaluation.measures["family"] == name)).any():
            return rows
    return []


def _is_no_sign(row: Mapping[Any, Any], rule: Rule) -> bool:
    """Whether the interval of a figure holds what would be no sign at all; without one, the figure itself counts."""
    low = row["value"] if np.isnan(row["low"]) else row["low"]
    return rule.null is not None and not low > rule.null


def _badness(row: dict[Any, Any], rule: Rule) -> float:
    """How bad a figure is; one whose interval reaches no sign is no worse than that."""
    value = float(row["value"])
    if rule.take == "ratio":
        return max(value, 1 / value if value else np.inf)
    value = rule.null if rule.null is not None and _is_no_sign(row, rule) else value
    return -value if rule.side == "below" else value


def _bound(rule: Rule, colour: Colour) -> str:
    bound = f"{colour} {rule.side} {rule.red:g}" if colour == "red" else f"amber {rule.side} {rule.amber:g}"
    return f"{bound}, {rule.whose}" if rule.ours else bound
