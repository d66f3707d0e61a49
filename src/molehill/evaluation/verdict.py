"""The recommendation on a release: what stands out in its evaluation, how serious it is, and what follows from it.

No measure of the scorecard is amber or red without a remark. An amber is a point for the board. A red excludes "no
objection"; a red of identity, attribute or membership means "do not release". The thresholds are those of the
scorecard, so that they are the agency's where the agency set them.

No reason here goes away by publishing more tables of the same kind: risks are expected ones, or means over the tables,
which estimate them without bias; counts of records above a risk are of the expected risk, known from the model or, from
three tables on, estimated without the luck of the draw. Fewer tables of others cannot show that, and count as they are.
What does change with their number is what an intruder gains by combining them, which rises, and overlaps of intervals.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from molehill.evaluation.measure import CONFIDENTIAL
from molehill.evaluation.scorecard import (
    ABOVE_HIGH,
    ATTRIBUTE,
    FAR,
    HIGH_RISK,
    IDENTITY,
    MEMBERSHIP,
    POOLED_STEP,
    RISK_STEP,
    STANDING_OUT,
    UNPROTECTED,
    Colour,
    Rule,
    asked_rules,
    find_chance,
    judge_rule,
    list_rules,
    rate_figure,
)
from molehill.evaluation.telling import (
    Teller,
    as_figure,
    cut_measure,
    cut_name,
    find_figure,
    join_names,
    list_figures,
    significant,
)
from molehill.tables.intervals import Figure

if TYPE_CHECKING:
    from molehill.evaluation.evaluation import Evaluation

Weight = Literal["stop", "decide", "point", "note"]
Decision = Literal["no objection", "board decision needed", "do not release"]
# The most serious first.
WEIGHTS: tuple[Weight, ...] = ("stop", "decide", "point", "note")

# How often an intruder is right about whose record it is, which comes before every other figure.
MATCH_RATES = {"matches_true": "true match rate", "combined_match_rate": "match rate with all datasets combined"}
# What the schemes are set side by side by.
SIDE_BY_SIDE = (
    *MATCH_RATES,
    "expected_mean",
    "risk_mean",
    "isolated_mean",
    "largest_mean",
    "combined_mean",
    "membership_distance",
    "membership_distance_isolated",
    "closer_to_participants",
    "U_m",
    "U_m_combined",
    "spread_ratio",
    "tail_ratio",
    "pmse_ratio",
)
# A mean over a few estimates has no interval; less than this, on either side, is no difference.
_OVERLAP_ERROR = 0.1
# A red of these families means that people can be identified, or that something can be learned of a person.
_OF_A_PERSON = (IDENTITY, ATTRIBUTE, MEMBERSHIP)
# Spread, tails and extremes: in red, values that no user would believe.
_SHAPES = ("spread_ratio", "tail_ratio", "reach_ratio")
# Counts of records at high risk, the best one first: what each is called, and up to where it is none.
_HIGH = {
    "expected": ("an expected risk above {}", 0.0),
    "estimated": ("an expected risk above {}, estimated from the tables", 0.5),
    "risk": ("a risk above {}", 0.0),
}
# Measures with a remark of their own, by the thresholds of the scorecard.
_BY_RULE = (
    *(
        "isolated_mean",
        "largest_mean",
        "attribution_gain",
        "lookup_gain",
        "membership_distance",
        "membership_distance_isolated",
    ),
    *("overlap", "pmse_ratio", *_SHAPES),
)


@dataclass(frozen=True)
class Remark:
    """Something to look at: the section where it is, how serious it is, and the same as a clause after "because".

    A "stop" means "do not release", and a "decide" excludes "no objection"; a "point" is named in the recommendation
    and excludes nothing.
    """

    text: str
    section: str
    weight: Weight = "note"
    because: str = ""


@dataclass(frozen=True)
class Verdict:
    """What to do with a release, and why, in a sentence."""

    decision: Decision
    sentence: str


def decide(evaluation: "Evaluation", scheme: str, remarks: Sequence[Remark], teller: Teller) -> Verdict:
    """Recommend: do not release if a remark stops it, no objection if no remark needs a decision."""
    stops, opens, points = ([one.because for one in remarks if one.weight == weight] for weight in WEIGHTS[:3])
    more = f" Points for the board: {'; '.join(points)}." if points else ""
    if not stops and not opens:
        return Verdict("no objection", f"No objection: {_tell_facts(evaluation, scheme, teller)}.{more}")
    decision: Decision = "do not release" if stops else "board decision needed"
    return Verdict(decision, f"{decision.capitalize()}, because {'; '.join([*stops, *opens])}.{more}")


def judge(evaluation: "Evaluation", scheme: str | None = None) -> Verdict:
    """Judge a release by its evaluation alone; by default the first one."""
    name = scheme or evaluation.schemes[0]
    teller = Teller("internal", len(evaluation.records) // (len(evaluation.schemes) + 1))
    return decide(evaluation, name, list_findings(evaluation, name, teller), teller)


def list_findings(
    evaluation: "Evaluation", scheme: str, teller: Teller, ignoring: Collection[str] = ()
) -> list[Remark]:
    """Find what stands out in an evaluation, the gravest first.

    Parameters
    ----------
    evaluation, scheme
        Whose, and of which release.
    teller
        How numbers are told.
    ignoring
        Comparisons that cannot be relied on, as their fits have not converged.
    """
    found = [
        *remark_shape(evaluation, scheme),
        *_remark_protection(evaluation, scheme, teller),
        *_remark_beaten(evaluation, scheme, teller, ignoring),
        *_remark_risk(evaluation, scheme, teller),
        *_remark_weight(evaluation, scheme, teller),
        *_remark_new_people(evaluation, scheme, teller),
        *_remark_utility(evaluation, scheme, teller),
        *_remark_scores(evaluation, scheme, teller),
        *_remark_left_out(evaluation, teller),
    ]
    return sorted(found, key=lambda remark: WEIGHTS.index(remark.weight))


def mean_risk(evaluation: "Evaluation", scheme: str) -> Figure | None:
    """Mean expected risk of a record; the mean over the tables, which estimates it, where no model is known."""
    found = find_figure(evaluation.risk, scheme, "expected_mean")
    return find_figure(evaluation.risk, scheme, "risk_mean") if found is None else found


def list_overlaps(evaluation: "Evaluation", scheme: str) -> dict[str, float]:
    """Interval overlap of a scheme's estimates by analysis, without those within groups."""
    rows = list_figures(evaluation.utility, scheme, "overlap")
    return {row["of"]: float(row["value"]) for row in rows}


def list_gaps(evaluation: "Evaluation", scheme: str) -> list[tuple[str, Figure, Figure]]:
    """For every numeric column that is replaced, U_m and what a fresh sample would show."""
    utility = evaluation.utility
    found = [(row["column"], as_figure(row)) for row in list_figures(utility, scheme, "U_m")]
    beside = [(*gap, find_figure(utility, scheme, "U_m_benchmark", gap[0])) for gap in found]
    return [(column, gap, fresh) for column, gap, fresh in beside if fresh is not None]


def name_column(evaluation: "Evaluation", column: str) -> str:
    """Name a column where several are replaced."""
    frame = evaluation.utility
    several = frame.loc[frame["measure"].isin(["U_m", "variation", "overlap"]), "column"].nunique() > 1
    return f" of {cut_name(column)}" if several else ""


def _tell_facts(evaluation: "Evaluation", scheme: str, teller: Teller) -> str:
    """What a release gives away and what it keeps, in clauses."""
    told = []
    for measure, words in MATCH_RATES.items():
        after, before = (find_figure(evaluation.risk, name, measure) for name in (scheme, CONFIDENTIAL))
        if after is not None:
            share = "" if before is None else f" ({teller.percentage(before.value)} for the confidential data)"
            told.append(f"the {words} is {teller.percentage(after.value)}{share}")
    members = find_figure(evaluation.risk, scheme, "membership_distance")
    if members is not None:
        share = teller.percentage(members.value)
        told.append(f"tables lie nearer to who was in the data in {share} of the cases (50%: no sign)")
    overlaps = list(list_overlaps(evaluation, scheme).values())
    if overlaps:
        told.append(f"the intervals of {len(overlaps)} estimates overlap by {np.mean(overlaps):.2f} on average")
    before, after = find_figure(evaluation.risk, CONFIDENTIAL, "risk_mean"), mean_risk(evaluation, scheme)
    if before is not None and after is not None:
        risks = f"{teller.share(after.value)} ({teller.share(before.value)} for the confidential data)"
        told.append(f"the mean identification risk is {risks}")
    return ", ".join(told[:-1]) + f" and {told[-1]}" if len(told) > 1 else "".join(told) or "nothing stands out"


def _remark_scores(evaluation: "Evaluation", scheme: str, teller: Teller) -> Iterator[Remark]:
    """Measures that the scorecard rates amber or red, but for those with a remark of their own."""
    if teller.edition == "public":
        return
    rules = list_rules(evaluation)
    for rule in rules:
        if not rule.asked or rule.measure in _BY_RULE:
            continue
        for colour, why in judge_rule(evaluation, scheme, rule):
            if colour in ("amber", "red"):
                clause = f"{rule.family} is {colour}: {why}"
                yield Remark(_sentence(clause), "scorecard", weigh(rule, colour), clause)
    changed = [rule for rule in rules if rule.ours]
    if changed:
        off = sum(not rule.asked for rule in changed)
        number = len(changed) - off
        parts = [f"set {number} bound{'' if number == 1 else 's'} of its own"] if number else []
        parts += [f"turned {off} rule{'' if off == 1 else 's'} off"] if off else []
        yield Remark(f"The agency {' and '.join(parts)}: scorecard and recommendation go by that.", "scorecard")


def _remark_left_out(evaluation: "Evaluation", teller: Teller) -> Iterator[Remark]:
    """Attacks that nobody made: what they would have found, no recommendation can know."""
    if teller.edition == "public" or not evaluation.is_linked:
        return
    taken = {*evaluation.measures["id"]}
    left = [rule.measure for rule in list_rules(evaluation) if rule.asked and rule.family in _OF_A_PERSON]
    left = [name for name in left if name not in taken]
    if left:
        others = f" and {len(left) - 2} others" if len(left) > 3 else ""
        clause = f"measures of risk were left out: {join_names(left[:2] if others else left)}{others}"
        yield Remark(_sentence(clause), "scorecard", "decide", clause)


def weigh(rule: Rule, colour: Colour) -> Weight:
    """How serious a rating is: an amber is a point for the board, a red of a person's risk stops the release."""
    if colour == "red":
        return "stop" if rule.family in _OF_A_PERSON or rule.measure in _SHAPES else "decide"
    return "point" if colour == "amber" else "note"


def remark_shape(evaluation: "Evaluation", scheme: str, rules: Sequence[Rule] | None = None) -> Iterator[Remark]:
    """Spread, tails and extremes that nobody would believe: whatever the intervals say, such a release is not fine.

    Of a heavy-tailed variable much may be chance: what correct releases of it show is no remark.
    """
    asked = asked_rules(evaluation) if rules is None else {rule.measure: rule for rule in rules}
    words = {
        "spread_ratio": "the standard deviation of {} is {:.2f} times the confidential one",
        "tail_ratio": "from the 1% to the 99% quantile of {} it is {:.2f} times as far as in the confidential table",
        "reach_ratio": "the {of} {} lies {:,.0f} times as far out as any collected",
    }
    for name, told in words.items():
        for row, weight in _list_bad(evaluation.utility, scheme, asked.get(name)):
            if find_chance(evaluation, scheme, asked[name], row) is not None:
                continue
            clause = told.format(cut_name(row["column"]), row["value"], of=row["of"])
            yield Remark(_sentence(clause), "data", weight, clause)


def _list_bad(frame: pd.DataFrame, scheme: str, rule: Rule | None) -> Iterator[tuple[dict[Any, Any], Weight]]:
    """List the figures that a rule has in amber or red; none where the agency turned it off."""
    for row in [] if rule is None else list_figures(frame, scheme, rule.measure):
        weight: Weight = "note" if rule is None else weigh(rule, rate_figure(row, rule))
        if weight != "note":
            yield row, weight


def _remark_protection(evaluation: "Evaluation", scheme: str, teller: Teller) -> Iterator[Remark]:
    before, after = find_figure(evaluation.risk, CONFIDENTIAL, "risk_mean"), mean_risk(evaluation, scheme)
    if before is None or after is None:
        return
    # What tables have that tell nothing beyond the pattern, no release can take away.
    floors = [find_figure(evaluation.risk, scheme, name) for name in ("risk_baseline", "risk_benchmark")]
    least = min(max([one.value for one in floors if one is not None], default=0.0), before.value)
    # Where all values lie close together there is hardly any risk, before as after.
    if after.value - least > max(UNPROTECTED * (before.value - least), RISK_STEP):
        clause = f"most of the risk is left: {teller.share(after.value)} of {teller.share(before.value)} before"
        yield Remark(_sentence(clause), "risk", "stop", clause)


def _remark_beaten(
    evaluation: "Evaluation", scheme: str, teller: Teller, ignoring: Collection[str]
) -> Iterator[Remark]:
    """Schemes that are clearly better in some risk or utility, and clearly worse in none."""
    if teller.edition == "public":
        return
    for name in evaluation.schemes:
        if name == scheme or name in ignoring:
            continue
        better = _find_better(evaluation, name, scheme)
        if not better:
            continue
        clause = (
            f"the scheme {cut_name(name)} is better in {join_names(better, longest=96)}, and in nothing clearly worse"
        )
        helped = _find_helped(evaluation, name, scheme)
        clause += f"; this release is safer for {join_names(helped, longest=96)}" if helped else ", for anybody"
        yield Remark(_sentence(clause), "map", "decide" if helped else "stop", clause)


def _find_better(evaluation: "Evaluation", other: str, scheme: str) -> list[str]:
    """In what another scheme is clearly better, with the numbers; nothing if it is clearly worse in anything."""
    better = []
    for words, theirs, own, sign in _list_vector(evaluation, other, scheme):
        if sign * _end(theirs, sign, least=True) > sign * _end(own, sign, least=False):
            return []
        if sign * _end(theirs, sign, least=False) < sign * _end(own, sign, least=True):
            better.append(f"{words} ({significant(theirs.value)} against {significant(own.value)})")
    return better


def _list_vector(
    evaluation: "Evaluation", other: str, scheme: str
) -> Iterator[tuple[str, Figure, Figure, Literal[1, -1]]]:
    """Risk and utility of two schemes, measure by measure; 1 where lower is better, -1 where higher is."""
    both = (other, scheme)
    means = [mean_risk(evaluation, name) for name in both]
    yield from _pair("mean risk", means, 1)
    for measure, words in (
        ("combined_mean", "risk of the pooled tables"),
        ("matches_true", "unique and right matches"),
    ):
        yield from _pair(words, [find_figure(evaluation.risk, name, measure) for name in both], 1)
    for measure in ("U_m", "U_m_combined", "pmse_ratio", "variation"):
        for row in list_figures(evaluation.utility, scheme, measure):
            rows = list_figures(evaluation.utility, other, measure, row["column"])
            theirs = [as_figure(one) for one in rows if one["of"] == row["of"]]
            if theirs:
                yield from _pair(
                    f"{row['name']}{name_column(evaluation, row['column'])}", [theirs[0], as_figure(row)], 1
                )
    overlaps = [list(list_overlaps(evaluation, name).values()) for name in both]
    if all(overlaps):
        figures = [Figure(v, v - _OVERLAP_ERROR, v + _OVERLAP_ERROR) for v in (float(np.mean(one)) for one in overlaps)]
        yield from _pair("interval overlap", list(figures), -1)


def _pair(
    words: str, figures: Sequence[Figure | None], sign: Literal[1, -1]
) -> Iterator[tuple[str, Figure, Figure, Literal[1, -1]]]:
    theirs, own = figures
    if theirs is not None and own is not None:
        yield words, theirs, own, sign


def _end(figure: Figure, sign: int, *, least: bool) -> float:
    """The better end of an interval (`least`), or the worse one; the value where there is no interval."""
    end = figure.low if least == (sign > 0) else figure.high
    return figure.value if np.isnan(end) else end


def _find_helped(evaluation: "Evaluation", other: str, scheme: str) -> list[str]:
    """High-risk records that are clearly safer in this release than in the other."""
    helped = []
    for measure, words in STANDING_OUT.items():
        for row in list_figures(evaluation.risk, scheme, measure):
            theirs = find_figure(evaluation.risk, other, measure, row["column"])
            own = as_figure(row)
            if theirs is not None and _end(own, 1, least=False) < _end(theirs, 1, least=True):
                of = name_column(evaluation, row["column"]) if measure == "largest_mean" else ""
                helped.append(f"{words}{of} ({own.value:.3f} against {theirs.value:.3f})")
    return helped


def _remark_combined(evaluation: "Evaluation", scheme: str, teller: Teller) -> Iterator[Remark]:
    """What all tables together give away, beyond what they give of drawn values in the place of the true ones."""
    pooled, drawn = (find_figure(evaluation.risk, scheme, f"combined_{end}") for end in ("mean", "benchmark"))
    mean = mean_risk(evaluation, scheme)
    if mean is None or pooled is None or pooled.value <= mean.value + RISK_STEP:
        return
    clause = f"pooling the tables raises the mean risk from {teller.share(mean.value)} to {teller.share(pooled.value)}"
    much = pooled.value > mean.value + POOLED_STEP
    if drawn is None or pooled.value > max(drawn.value + RISK_STEP, drawn.high):
        text = f"{_sentence(clause)} Fewer tables would give away less."
        yield Remark(text, "risk", "decide" if much else "note", clause)
    else:
        clause += f", and that of drawn values in their place to {teller.share(drawn.value)}"
        text = f"{_sentence(clause)} What is released unchanged predicts them, from one table as well."
        yield Remark(text, "risk", "point" if much else "note", clause)


def _remark_high(evaluation: "Evaluation", scheme: str, teller: Teller) -> Iterator[Remark]:
    """Records at high risk. The realised risk of few tables is high by luck as well: it counts beyond that."""
    for name, (what, least) in _HIGH.items():
        high = find_figure(evaluation.risk, scheme, f"{name}_{ABOVE_HIGH}")
        if high is None:
            continue
        luck = find_figure(evaluation.risk, scheme, f"{name}_{ABOVE_HIGH}_benchmark")
        if high.value > least:
            clause = f"records with {what.format(HIGH_RISK)}: {teller.count(high.value)}"
            clause += "" if luck is None else f", {luck.low:.0f} to {luck.high:.0f} by chance"
            weight: Weight = "decide" if luck is None or high.value > luck.high else "point"
            yield Remark(_sentence(clause), "risk", weight, clause)
        return


def _remark_risk(evaluation: "Evaluation", scheme: str, teller: Teller) -> Iterator[Remark]:
    risk = evaluation.risk
    yield from _remark_combined(evaluation, scheme, teller)
    yield from _remark_high(evaluation, scheme, teller)
    names = ("increases", "increases_by_chance", "moles")
    rises, null, moles = (find_figure(risk, scheme, name) for name in names)
    rules = asked_rules(evaluation)
    for measure, words in STANDING_OUT.items():
        for row, weight in _list_bad(risk, scheme, rules.get(measure)):
            if find_chance(evaluation, scheme, rules[measure], row) is not None:
                continue
            of = name_column(evaluation, row["column"]) if measure == "largest_mean" else ""
            clause = f"the mean risk of {words}{of} is {teller.share(row['value'])}"
            yield Remark(_sentence(clause), "top", weight, clause)
    if rises is not None and null is not None and rises.value > null.high:
        yield Remark("More records rise in risk under the weights than chance alone would show.", "risk")
    if moles is not None and moles.value > 0:
        clause = f"moles, records at more risk because of the weights: {teller.count(moles.value)}"
        yield Remark(_sentence(clause), "risk", "decide", clause)
    for row, weight in _list_bad(risk, scheme, rules.get("attribution_gain")):
        of = name_column(evaluation, row["column"])
        clause = f"a person's own record makes guesses of the value{of} right in {teller.percentage(row['value'])}"
        yield Remark(_sentence(f"{clause} more of the cases"), "risk", weight, f"{clause} more of the cases")


def _remark_weight(evaluation: "Evaluation", scheme: str, teller: Teller) -> Iterator[Remark]:
    """A survey weight that is published as collected: to who knows it, people are alone who were not."""
    names = ("uniques_by_weight", "sample_uniques")
    alone, before = (find_figure(evaluation.risk, CONFIDENTIAL, name) for name in names)
    mean, knowing = mean_risk(evaluation, scheme), find_figure(evaluation.risk, scheme, "weight_mean")
    if alone is None or knowing is None or mean is None:
        return
    without = "" if before is None else f", {teller.count(before.value)} without it"
    clause = f"the survey weight is published: to who knows it, {teller.count(alone.value)} records are alone{without}"
    risk = f" The mean risk is then {teller.share(knowing.value)}, {teller.share(mean.value)} without it."
    weight: Weight = "decide" if knowing.value > mean.value + RISK_STEP else "note"
    yield Remark(f"{_sentence(clause)}{risk}", "risk", weight, clause)


def _remark_new_people(evaluation: "Evaluation", scheme: str, teller: Teller) -> Iterator[Remark]:
    """Tables of new people that show who was in the data, or tell of a person what no other person would."""
    words = {"membership_distance": "a person", "membership_distance_isolated": "one of the most isolated 1%"}
    rules = asked_rules(evaluation)
    for measure, who in words.items():
        rule = rules.get(measure)
        for row in [] if rule is None else list_figures(evaluation.risk, scheme, measure):
            weight: Weight = "note" if rule is None else weigh(rule, rate_figure(row, rule))
            if weight != "note" or row["low"] > 0.5:
                share = teller.percentage(row["value"])
                clause = f"tables lie nearer to {who} who was in the data in {share} of the cases"
                yield Remark(f"{_sentence(clause)} Half would be no sign of it.", "risk", weight, clause)
    for row, weight in _list_bad(evaluation.risk, scheme, rules.get("lookup_gain")):
        share = teller.percentage(row["value"])
        clause = f"look-alikes tell {cut_name(row['column'])} in {share} more of the cases than other people would"
        yield Remark(_sentence(clause), "risk", weight, clause)
    if not any(find_figure(evaluation.risk, scheme, measure) for measure in ("risk_mean", "membership_distance")):
        clause = "whether tables show who was in the data was not measured, which needs fits to halves of the records"
        yield Remark(_sentence(clause), "risk", "decide", clause)


def _remark_utility(evaluation: "Evaluation", scheme: str, teller: Teller) -> Iterator[Remark]:
    rules, overlaps = asked_rules(evaluation), list_overlaps(evaluation, scheme)
    asked = rules.get("overlap")
    rows = [] if asked is None else list_figures(evaluation.utility, scheme, "overlap")
    low = [row for row in rows if asked is not None and asked.colour(row["value"]) != "green"]
    if asked is not None and low:
        beyond = [row["of"] for row in low if find_chance(evaluation, scheme, asked, row) is None]
        names = beyond or [row["of"] for row in low]
        clause = f"estimates whose intervals overlap by less than {asked.amber:g}: {join_names(names)}"
        short = (
            f"{len(names)} of {len(overlaps)} estimates overlap by less than {asked.amber:g} ({join_names(names[:2])}"
        )
        short += ", and others)" if len(names) > 2 else ")"
        short += "" if beyond else ", as those of correct releases do by chance"
        advice = " Users should not rely on them." if beyond else " Chance may explain that."
        yield Remark(f"{_sentence(clause)}{advice}", "utility", "decide" if beyond else "point", short)
    for column, distance, fresh in list_gaps(evaluation, scheme):
        if distance.value > FAR * fresh.value:
            upto = "up to " if teller.edition == "public" else ""
            clause = f"the distribution{name_column(evaluation, column)} differs from the confidential one by {upto}"
            clause += f"{distance.value / fresh.value:.1f} times what a fresh sample would show (U_m)"
            yield Remark(_sentence(clause), "utility", "decide", clause)
    for row, weight in _list_bad(evaluation.utility, scheme, rules.get("pmse_ratio")):
        told = f"{row['name']} {teller.figure('number', as_figure(row), 'ratio').text}"
        clause = f"a classifier tells released records from confidential ones: {cut_measure(told)}"
        yield Remark(_sentence(clause), "utility", weight, clause)


def _sentence(clause: str) -> str:
    return f"{clause[0].upper()}{clause[1:]}."
