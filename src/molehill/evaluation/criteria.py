"""Release criteria: rules such as "maximum realised <= 0.5" that a release has to keep, read from text.

A criterion is a measure, a statistic of it, and a bound. Measures that have words of their own for it are written in
these; any other is written by its id, such as "matches_gain <= 0.01".
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from molehill.errors import InputError
from molehill.evaluation.catalogue import MEASURES
from molehill.evaluation.measure import CriterionWords, Measure

EXAMPLES = (
    "mean expected <= 0.15",
    "99% expected <= 0.4",
    "maximum realised <= 0.5",
    "isolated expected <= 0.05",
    "maximum pick <= 0.2",
    "maximum population <= 0.05",
    "pooled mean <= 0.2",
    "unique matches <= 0.001",
    "right picks <= 0.01",
    "moles 0.1 <= 0",
    "U_m <= 0.03",
    "overlap >= 0.6",
    "overlap of mean of income >= 0.6",
)
_TEXT = re.compile(r"^\s*(?P<what>.*?)\s*(?P<sign><=|>=|<|>|=)\s*(?P<bound>\S+)\s*$")
_ID = re.compile(r"(?P<id>[A-Za-z]\w*)(?: of (?P<of>.+))?", re.ASCII)
_WORDS: dict[tuple[str, str], CriterionWords] = {
    (one.id, words.kind): words for one in MEASURES for words in one.criteria
}
# What is written, and the measure that it is about.
_BY_TEXT = {words.text: (one.id, words) for one in MEASURES for words in one.criteria}
_STEP = 0.2


@dataclass(frozen=True)
class Criterion:
    """A release criterion: a bound on a statistic of a measure.

    Attributes
    ----------
    measure
        The id of the measure.
    statistic
        Of a measure that is known of every record its "mean" over them, a quantile such as "99%", or the "maximum". Of
        moles the smallest increase that counts; of a measure with several figures, such as the overlap, what it is of.
        Empty: the figure itself, and of several the worst.
    bound
        The most that it may be; the least, if `sign` is ">=".
    sign
        "<=" or ">=".

    Examples
    --------
    >>> read_criteria("99% expected <= 0.4")[0]
    Criterion(measure='expected_mean', statistic='99%', bound=0.4, sign='<=')
    """

    measure: str
    statistic: str
    bound: float
    sign: Literal["<=", ">="] = "<="

    def __str__(self) -> str:
        return f"{self.words} {self.sign} {self.bound:.12g}"

    @property
    def words(self) -> str:
        """What it is about, as it is written."""
        if self.is_of_records:
            return f"{self.statistic} {_WORDS[self.measure, 'records'].text}"
        own = _WORDS.get((self.measure, "step"))
        if own is not None:
            return f"{own.text} {self.statistic}"
        own = _WORDS.get((self.measure, "figure"))
        return (self.measure if own is None else own.text) + (f" of {self.statistic}" if self.statistic else "")

    @property
    def quantity(self) -> str:
        """What is bounded: the measure, and its statistic if there is one."""
        return f"{self.measure} of {self.statistic}" if self.statistic else self.measure

    @property
    def is_share(self) -> bool:
        """Whether it is about something that is at most 1."""
        own = any(words.is_share for (id_, _), words in _WORDS.items() if id_ == self.measure)
        return own or any(one.unit == "share" for one in MEASURES if one.id == self.measure)

    @property
    def is_of_records(self) -> bool:
        """Whether it is about a quantity of every record, of which the statistic is taken."""
        return (self.measure, "records") in _WORDS and self.share is not None

    @property
    def share(self) -> float | None:
        """Of a quantile over the records: 0.99 for "99%", 1 for the maximum; of the mean NaN; None of anything else."""
        named = {"mean": math.nan, "maximum": 1.0}
        if self.statistic in named:
            return named[self.statistic]
        return float(self.statistic[:-1]) / 100 if re.fullmatch(r"\d*\.?\d+%|\d+\.%", self.statistic) else None

    @property
    def has_own_estimate(self) -> bool:
        """Whether a search estimates it better than by the figure of one release."""
        return self.is_of_records or self.measure in ("moles", "overlap") or self.quantity in ("U_m", "isolated_mean")

    @property
    def is_realised(self) -> bool:
        """Whether it is about the realised risk of the datasets that are released."""
        return self.measure == "risk_mean" and self.is_of_records

    @property
    def is_utility(self) -> bool:
        """Whether it asks for something to be kept; of a measure that does not ship, whether more is better."""
        ours = [one for one in MEASURES if one.id == self.measure]
        return ours[0].family == "utility" if ours else self.sign == ">="


def read_criteria(criteria: "str | Criterion | Sequence[str | Criterion]") -> tuple[Criterion, ...]:
    """Read release criteria, and tell every problem in them at once.

    Examples
    --------
    >>> [str(criterion) for criterion in read_criteria(["maximum realised <= 0.5", "U_m <= 0.03"])]
    ['maximum realised <= 0.5', 'U_m <= 0.03']
    """
    given = [criteria] if isinstance(criteria, str | Criterion) else list(criteria)
    if not given:
        raise InputError("release_criteria", "there is none", f"Write for instance {EXAMPLES[0]!r}")
    read, problems = parse_criteria(given)
    if problems:
        told = problems[0] if len(problems) == 1 else f"{len(problems)} problems: " + "; ".join(problems)
        raise InputError("release_criteria", told, f"Write them like {', '.join(map(repr, EXAMPLES[:-1]))}")
    return tuple(read)


def parse_criteria(criteria: "Sequence[str | Criterion]") -> tuple[list[Criterion], list[str]]:
    """Give the criteria that can be read, and what is wrong with the others.

    Examples
    --------
    >>> parse_criteria(["U_m <= 0.03", "maximum realised = 0.5"])[1]
    ["'maximum realised = 0.5': the sign must be <="]
    """
    read, problems = [], []
    for entry in criteria:
        found = entry if isinstance(entry, Criterion) else _parse(entry)
        if isinstance(found, str):
            problems.append(f"{entry!r}: {found}")
            continue
        problem = _find_problem(found)
        problems += [f"{str(found)!r}: {problem}"] if problem else []
        read.append(found)
    if not problems and len(set(read)) < len(read):
        problems.append("one is given twice: leave one of the two out")
    return read, problems


def impossible(criteria: Sequence[Criterion]) -> list[str]:
    """Say which criteria no synthesizer can meet, and why, without looking at the data."""
    reasons = []
    for one in criteria:
        kind = "records" if one.is_of_records else "figure"
        own = _WORDS.get((one.measure, kind))
        beyond = one.bound <= 0 if one.sign == "<=" else one.bound >= 1
        # With a small radius most records may never be close: a quantile of what is realised must be looked at.
        may_be = one.is_realised and one.statistic.endswith("%")
        if own is not None and own.impossible and beyond and not may_be:
            reasons.append(f"{one}: {own.impossible}")
    return reasons


def check_criteria(criteria: Sequence[Criterion], measures: Sequence[Measure]) -> None:
    """Refuse criteria on measures that there are none of, or with the sign of the other side."""
    about = {one.id: one for one in (*MEASURES, *measures)}
    for one in criteria:
        if one.measure not in about:
            problem = f"{str(one)!r}: it begins with none of {_list_words()}, and there is no measure {one.measure!r}"
            raise InputError("release_criteria", problem, "Write the id of a measure, such as 'matches_gain <= 0.01'")
        better = about[one.measure].better
        if not better:
            problem = f"{str(one)!r}: of this measure neither more nor less is better"
            raise InputError("release_criteria", problem, "Choose another measure")
        if one.sign != (">=" if better == "higher" else "<="):
            problem = f"{str(one)!r}: of this measure {'more' if better == 'higher' else 'less'} is better"
            raise InputError("release_criteria", problem, "Turn the sign round")


def _list_words() -> str:
    return "mean, a quantile such as 99%, maximum, " + ", ".join(
        text for text, (_, words) in _BY_TEXT.items() if words.kind != "records"
    )


def _parse(text: str) -> Criterion | str:
    """Give the criterion, or what is wrong with the text and how to write it."""
    match = _TEXT.match(text)
    if match is None:
        return f"it has no <= or >=: write for instance {EXAMPLES[0]!r}"
    what, sign, number = " ".join(match["what"].split()), match["sign"], match["bound"]
    try:
        bound = float(number.rstrip("%")) / (100 if number.endswith("%") else 1)
    except ValueError:
        return "what follows the sign is not a number: write one such as 0.5"
    found = _find_measure(what, bound)
    if isinstance(found, str):
        return found
    measure, statistic = found
    better = {one.id: one.better for one in MEASURES}.get(measure)
    wanted = {"lower": ("<=",), "higher": (">=",)}.get(better or "", ("<=", ">="))
    if sign not in wanted:
        return f"the sign must be {' or '.join(wanted)}"
    return Criterion(measure, statistic, bound, ">=" if sign == ">=" else "<=")


def _find_measure(what: str, bound: float) -> tuple[str, str] | str:
    """Find what a criterion is about: the id of the measure and the statistic, or what is wrong."""
    first, _, rest = what.partition(" ")
    of_records = {words.text: id_ for (id_, kind), words in _WORDS.items() if kind == "records"}
    is_quantile = first.endswith("%") and first[:-1].replace(".", "", 1).isdigit()
    if is_quantile or first in ("mean", "maximum"):
        if rest not in of_records:
            return "say of which risk: " + ", or ".join(f"{first} {text} <= {bound:g}" for text in of_records)
        return of_records[rest], f"{float(first[:-1]):.12g}%" if is_quantile else first
    for text, (id_, words) in _BY_TEXT.items():
        if words.kind == "step" and first == text:
            return (id_, rest or f"{_STEP:g}") if _is_number(rest or "0") else f"after {text} comes a number"
        if words.kind == "figure" and (what == text or what.startswith(f"{text} of ")):
            return id_, what.removeprefix(text).removeprefix(" of ").strip()
    match = _ID.fullmatch(what)
    if match is None:
        return f"it begins with none of {_list_words()}, and is no id of a measure"
    return match["id"], match["of"] or ""


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _find_problem(criterion: Criterion) -> str:
    if not math.isfinite(criterion.bound) or criterion.bound < 0:
        return "the bound must be a number from 0 up"
    if criterion.is_share and criterion.bound > 1:
        return "the bound is above 1, which nothing passes: write 20% as 0.2"
    if criterion.statistic.endswith("%") and criterion.share is not None and not 0 < criterion.share < 1:
        return "a quantile lies between 0% and 100%: write 99%, or maximum"
    if (criterion.measure, "step") in _WORDS and not 0 < float(criterion.statistic) < 1:
        return "the step must be between 0 and 1: write 'moles 0.1 <= 0'"
    return ""
