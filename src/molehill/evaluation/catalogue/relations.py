"""Relations: how well pairs and triples of variables agree with those of the confidential data."""

from collections.abc import Iterable, Sequence
from typing import Literal

import pandas as pd

from molehill.evaluation.context import Context, fixed_ends
from molehill.evaluation.measure import Block, Measure, Value, shared, utility_measure
from molehill.tables.intervals import Figure
from molehill.tables.resolution import holds_dates
from molehill.utility import Agreement, agreement
from molehill.utility.marginals import MOST_SETS

# Categories at most of a variable, of whose cells something can be said.
MOST_LEVELS = 100
# Variables whose pairs and triples are compared at most; of more than this many records in all datasets, fewer of the
# sets.
_MOST_RELATED = 25
_MOST_COUNTED = 4_000_000_000
_LEAST_SETS = 200

RELATIONS = Block("Relations between columns")


@shared
def agreements(context: Context) -> Agreement | None:
    """How well pairs and triples of variables agree that contain a sensitive one; None for the confidential data.

    The variables are the sensitive and the key ones (or those named as related), the first 25 of them, without
    categories of more than 100 levels: nothing could be said of their cells. For large files fewer of the sets are
    compared, at least 200.
    """
    if not context.is_release:
        return None
    frame, schema = context.view.table.frame, context.view.schema
    sensitive = schema.having("sensitive")
    # Codes that were declared to be categories are not cut like numbers.
    exact = {column.name for column in schema.columns if column.kind == "categorical"}
    related = [
        name
        for name in context.related
        if name not in sensitive
        and (
            (name not in exact and (pd.api.types.is_numeric_dtype(frame[name].dtype) or holds_dates(frame[name])))
            or frame[name].nunique(dropna=False) <= MOST_LEVELS
        )
    ]
    columns = [*sensitive, *related][:_MOST_RELATED]
    counted = sum(len(other.frame) for other in context.tables)
    return agreement(
        context.view.table,
        context.tables,
        columns[: len(sensitive)],
        columns=columns,
        breaks={name: () for name in columns if name in exact},
        most_sets=max(_LEAST_SETS, min(MOST_SETS, _MOST_COUNTED // counted)),
    )


def _agreement(id_: str, label: str, better: Literal["higher", ""] = "higher") -> Measure:
    """A mean over marginals: kept inside, for a fresh sample's tells how the confidential values are spread."""

    def compute(context: Context) -> Iterable[Value]:
        found = agreements(context.compared)
        if found is None:
            return []
        rows = found.summary
        return [
            Value(fixed_ends(Figure(float(row["value"]), float(row["low"]), float(row["high"]))))
            for row in rows[rows["measure"] == id_].to_dict("records")
        ]

    reference = "the k-marginal score of NIST: 1000 (1 - total variation), averaged over the sets of columns"
    return utility_measure(id_, label, RELATIONS, compute, better=better, reference=reference)


RELATION_MEASURES: Sequence[Measure] = (
    _agreement("agreement_2", "agreement of pairs of columns, of 1000"),
    _agreement("agreement_2_benchmark", "agreement of pairs, fresh sample", ""),
    _agreement("agreement_3", "agreement of triples of columns, of 1000"),
    _agreement("agreement_3_benchmark", "agreement of triples, fresh sample", ""),
)
