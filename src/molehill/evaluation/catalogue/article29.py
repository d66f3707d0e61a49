"""The three criteria of the Article 29 Working Party: singling out, linkability and inference.

No rate stands alone. Beside it is that of an intruder who uses nothing but the spread of the released values, and,
where people are known who were not used, that of the same attack on them. Only what goes beyond these is owed to the
release.
"""

from collections.abc import Callable, Sequence
from typing import Any

from molehill.attacks.criteria import inference, linkability, singling_out
from molehill.attacks.rates import Attack
from molehill.evaluation.attack_data import (
    BEYOND_CONTROL,
    PEOPLE,
    PREDICATES,
    TOLERANCE,
    Tried,
    attack_measures,
    attack_seed,
    known,
    sensitive,
    try_attack,
)
from molehill.evaluation.context import Context
from molehill.evaluation.measure import Block, Measure, Threshold, Value, shared
from molehill.tables.table import Table

# Released records in either list of a link, and of fewer than a hundred a list for each.
_NEIGHBOURS, _RECORDS_A_NEIGHBOUR = 10, 100
# Variables in a predicate.
SIZES = (1, 3)
_Try = Callable[[Table, Sequence[Table], Table | None], Attack]

SINGLING_OUT = Block(
    "Singling out: what is true of one person alone",
    "A claim is what holds for one released record: values that occur once, or that few have together. It succeeds "
    "if it holds for exactly one person of the data.",
    attack=True,
    first=True,
)
LINKABILITY = Block(
    "Linkability: two files on the same people by way of the release",
    "One file has the known columns, another the sensitive ones. Two halves of a person are linked if they are "
    "near to the same released record.",
    attack=True,
    first=True,
)
INFERENCE = Block(
    "Inference: a secret from the released record most like a person",
    "The released record nearest in the known columns is asked for the sensitive one; a number counts as guessed "
    "within 5%.",
    attack=True,
    first=True,
)


@shared
def singling_outs(context: Context) -> dict[int, Tried]:
    """By the number of variables in a predicate, claims that it is true of one person alone."""
    columns = (*known(context), *sensitive(context))

    def attack(size: int) -> _Try:
        about: dict[str, Any] = {"size": size, "attacks": PREDICATES, "seed": attack_seed(context, "single", size)}
        return lambda data, released, control: singling_out(data, list(released), columns, control=control, **about)

    return {size: try_attack(context, attack(size)) for size in SIZES if size <= len(columns)}


@shared
def links(context: Context) -> Tried | None:
    """Links between the key variables and the sensitive ones by way of the release."""
    if not known(context) or not sensitive(context):
        return None
    seed = attack_seed(context, "link")

    def attack(data: Table, released: Sequence[Table], control: Table | None) -> Attack:
        least = min(len(one.frame) for one in released)
        about: dict[str, Any] = {"attacks": PEOPLE, "seed": seed}
        about["neighbours"] = max(1, min(_NEIGHBOURS, least // _RECORDS_A_NEIGHBOUR))
        return linkability(data, list(released), known(context), sensitive(context), control=control, **about)

    return try_attack(context, attack)


@shared
def inferences(context: Context) -> dict[str, Tried]:
    """By sensitive variable, guesses from the released record that looks most like a person."""

    def attack(column: str) -> _Try:
        about: dict[str, Any] = {"tolerance": TOLERANCE, "attacks": PEOPLE}
        about["seed"] = attack_seed(context, "infer", column)
        keys = known(context)
        return lambda data, released, control: inference(data, list(released), keys, column, control=control, **about)

    return {column: try_attack(context, attack(column)) for column in (sensitive(context) if known(context) else ())}


def _inference(context: Context) -> list[tuple[Value, Tried]]:
    return [(Value(tried.attack.rate, column), tried) for column, tried in inferences(context).items()]


def _linkability(context: Context) -> list[tuple[Value, Tried]]:
    tried = links(context)
    return [] if tried is None else [(Value(tried.attack.rate), tried)]


def _singling_out(context: Context) -> list[tuple[Value, Tried]]:
    found = singling_outs(context).items()
    return [(Value(tried.attack.rate, at=float(size)), tried) for size, tried in found if tried.attack.attacks]


ARTICLE_29_MEASURES: Sequence[Measure] = (
    *attack_measures(
        "singling_out",
        SINGLING_OUT,
        "claim of {at} column(s)",
        _singling_out,
        explanation="of the claims that were made",
        threshold=Threshold(
            "singling out",
            *BEYOND_CONTROL,
            "people singled out beyond the control",
            null=0.0,
            at="by {} column(s)",
        ),
    ),
    *attack_measures(
        "linkability",
        LINKABILITY,
        "link",
        _linkability,
        threshold=Threshold("linkability", *BEYOND_CONTROL, "people linked beyond the control", null=0.0),
    ),
    *attack_measures(
        "inference",
        INFERENCE,
        "guess",
        _inference,
        threshold=Threshold("inference", *BEYOND_CONTROL, "secrets guessed beyond the control", null=0.0),
    ),
)
