"""Targets: rules such as "maximum realised <= 0.5" that a release shall keep, read from text."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from molehill.errors import InputError

Subject = Literal["maximum", "quantile", "mean", "isolated", "moles", "pooled", "matches", "picks", "U_m", "overlap"]
Basis = Literal["realised", "expected", "pick", "population", ""]

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
# Subjects that are one figure of what was measured: the words of the rule, and the measure that tells it.
_WORDS: dict[Subject, str] = {"pooled": "pooled mean", "matches": "unique matches", "picks": "right picks"}
FIGURES: dict[Subject, str] = {"pooled": "combined_mean", "matches": "matches_true", "picks": "matches_expected"}
# What no release has none of: chance alone brings values near the true ones.
_NEVER_ZERO: tuple[Subject, ...] = ("maximum", "mean", "isolated", "pooled", "matches", "picks")
_BASES: tuple[Basis, ...] = ("expected", "realised", "pick", "population")
_TEXT = re.compile(r"^\s*(?P<what>.*?)\s*(?P<sign><=|>=|<|>|=)\s*(?P<bound>\S+)\s*$")


@dataclass(frozen=True)
class Target:
    """One rule that a release shall keep.

    Attributes
    ----------
    subject
        "maximum", "quantile" or "mean" of the records' risk, its mean over the most "isolated" 1%, number of "moles";
        mean risk of the "pooled" tables, share of records with unique and right "matches", and of right "picks" at
        random among the close (the mean of T / c); "U_m", or interval "overlap".
    bound
        The most that it may be; for the overlap the least.
    basis
        Of a risk: "realised" over the released tables, or "expected". Or "pick": the expected chance that the record is
        the one that an intruder picks at random among those of the pattern that are close to its true value, T / c. Or
        "population": the expected risk from an intruder who does not know who is in the sample of a survey.
    share
        Of a quantile: 0.99 for "99%".
    step
        Of moles: the smallest rise that counts.
    analysis
        Of an overlap: the analysis, such as "mean of income"; without one, the smallest overlap of all.

    Examples
    --------
    >>> read_targets("99% expected <= 0.4")[0]
    Target(subject='quantile', bound=0.4, basis='expected', share=0.99, step=0.0, analysis='')
    """

    subject: Subject
    bound: float
    basis: Basis = ""
    share: float = 1.0
    step: float = 0.0
    analysis: str = ""

    def __str__(self) -> str:
        share, step = f"{100 * self.share:.12g}%", f"moles {self.step:.12g}"
        words = {"quantile": share, "moles": step, **_WORDS}.get(self.subject, self.subject)
        of = f" of {self.analysis}" if self.analysis else ""
        basis = f" {self.basis}" if self.basis else ""
        return f"{words}{of}{basis} {'>=' if self.subject == 'overlap' else '<='} {self.bound:.12g}"

    @property
    def measure(self) -> str:
        """Id of the measure that it is about, of which the others are kinds: how it is told."""
        if self.basis == "pick":
            return FIGURES["picks"]
        if self.basis == "population":
            return "population_largest"
        return {"moles": "moles", "U_m": "U_m", "overlap": "overlap", **FIGURES}.get(self.subject, "risk_largest")

    @property
    def is_risk(self) -> bool:
        """Whether it is about the risk of records, and not about moles or utility."""
        return self.basis != ""

    @property
    def is_utility(self) -> bool:
        """Whether it asks for something to be kept, and not for a risk to be low."""
        return self.subject in ("U_m", "overlap")


def read_targets(targets: "str | Target | Sequence[str | Target]") -> tuple[Target, ...]:
    """Read targets, and tell every problem in them at once.

    Examples
    --------
    >>> [str(target) for target in read_targets(["maximum realised <= 0.5", "U_m <= 0.03"])]
    ['maximum realised <= 0.5', 'U_m <= 0.03']
    """
    given = [targets] if isinstance(targets, str | Target) else list(targets)
    if not given:
        raise InputError("release_criteria", "there is none", f"Write for instance {EXAMPLES[0]!r}")
    read, problems = parse_targets(given)
    if problems:
        told = problems[0] if len(problems) == 1 else f"{len(problems)} problems: " + "; ".join(problems)
        raise InputError("release_criteria", told, f"Write them like {', '.join(map(repr, EXAMPLES[:-1]))}")
    return tuple(read)


def parse_targets(targets: "Sequence[str | Target]") -> tuple[list[Target], list[str]]:
    """Give the targets that can be read, and what is wrong with the others.

    Examples
    --------
    >>> parse_targets(["U_m <= 0.03", "maximum = 0.5"])[1]
    ["'maximum = 0.5': the sign must be <="]
    """
    read, problems = [], []
    for entry in targets:
        found = entry if isinstance(entry, Target) else _parse(entry)
        if isinstance(found, str):
            problems.append(f"{entry!r}: {found}")
            continue
        problem = _find_problem(found)
        problems += [f"{str(found)!r}: {problem}"] if problem else []
        read.append(found)
    if not problems and len(set(read)) < len(read):
        problems.append("one is given twice: leave one of the two out")
    return read, problems


def impossible(targets: Sequence[Target]) -> list[str]:
    """Say which targets no synthesizer can meet, and why, without looking at the data."""
    reasons = []
    for target in targets:
        if target.subject in _NEVER_ZERO and target.bound <= 0:
            reasons.append(
                f"{target}: every released value can fall near the true one by chance, so that no risk is 0; "
                "ask for a small risk above 0"
            )
        elif target.subject == "quantile" and target.basis != "realised" and target.bound <= 0:
            reasons.append(f"{target}: what is expected of every record is above 0; ask for a bound above 0")
        elif target.subject == "U_m" and target.bound <= 0:
            reasons.append(f"{target}: only the confidential table itself has 0; ask for what a fresh sample shows")
        elif target.subject == "overlap" and target.bound >= 1:
            reasons.append(f"{target}: only the confidential table itself has 1; ask for less")
    return reasons


def _parse(text: str) -> Target | str:
    """Give the target, or what is wrong with the text and how to write it."""
    match = _TEXT.match(text)
    if match is None:
        return f"it has no <= or >=: write for instance {EXAMPLES[0]!r}"
    what, sign, number = " ".join(match["what"].split()), match["sign"], match["bound"]
    try:
        bound = float(number.rstrip("%")) / (100 if number.endswith("%") else 1)
    except ValueError:
        return "what follows the sign is not a number: write one such as 0.5"
    wanted = ">=" if what.startswith("overlap") else "<="
    if sign != wanted:
        return f"the sign must be {wanted}"
    first, _, rest = what.partition(" ")
    plain = {words: Target(subject, bound) for subject, words in _WORDS.items()}
    plain |= {"U_m": Target("U_m", bound), "isolated expected": Target("isolated", bound, "expected")}
    if what in plain:
        return plain[what]
    if first == "overlap":
        return Target("overlap", bound, analysis=rest.removeprefix("of ").strip())
    return _parse_moles(rest, bound) if first == "moles" else _parse_risk(first, rest, bound)


def _parse_moles(rest: str, bound: float) -> Target | str:
    try:
        return Target("moles", bound, step=float(rest or "0.2"))
    except ValueError:
        return "after moles comes the smallest rise that counts: write 'moles 0.1 <= 0'"


def _parse_risk(first: str, basis: str, bound: float) -> Target | str:
    share = first.removesuffix("%")
    quantile = first.endswith("%") and share.replace(".", "", 1).isdigit()
    if not quantile and first not in ("maximum", "mean"):
        others = ", ".join(_WORDS.values())
        return (
            f"it begins with none of mean, a quantile such as 99%, maximum, isolated, {others}, moles, U_m and overlap"
        )
    if basis not in _BASES:
        return "say of which risk: " + ", or ".join(f"{first} {one} <= {bound:g}" for one in _BASES)
    if quantile:
        return Target("quantile", bound, basis, share=float(share) / 100)
    return Target(first, bound, basis)  # pyright: ignore[reportArgumentType]


def _find_problem(target: Target) -> str:
    if not math.isfinite(target.bound) or target.bound < 0:
        return "the bound must be a number from 0 up"
    if target.subject != "moles" and target.bound > 1:
        return "the bound is above 1, which nothing passes: write 20% as 0.2"
    if target.subject == "quantile" and not 0 < target.share < 1:
        return "a quantile lies between 0% and 100%: write 99%, or maximum"
    if target.subject == "moles" and not 0 < target.step < 1:
        return "the step must be between 0 and 1: write 'moles 0.1 <= 0'"
    return ""
