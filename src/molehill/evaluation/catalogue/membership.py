"""Membership: whether a release shows that a person was in the data.

By fits to halves of the records, by the closest records of a control group, and as the worst-case intruder sees it, who
knows every other record and the fitted model.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from molehill.attacks.closeness import Closeness, closest_records
from molehill.attacks.worst_case.membership import Membership
from molehill.evaluation.attack_data import PEOPLE, TABLES, attack_seed, known, sensitive, trial
from molehill.evaluation.catalogue.attribute import few_isolated
from molehill.evaluation.context import Context, alone
from molehill.evaluation.measure import FEW, Block, Measure, Threshold, Value, risk_measure, shared
from molehill.risk.holdout import Holdout
from molehill.tables.intervals import Figure

# How often datasets lie nearer to who was in the data: half is no sign of it. docs/columns.md has what was measured.
NEARER = (0.6, 0.75)

HALVES = Block(
    "Whether it shows who was in the data",
    "The model fitted to either half of the records: do its tables lie nearer to those that it saw? Half of the "
    "cases is no sign of it.",
    first=True,
)
CLOSEST = Block(
    "Closest records of who was used, and who was not (DCR)",
    "Half is no sign. Passing this check proves little: one person in a hundred, copied, does not show in it.",
    attack=True,
)
WORST_CASE = Block("Membership")


def _held_out(
    id_: str, words: str, explanation: str, tell: Callable[[Holdout, Context], Figure], reveals: str = "", **about: Any
) -> Measure:
    def compute(context: Context) -> Iterable[Value]:
        figure = None if context.holdout is None else tell(context.holdout, context)
        return [] if figure is None or np.isnan(figure.value) else [Value(figure)]

    about |= {"public": bool(reveals), "reveals": reveals, "needs": ("halves",)}
    return risk_measure(id_, words, HALVES, compute, explanation, **about)


@shared
def closeness(context: Context) -> Closeness | None:
    """Whether released records lie nearer to who was in the data; by the variables that were not kept."""
    people, secret = trial(context), sensitive(context)
    columns = [name for name in (*known(context), *secret) if name in secret or not context.is_linked]
    if people is None or not columns:
        return None
    about: dict[str, Any] = {"attacks": PEOPLE * TABLES, "seed": attack_seed(context, "closest")}
    return closest_records(people.data, list(people.released[:TABLES]), people.control, columns, **about)


def _closest(id_: str, words: str, explanation: str, choose: Callable[[Closeness], Figure], **about: Any) -> Measure:
    def compute(context: Context) -> Iterable[Value]:
        found = closeness(context)
        return [] if found is None else [Value(choose(found))]

    about |= {"needs": ("control",), "part_of": "closest_records"}
    return risk_measure(id_, words, CLOSEST, compute, explanation, **about)


def _advantage(
    id_: str, words: str, tell: Callable[[Membership], Figure], threshold: Threshold | None = None
) -> Measure:
    """A figure of the advantage, of as many datasets as the release has; nothing where it is not known."""

    def compute(context: Context) -> Iterable[Value]:
        figure = None if context.membership is None else tell(context.membership)
        if figure is None or context.membership is None or np.isnan(figure.value):
            return []
        return [Value(figure, at=float(context.membership.datasets))]

    about: dict[str, Any] = {"needs": ("own record", "posterior"), "part_of": "membership"}
    return risk_measure(id_, words, WORST_CASE, compute, threshold=threshold, **about)


# It warns, and condemns nothing: the intruder knows every other record and the fitted model.
WORST_CASE_MEASURES: Sequence[Measure] = (
    _advantage(
        "advantage_random",
        "advantage of who knows all others and the model, {at} tables, mean over records chosen at random (0: a coin)",
        lambda found: found.mean(),
        Threshold(
            "membership",
            0.5,
            words="advantage of who knows everybody else and the fitted model",
            at="from {} table(s)",
        ),
    ),
    _advantage("advantage_random_largest", "the largest of these", lambda found: found.largest()),
    _advantage(
        "advantage_riskiest",
        "advantage of who knows all others and the model, {at} tables, mean over the riskiest records",
        lambda found: found.mean(riskiest=True),
    ),
    _advantage("advantage_riskiest_largest", "the largest of the riskiest", lambda found: found.largest(riskiest=True)),
    _advantage(
        "advantage_unsure",
        "share of the random records whose advantage only a fit without them could tell",
        lambda found: alone(found.unsure()),
        Threshold("membership", 0.1, words="people of whom that could not be told without another fit"),
    ),
    _advantage(
        "advantage_riskiest_unsure",
        "share of the riskiest records whose advantage only a fit without them could tell",
        lambda found: alone(found.unsure(riskiest=True)),
    ),
)

MEMBERSHIP_MEASURES: Sequence[Measure] = (
    _held_out(
        "membership_distance",
        "tables lie nearer to who was in the data (half: no sign of it)",
        "half of the records held out, then the other: to which half tables lie nearer",
        lambda found, _: found.members(),
        "whether the tables show on average that a person was in the data; nothing of one of them",
        threshold=Threshold("membership", *NEARER, "tables nearer to who was in the data", null=0.5),
    ),
    _held_out(
        "membership_distance_isolated",
        "that for the most isolated 1%",
        "the records with the fewest others close to them",
        lambda found, context: found.members(few_isolated(context)),
        threshold=Threshold("membership", *NEARER, "that of the most isolated 1%", null=0.5),
        least_records=100 * FEW,
    ),
    _held_out(
        "closer_to_participants",
        "released records nearer to who was in the data than to who was held out (half: no sign)",
        "distance to the closest record: of those fitted to or held out; passing proves little",
        lambda found, _: found.share(),
        "whether released records lie nearer to the people in the data than to others, on average",
    ),
    _closest(
        "closest_records",
        "released records nearer to who was used (half: no sign)",
        "to the closest of as many people on either side; half: no sign",
        lambda found: found.nearer,
        threshold=Threshold("membership", *NEARER, "released records nearer to who was in the data", null=0.5),
    ),
    _closest(
        "closest_copies",
        "released records that equal somebody who was used",
        "in all columns that were replaced",
        lambda found: found.copies,
    ),
    _closest(
        "closest_copies_control",
        "released records that equal somebody who was not",
        "what is a copy by chance",
        lambda found: found.copies_held_out,
        better="",
    ),
    *WORST_CASE_MEASURES,
)
