"""How releases are measured, and what else is known of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

from molehill.attacks.rates import Trial
from molehill.errors import InputError, check_choice, check_names, check_number, check_whole
from molehill.evaluation.measure import Measure
from molehill.risk.holdout import Holdout
from molehill.risk.intruder import Radius
from molehill.rules.rules import Rules
from molehill.surveys.design import SurveyDesign
from molehill.utility import Analysis
from molehill.utility.distances import Method

if TYPE_CHECKING:
    from molehill.synthesis.posterior import Posterior

# The classifiers of the propensity score test, and what each is called.
CLASSIFIERS = {"logistic": "logistic", "tree": "classification tree"}


# Neither compared nor printed: a control group is confidential.
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class EvaluationOptions:
    """What `evaluate` measures and how, beside the data, the releases and the intruder. Every field has a default.

    Attributes
    ----------
    measures
        What to measure; by default all that ship. `(*MEASURES, mine)`, with `MEASURES` of
        `molehill.evaluation.catalogue`, adds one of your own: see `molehill.Measure`.
    skip
        Measures to leave out, by id, or all figures of an attack by its name, such as "singling_out".
    thresholds
        By the id of a measure, where its risk type becomes amber and red on the scorecard, in place of ours: see the
        setting `thresholds`. `{"matches_true": {"amber": 0.02, "red": 0.1}, "closest_records": "off"}`.
    analyses
        What users will compute, from `molehill.utility`; by default mean, median, 90% quantile and standard deviation
        of every numeric sensitive variable. An empty list leaves them out.
    groups
        Variables within whose groups utility is measured as well.
    interval, rule
        Of the estimates, as in `molehill.utility.estimate`.
    propensity_methods
        Classifiers of the propensity score test: "logistic", "tree", both or, empty, none.
    related
        Variables whose relationship with the sensitive ones is measured; by default the key variables.
    radii
        Other radii that an intruder may use; by default half, one and a half times and twice the radius.
    step
        Smallest increase in risk that counts.
    id_column
        Variable that identifies a record, in all files; without it records are matched by row or, where they stand in
        another order, by what is released unchanged.
    fully_synthetic
        Whether no released record corresponds to a respondent: datasets of any number of records, of which only
        measures are taken that do not need a person's own record.
    shuffled
        Whether the released records will be put in random order before publication: else the order of the rows is
        examined, too.
    hidden
        Variables of the released datasets that will not be published: nobody can weight by them.
    survey
        How the confidential records were drawn, if they are a sample of a survey: estimates and distances are weighted
        then, with the variances of the design, and the rarity of records in the population is estimated.
    population
        Whether datasets were drawn from the population of the survey, and not given its weight: they are then compared
        with the confidential data as weighted.
    edit_rules
        What every record has to satisfy: released records that do not are counted, such as with
        `Rules(constraints=molehill.rules.read_constraints("rent <= income", data))`.
    posteriors
        By the name of the release, the posterior that it was drawn from: adds the expected risk of every record and, of
        the first release, what it shows of some records having been in the data.
    reference
        Name of the release that the others are compared with, record by record, to count increases and find moles.
    datasets, seed
        Draws for the expected risk, and random numbers for it and for what chance alone would show.
    unconverged
        "error" refuses a posterior that has not converged, as `draw` does.
    control
        Comparable people who were not used to make any release, as a dataset: attacks are tried on them as well, and
        only success beyond that is attributed to a release.
    trials
        By the name of the release, a control of its own: what was made of some of the people, with the others as the
        control.
    holdouts
        By the name of the release, what holding out halves of the records showed.
    progress
        Whether to show a bar, on a terminal, of what takes longer than two seconds.
    """

    measures: Measure | Sequence[Measure] | None = None
    skip: str | Sequence[str] = ()
    thresholds: Mapping[str, Any] | None = None
    analyses: Analysis | Sequence[Analysis] | None = None
    groups: str | Sequence[str] | None = None
    interval: Literal["combined", "bootstrap"] = "combined"
    rule: Literal["partial", "full"] = "partial"
    propensity_methods: Method | Sequence[Method] = ("logistic", "tree")
    related: str | Sequence[str] | None = None
    radii: Radius | Sequence[Radius] = None
    step: float = 0.2
    id_column: str | None = None
    fully_synthetic: bool = False
    shuffled: bool = False
    hidden: str | Sequence[str] = ()
    survey: SurveyDesign | None = None
    population: bool = False
    edit_rules: Rules | None = None
    posteriors: "Mapping[str, Posterior] | None" = None
    reference: str | None = None
    datasets: int = 400
    seed: int = 0
    unconverged: Literal["error", "allow"] = "error"
    control: Any = None
    trials: Mapping[str, Trial] | None = None
    holdouts: Mapping[str, Holdout] | None = None
    progress: bool = True

    def __post_init__(self) -> None:
        check_choice("interval", self.interval, ("combined", "bootstrap"))
        check_choice("rule", self.rule, ("partial", "full"))
        check_choice("unconverged", self.unconverged, ("error", "allow"))
        check_number("step", self.step)
        several = {
            "analyses": None if self.analyses is None else _several(self.analyses, Analysis),
            "propensity_methods": _several(self.propensity_methods, str),
            "related": None if self.related is None else check_names("related", self.related),
            "radii": None if self.radii is None else _several(self.radii, Mapping),
            "hidden": check_names("hidden", self.hidden),
            "skip": check_names("skip", self.skip),
            "seed": check_whole("seed", self.seed, 0),
        }
        for name, value in several.items():
            object.__setattr__(self, name, value)
        if not all(isinstance(one, Analysis) for one in several["analyses"] or ()):
            raise InputError("analyses", "it holds something else", "Give for instance [mean('income')]")
        for method in several["propensity_methods"]:
            check_choice("propensity_methods", method, tuple(CLASSIFIERS))
        for radius in several["radii"] or ():
            if not isinstance(radius, Real | Mapping):
                problem = f"one is of type {type(radius).__name__}, not a radius"
                raise InputError("radii", problem, "Give numbers such as [0.1, 0.3], or numbers by column")


def _several(given: Any, alone: Any) -> tuple[Any, ...]:
    """Take one, which may be something to go through itself, for a list of one."""
    return (given,) if isinstance(given, alone | str) or not isinstance(given, Iterable) else tuple(given)
