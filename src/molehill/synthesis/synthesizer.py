"""The synthesizer contract: a model of the sensitive variables, and how it predicts them.

`fit` and `draw` rely on it, and every synthesizer of `molehill.models` meets it. Its functions are pure; those of
NumPyro models use `jax.numpy`. Data are always arguments and never captured: a captured array would be written, with
its confidential values, into the compile cache on disk.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from molehill.errors import InputError, check_names
from molehill.rules.rules import Rules
from molehill.tables.table import Table

if TYPE_CHECKING:
    from jax import Array

Inputs = Mapping[str, Any]
Draw = Mapping[str, "Array"]


class Observed(NamedTuple):
    """Model inputs for other sensitive values, and which records the model applies to (None: all)."""

    inputs: Inputs
    applies: np.ndarray | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Learned:
    """Everything that a synthesizer learned from the confidential data, in one inspectable value.

    Attributes
    ----------
    inputs
        The arguments of the model by name, arrays with one row per record (the observed ones included) or scalars.
    facts
        How the inputs were encoded, in plain values: names of design variables, levels, centre and scale.
    applies
        Which records the model applies to; the others have weight 0, and only their predictors are used.
    again
        `(table) -> inputs`: the inputs that are computed from predictors, for a dataset with other values of these.
        Needed if predictors are synthesized, see `SequentialSynthesizer`.
    observed
        `(table) -> Observed`: the inputs that are computed from the sensitive variables, for a dataset with other
        values of these. Needed for the attribute risk, see `molehill.synthesis.sampling.guessing`.
    """

    inputs: Inputs
    facts: Mapping[str, Any] = field(default_factory=dict)
    applies: np.ndarray | None = None
    again: Callable[..., Inputs] | None = None
    observed: Callable[[Table], Observed] | None = None

    def __repr__(self) -> str:
        # The arrays are confidential: only names and shapes are shown.
        shapes = ", ".join(f"{name} {np.shape(value)}" for name, value in self.inputs.items())
        return f"Learned(inputs: {shapes}; facts: {', '.join(self.facts)})"


class Prediction(NamedTuple):
    """New values for every record from one draw.

    `values` maps each sensitive variable to one number per record in the units of the data (level codes for a
    category). `outside` is the share of the predictive mass, over all records, outside the declared support.
    """

    values: Mapping[str, Any]
    outside: "Array | float" = 0.0


class Data(NamedTuple):
    """Data of a fit: model inputs, one weight per record, and draws of another fit to start from, if any."""

    inputs: Inputs
    weights: Any
    start: Mapping[str, Any] = {}


@dataclass(frozen=True, eq=False)
class Synthesizer:
    """A model that synthesizes sensitive variables.

    Attributes
    ----------
    model
        A NumPyro model. Its arguments are `inputs`; each observed site has one term per record.
    sensitive
        The variables to synthesize, one name or several.
    name
        Name in settings and reports; by default that of the model.
    words
        Description for the methods note: "a mixture of regressions".
    options
        Options of drawing that can be changed without refitting, with their values: `predict` takes them by name.
    predict
        `(key, draw, inputs, **options) -> Prediction`. By default the model is run with the sensitive arguments None,
        and the sites named like the sensitive variables are taken.
    learn
        `(table, weights) -> Learned`; a record of weight 0 must not affect the inputs of others. By default the inputs
        are the variables named by the model's arguments.
    start
        `(key, inputs, weights) -> {site: value}`: starting values of a chain.
    functionals
        `(draw, inputs, weights) -> {name: vector}`: quantities monitored for convergence, invariant to label switching;
        by default all latent sites.
    engine
        `(synthesizer, data) -> molehill.synthesis.sampling.chains.Engine`, if not NUTS.
    levels
        `(learned) -> {column: levels}`: levels of a categorical sensitive variable, in the order of the codes.
    tolerances
        By functional, the largest difference between chains in different modes that does not affect released datasets:
        infinite for those that no dataset depends on (a log-likelihood), 0 for those not named.
    variant
        Size of the model, for example "10 components".
    simpler
        The model to fit instead if this one does not converge.
    missing
        Whether the model also predicts which values are missing; otherwise missing values stay missing.
    identified
        Whether the parameters are identified. If not (label switching), draws are not corrected for a survey design,
        see `molehill.synthesis.sandwich`.
    """

    model: Callable[..., Any]
    sensitive: Sequence[str] | str
    name: str = ""
    words: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    predict: Callable[..., Prediction] | None = None
    learn: Callable[[Table, np.ndarray], Learned] | None = None
    start: "Callable[[Array, Inputs, Array], Mapping[str, Any]] | None" = None
    functionals: "Callable[[Draw, Inputs, Array], Mapping[str, Array]] | None" = None
    engine: Callable[..., Any] | None = None
    levels: Callable[[Learned], Mapping[str, Any]] | None = None
    tolerances: Mapping[str, float] = field(default_factory=dict)
    variant: str = ""
    simpler: "Synthesizer | None" = None
    missing: bool = False
    identified: bool = True

    def __post_init__(self) -> None:
        if not callable(self.model):
            problem = f"it is of type {type(self.model).__name__}, not a function"
            raise InputError("model", problem, "Give a NumPyro model, or use a synthesizer of molehill.models")
        object.__setattr__(self, "sensitive", _check_sensitive(self.sensitive))
        called = self.name or getattr(self.model, "__name__", type(self.model).__name__)
        object.__setattr__(self, "name", called)
        object.__setattr__(self, "words", self.words or f"the agency's own model, called {called}")


@dataclass(frozen=True, eq=False)
class DirectSynthesizer:
    """A synthesizer with independent posterior draws, without MCMC or JAX.

    Attributes
    ----------
    sensitive, name, words, options, levels, missing
        As in `Synthesizer`.
    learn
        `(table, weights) -> Learned`, as in `Synthesizer`. Its `again` may take, after the dataset, the names of the
        synthesized variables, so that other inputs are not recomputed.
    sample
        `(learned, weights, seed, advance=...) -> {site: array (1, draws, ...)}`; `advance(n)` reports progress.
    predict
        `(random, draws, place, learned, inputs, **options) -> Prediction`: all draws, and the index of the first to
        use. The inputs may also contain the support of every new value: "lower" and "upper" of a number, "allowed"
        (records, levels) of a category.
    functionals
        `(draws, learned, weights) -> {name: array (1, draws, number)}`: summaries of the draws.
    surveyed
        Whether `learn` and `sample` take a `molehill.synthesis.survey_fit.Survey` as `survey`; their weights are then
        the risk weights alone. Otherwise they get the product of risk and survey weights, without variance correction.
    compare_releases
        `(draws, learned, weights, rows, places, releases, seed) -> array (releases, rows)`: for simulated releases
        whose datasets start at the draws `places`, the log ratio of their probability without a record to that with it;
        with `survey` if `surveyed`. See `molehill.synthesis.sampling.removal`.
    find_deciding
        `(table, weights, learned, rows) -> array (rows)`: which records determine by their presence what values can be
        released, for example a value released because many records have it; with `survey` if `surveyed`.
    compare_guesses
        `(draws, learned, weights, rows, guesses, places, releases, seed) -> array (releases, rows, guesses)`: as
        `compare_releases`, for other values of the rows; `guesses` are inputs, one per guess.
    """

    sensitive: Sequence[str] | str
    name: str
    words: str
    learn: Callable[[Table, np.ndarray], Learned]
    sample: Callable[..., Mapping[str, np.ndarray]]
    predict: Callable[..., Prediction]
    functionals: Callable[..., Mapping[str, np.ndarray]]
    options: Mapping[str, Any] = field(default_factory=dict)
    levels: Callable[[Learned], Mapping[str, Any]] | None = None
    variant: str = ""
    missing: bool = False
    surveyed: bool = False
    compare_releases: Callable[..., np.ndarray] | None = None
    find_deciding: Callable[..., np.ndarray] | None = None
    compare_guesses: Callable[..., np.ndarray] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "sensitive", _check_sensitive(self.sensitive))


@dataclass(frozen=True, eq=False)
class Composite:
    """Several synthesizers without shared parameters, fitted separately, and a function that joins their predictions.

    Attributes
    ----------
    sensitive
        The variables to synthesize, one name or several.
    parts
        `(table) -> {name: Synthesizer}`: the parts that the data need.
    join
        `({name of part: values}, {name of part: Learned}) -> values`, both values as in `Prediction`.
    name, words, options
        As in `Synthesizer`; an option is passed to the parts that have it.
    unweighted
        Parts fitted with risk weight 1 for every record; survey weights still apply.
    optional
        Parts that `join` does not need if no record they apply to has a positive weight.
    missing
        As in `Synthesizer`; a missing value is NaN, or the code -1.
    coded_by
        For a categorical variable, the part that defines the codes.
    """

    sensitive: Sequence[str] | str
    parts: Callable[[Table], Mapping[str, Synthesizer]]
    join: Callable[[Mapping[str, Mapping[str, Any]], Mapping[str, Learned]], Mapping[str, Any]]
    name: str = "composite"
    words: str = "several models, each of a part of the value"
    options: Mapping[str, Any] = field(default_factory=dict)
    unweighted: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    missing: bool = False
    coded_by: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "sensitive", _check_sensitive(self.sensitive))


Link = Synthesizer | DirectSynthesizer | Composite


def _check_sensitive(given: Any) -> tuple[str, ...]:
    names = check_names("sensitive", given)
    if not names:
        raise InputError("sensitive", "no variable is named", "Name the variables that the model synthesizes")
    return names


@dataclass(frozen=True, eq=False)
class SequentialSynthesizer:
    """Sequential synthesis: synthesizers of several variables in synthesis order.

    Each is fitted separately to the true values of its predictors. When drawing, predictors that were synthesized
    before have their synthetic values (`Learned.again`). A variable synthesized later cannot be a predictor. With
    independent priors the product of these conditionals, raised to the records' weights, is the joint pseudo posterior.

    Attributes
    ----------
    links
        The synthesizers in synthesis order; no two synthesize the same variable.
    rules
        Edit rules of every drawn record, met by construction where a synthesizer can draw within a support, otherwise
        by rejection sampling.
    """

    links: tuple[Link, ...]
    rules: Rules = field(default_factory=Rules)

    def __post_init__(self) -> None:
        remedy = "Give synthesizers in synthesis order, for example SequentialSynthesizer((first, second))"
        if not isinstance(self.links, Iterable | Link):
            raise InputError("links", f"it is of type {type(self.links).__name__}, not synthesizers", remedy)
        links = (self.links,) if isinstance(self.links, Link) else tuple(self.links)
        if not links:
            raise InputError("links", "it contains no synthesizer", remedy)
        for link in links:
            if not isinstance(link, Link):
                problem = f"it contains something of type {type(link).__name__}, not a synthesizer"
                raise InputError("links", problem, remedy)
        object.__setattr__(self, "links", links)

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The synthesized variables, in synthesis order."""
        return tuple(name for link in self.links for name in link.sensitive)

    @property
    def name(self) -> str:
        """Names of the synthesizers, in synthesis order."""
        return ", ".join(link.name for link in self.links)

    @property
    def words(self) -> str:
        """Description for the methods note."""
        own = {link.words for link in self.links}
        if len(own) == 1 and len(self.links) > 1:
            return f"{own.pop()} for each of these variables, sequentially"
        return "; then ".join(f"{link.words} ({', '.join(link.sensitive)})" for link in self.links)

    @property
    def options(self) -> dict[str, Any]:
        """Options of all synthesizers."""
        return {name: value for link in self.links for name, value in link.options.items()}


AnySynthesizer = Link | SequentialSynthesizer
