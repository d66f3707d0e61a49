"""What measures are computed from: one release beside the confidential data, and what is known of how it was made."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from molehill.arrays import Floats, Integers
from molehill.evaluation.options import EvaluationOptions
from molehill.risk.holdout import Holdout
from molehill.risk.identification import ConfidentialRisk, ReleaseRisk, confidential_risk, release_risk, risk_floor
from molehill.risk.intruder import Reading, View, read_released
from molehill.risk.profile import profile_release
from molehill.surveys.design import Sample
from molehill.tables.intervals import Figure
from molehill.tables.table import Table

if TYPE_CHECKING:
    from molehill.attacks.rates import Trial
    from molehill.attacks.worst_case.attributes import AttributeRisk
    from molehill.attacks.worst_case.membership import Membership
    from molehill.evaluation.measure import Need
    from molehill.risk.expected import ExpectedRisk


@dataclass(frozen=True, eq=False)
class Context:
    """One release, or the confidential data themselves, as measures look at it.

    Here is what measures of several families need, each computed once and when it is asked for; what those of one
    family share is a function in its file of `molehill.evaluation.catalogue`, with `shared` above it.

    Attributes
    ----------
    view, confidential
        The confidential data through the intruder's eyes, and their risk.
    readings
        The released datasets; none for the confidential data themselves.
    options
        How to measure.
    expected
        Expected risk, where the posterior is known.
    reference
        The release that this one is compared with record by record, if any.
    beside
        Of the confidential data: the first release, whose analyses are those of the confidential data too.
    holdout
        How near datasets lie to who was in the data and who was not, where that was tried.
    membership, attributes
        What the worst-case intruder learns of some records, where the posterior can say it.
    trial
        People who were not used, with what they are a control of; None without them.
    found
        What measures share, by the function that computed it: see `molehill.evaluation.measure.shared`.
    """

    view: View
    confidential: ConfidentialRisk
    readings: list[Reading]
    options: EvaluationOptions
    expected: "ExpectedRisk | None" = None
    reference: "Context | None" = None
    beside: "Context | None" = None
    holdout: Holdout | None = None
    membership: "Membership | None" = None
    attributes: "Sequence[AttributeRisk]" = ()
    trial: "Trial | None" = None
    found: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def has(self) -> "set[Need]":
        """What measures may need, of that what there is."""
        there: dict[Need, bool] = {
            "own record": not self.options.fully_synthetic,
            "posterior": self.expected is not None or self.membership is not None or bool(self.attributes),
            "control": self.trial is not None,
            "halves": self.holdout is not None,
            "survey design": self.options.survey is not None,
        }
        return {need for need, is_there in there.items() if is_there}

    @property
    def is_release(self) -> bool:
        """Whether there are released datasets, or only the confidential data."""
        return bool(self.readings)

    @property
    def is_linked(self) -> bool:
        """Whether some released record is a person's own; none is in fully synthetic data."""
        return any(reading.rows is None or (reading.rows >= 0).any() for reading in self.readings)

    @property
    def tables(self) -> list[Table]:
        """The released datasets."""
        return [reading.table for reading in self.readings]

    @cached_property
    def risk(self) -> ReleaseRisk:
        """Risk of every record in the released datasets."""
        return release_risk(self.view, self.readings)

    @property
    def by_dataset(self) -> Floats:
        """(datasets, records): risk in every dataset; of the confidential data their own."""
        return self.risk.by_dataset if self.is_release else self.confidential.risk[None]

    @property
    def best_known_risk(self) -> Floats:
        """(blocks, records): expected risk where the model is known, else that of every dataset, which estimate it."""
        return self.by_dataset if self.expected is None else self.expected.blocks

    @cached_property
    def profile(self) -> dict[str, Figure]:
        """How risk is spread over the records."""
        return profile_release(self.by_dataset)

    @cached_property
    def baseline_risk(self) -> float:
        """Mean risk of values drawn from their own pattern."""
        return float(np.nanmean(risk_floor(self.view)))

    @cached_property
    def sample(self) -> Sample | None:
        """How the confidential records were drawn, if that is known."""
        return None if self.options.survey is None else self.options.survey.read(self.view.table)

    @cached_property
    def compared(self) -> "Context":
        """What datasets are compared in: where they are the population's, every record as often as its weight says.

        A dataset that was drawn from the population, and not given the weight, is not to look like the sample. Records
        of the same people are repeated in both; of fully synthetic data those of the confidential data alone.
        """
        if not self.options.population or self.sample is None:
            return self
        rows = self.sample.expanded
        view = self.view.intruder.view(_take(self.view.table, rows))
        linked = self.is_linked
        tables = [_take(table, rows) for table in self.tables] if linked else self.tables
        readings = read_released(view, tables, linked=linked) if tables else []
        options = replace(self.options, survey=None, population=False)
        return Context(view, confidential_risk(view), readings, options)

    @property
    def related(self) -> Sequence[str]:
        """The variables whose relationship with the sensitive ones is measured: by default the key variables."""
        related = self.options.related
        return (
            self.view.schema.having("known") if related is None else (related,) if isinstance(related, str) else related
        )


def _take(table: Table, rows: Integers) -> Table:
    return replace(table, frame=table.frame.iloc[rows].reset_index(drop=True))


def fixed_ends(figure: Figure) -> Figure:
    """Take the interval away of what is the same for every dataset, such as an expectation."""
    same = bool(np.isclose(figure.low, figure.high, rtol=1e-9, atol=0.0))
    return Figure(figure.value, np.nan, np.nan) if same else figure


def alone(value: float) -> Figure:
    """A figure without an interval."""
    return Figure(float(value), np.nan, np.nan)
