"""What a synthesizer is: a NumPyro model of the sensitive variables, and how it predicts them.

The contract that `fit` and `draw` work by, and that every built-in of `molehill.models` meets. To extend is to pass
functions. All of them are pure and written with `jax.numpy`; data are always arguments and never captured, because a
captured array would be written, with its confidential values, into the compile cache on disk.
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
    """What a model would have been given of other values: inputs, and which records it would speak of (None: all)."""

    inputs: Inputs
    applies: np.ndarray | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Learned:
    """Everything that a synthesizer took from the confidential data: one value to inspect.

    Attributes
    ----------
    inputs
        The arguments of the model by name, arrays with one row per record (the observed ones included) or scalars.
    facts
        What the inputs were made with, in plain values: names of design variables, levels, centre and scale.
    applies
        Which records the model speaks of; the others have weight 0, and only their predictors are used.
    again
        `(table) -> inputs`: those inputs that come from predictors, for a dataset with other values in these. Needed
        where predictors are themselves replaced, see `SequentialSynthesizer`.
    observed
        `(table) -> Observed`: those inputs that come from the sensitive variables, for a dataset with other values in
        these, by what was learned from this one. Needed to ask what else a person's value could have been, see
        `molehill.synthesis.sampling.guessing`.
    """

    inputs: Inputs
    facts: Mapping[str, Any] = field(default_factory=dict)
    applies: np.ndarray | None = None
    again: Callable[..., Inputs] | None = None
    observed: Callable[[Table], Observed] | None = None

    def __repr__(self) -> str:
        # The arrays are confidential: only what they are called and how large they are is shown.
        shapes = ", ".join(f"{name} {np.shape(value)}" for name, value in self.inputs.items())
        return f"Learned(inputs: {shapes}; facts: {', '.join(self.facts)})"


class Prediction(NamedTuple):
    """New values for every record from one draw.

    `values` maps each sensitive variable to one number per record in the units of the data (codes of the levels for a
    categorical variable). `outside` is the share of the predictive mass, over all records, that lay outside the
    declared support and was cut off.
    """

    values: Mapping[str, Any]
    outside: "Array | float" = 0.0


class Data(NamedTuple):
    """What a model is fitted to: its inputs, one weight per record, and draws of another fit to start from, if any."""

    inputs: Inputs
    weights: Any
    start: Mapping[str, Any] = {}


@dataclass(frozen=True, eq=False)
class Synthesizer:
    """A model that can replace sensitive variables.

    Attributes
    ----------
    model
        A NumPyro model. Its arguments are `inputs`; each observed site has one term per record.
    sensitive
        The variables that it replaces, one name or several.
    name
        What it is called in settings and reports; by default the name of the model.
    words
        What the model is, as a methods note for the public says it: "a mixture of regressions".
    options
        Ways to draw that may be changed without fitting anew, and which are chosen: `predict` takes them by name. A
        search looks here for "membership".
    predict
        `(key, draw, inputs, **options) -> Prediction`. Without it the model itself is run with the sensitive arguments
        None and the sites named like the sensitive variables are taken.
    learn
        `(table, weights) -> Learned`: one weight per record; what has weight 0 must not shape the inputs of others.
        Without it the inputs are the variables that the model's arguments name.
    start
        `(key, inputs, weights) -> {site: value}`: a good place to start a chain, on the scale of the sites.
    functionals
        `(draw, inputs, weights) -> {name: vector}`: quantities that do not depend on labels, watched for convergence.
        Without it all latent sites are watched.
    engine
        `(synthesizer, data) -> molehill.synthesis.sampling.chains.Engine`, where another than NUTS is the default.
    levels
        For a categorical sensitive variable, its levels in the order of the codes: `(learned) -> {column: levels}`.
    tolerances
        How far apart chains in different modes may lie, by functional, so that no released dataset shows it: infinitely
        for what no dataset depends on, such as a log-likelihood, and not at all for functionals that are not named.
    variant
        Which of several sizes of the model this is, in words: "10 components".
    simpler
        What to fit in its place, if it does not converge.
    missing
        Whether it says itself which values are missing; otherwise those that are missing stay so.
    identified
        Whether the records say what each parameter is. Where labels can switch, as in a mixture, they do not, and a fit
        to a survey leaves its draws as they are; see `molehill.synthesis.sandwich`.
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
            raise InputError("model", problem, "Give a NumPyro model, or a synthesizer of molehill.models")
        object.__setattr__(self, "sensitive", _check_sensitive(self.sensitive))
        called = self.name or getattr(self.model, "__name__", type(self.model).__name__)
        object.__setattr__(self, "name", called)
        object.__setattr__(self, "words", self.words or f"the agency's own model, called {called}")


@dataclass(frozen=True, eq=False)
class DirectSynthesizer:
    """A synthesizer whose posterior is drawn from directly: independent draws, no model to run chains on, no JAX.

    Attributes
    ----------
    sensitive, name, words, options, levels, missing
        As in `Synthesizer`.
    learn
        `(table, weights) -> Learned`, as in `Synthesizer`. Its `again` may take, after the dataset, the names of the
        variables that were replaced, so that nothing else is made again.
    sample
        `(learned, weights, seed, advance=...) -> {site: array (1, draws, ...)}`; `advance(n)` tells that n more are
        done.
    predict
        `(random, draws, place, learned, inputs, **options) -> Prediction`: all draws, and which of them to begin with.
        The inputs may hold, beside those that were learned, what a record's new value must keep to: "lower" and "upper"
        of a number, "allowed" (records, levels) of a category.
    functionals
        `(draws, learned, weights) -> {name: array (1, draws, number)}`: what is told of the draws.
    surveyed
        Whether `learn` and `sample` take, as `survey`, the `molehill.synthesis.survey_fit.Survey` that the records are
        from, and their weights are then the risk weights alone. Otherwise what they are given is the product of risk
        and design weights, and nothing is corrected.
    compare_releases
        `(draws, learned, weights, rows, places, releases, seed) -> array (releases, rows)`: how much likelier a release
        whose datasets begin with the draws at `places` would be without a record, as a logarithm, in so many releases
        simulated with it. One that is `surveyed` is given the survey, as it is to `sample`. See
        `molehill.synthesis.sampling.removal`.
    find_deciding
        `(table, weights, learned, rows) -> array (rows)`: which of some records decide by being there what values can
        be released at all, such as one that is released because so many records share it: what is released then shows
        that the record was there. With the survey, where it is `surveyed`.
    compare_guesses
        `(draws, learned, weights, rows, guesses, places, releases, seed) -> array (releases, rows, guesses)`: the same
        of other values. `guesses` are inputs, one for each guess, in which the rows have their guessed values.
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
    """Synthesizers that share no parameter, and a rule that joins what they predict: each is fitted on its own.

    Attributes
    ----------
    sensitive
        The variables that it replaces, one name or several.
    parts
        `(table) -> {name: Synthesizer}`: which parts the dataset needs.
    join
        `({name of part: values}, {name of part: Learned}) -> values`, both values as in `Prediction`.
    name, words, options
        As in `Synthesizer`; an option goes to the parts that have it.
    unweighted
        Parts that are fitted as if every record had the risk weight 1; the weights of a survey are theirs too.
    optional
        Parts that `join` can do without, where no record that they speak of has a weight.
    missing
        As in `Synthesizer`: a value that is missing is NaN, or the code -1.
    coded_by
        Of a categorical variable the part whose codes its values are.
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
        raise InputError("sensitive", "no variable is named", "Name the variables that the model replaces")
    return names


@dataclass(frozen=True, eq=False)
class SequentialSynthesizer:
    """Synthesizers of several variables, drawn one after the other.

    Each is fitted on its own, to the true values of its predictors. In drawing, a predictor that a synthesizer before
    it replaces has its synthetic values: the inputs are made again from the dataset as far as it is drawn
    (`Learned.again`). A variable that is replaced later cannot be a predictor: what a synthesizer learns from is the
    dataset without it. With independent priors the product of these conditionals, all raised to the record's weight, is
    the pseudo posterior of the joint model.

    Attributes
    ----------
    links
        The synthesizers in the order of drawing; no two replace the same variable.
    rules
        What every drawn record keeps to: by construction where a synthesizer can draw within a support, and by drawing
        the record again where not.
    """

    links: tuple[Link, ...]
    rules: Rules = field(default_factory=Rules)

    def __post_init__(self) -> None:
        remedy = "Give synthesizers in the order of drawing, such as SequentialSynthesizer((first, second))"
        if not isinstance(self.links, Iterable | Link):
            raise InputError("links", f"it is of type {type(self.links).__name__}, not synthesizers", remedy)
        links = (self.links,) if isinstance(self.links, Link) else tuple(self.links)
        if not links:
            raise InputError("links", "it holds no synthesizer", remedy)
        for link in links:
            if not isinstance(link, Link):
                problem = f"it holds something of type {type(link).__name__}, not a synthesizer"
                raise InputError("links", problem, remedy)
        object.__setattr__(self, "links", links)

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The variables that it replaces, in the order of drawing."""
        return tuple(name for link in self.links for name in link.sensitive)

    @property
    def name(self) -> str:
        """What it is called: its links in their order."""
        return ", ".join(link.name for link in self.links)

    @property
    def words(self) -> str:
        """What it is, for a methods note."""
        own = {link.words for link in self.links}
        if len(own) == 1 and len(self.links) > 1:
            return f"{own.pop()} for each of these columns, one after the other"
        return "; then ".join(f"{link.words} ({', '.join(link.sensitive)})" for link in self.links)

    @property
    def options(self) -> dict[str, Any]:
        """The options of its links."""
        return {name: value for link in self.links for name, value in link.options.items()}


AnySynthesizer = Link | SequentialSynthesizer
