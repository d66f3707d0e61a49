"""The error that Molehill raises for invalid input, and checks that raise it."""

import difflib
import math
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any


class InputError(ValueError):
    """An argument is invalid.

    The message names the argument, the problem and the remedy. It never contains a value of the confidential data, only
    names of variables, row numbers and counts.

    Parameters
    ----------
    argument
        Name of the argument.
    problem
        What is wrong, as a sentence without full stop.
    remedy
        What to do, as a sentence without full stop.

    Examples
    --------
    >>> raise InputError("radius", "it is 20, but must lie between 0 and 1", "For 20% write radius = 0.2")
    Traceback (most recent call last):
    molehill.errors.InputError: radius: it is 20, but must lie between 0 and 1. For 20% write radius = 0.2.
    """

    def __init__(self, argument: str, problem: str, remedy: str) -> None:
        self.argument, self.problem, self.remedy = argument, problem, remedy
        super().__init__(f"{argument}: {problem}. {remedy}.")

    def __reduce__(self) -> tuple[Any, ...]:
        # By default, an exception is unpickled from its message alone.
        return type(self), (self.argument, self.problem, self.remedy), self.__dict__

    @property
    def __context__(self) -> BaseException | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """None: the error of a library that led to this one may quote a value."""
        return None

    @__context__.setter
    def __context__(self, error: BaseException | None) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        del error


# Risk hardly changes beyond a few.
MOST_ORDER = 1_000


def check_order(order: int) -> int:
    """Check that the order of a risk is a whole number from 1 to 1,000."""
    if isinstance(order, bool) or not isinstance(order, Integral) or not 1 <= order <= MOST_ORDER:
        problem = f"it must be a whole number from 1 to {MOST_ORDER:,}"
        raise InputError("order", problem, "Use 1 (marginal) or 2 (pairwise)")
    return int(order)


def check_choice(argument: str, value: str, choices: Sequence[str]) -> str:
    """Check that a value is one of the choices."""
    if not isinstance(value, str):
        # Only its type is shown: it may be a dataset given by mistake.
        problem = f"it is of type {type(value).__name__}, not text"
        raise InputError(argument, problem, f"Choose one of {', '.join(map(repr, choices))}")
    if value not in choices:
        raise InputError(argument, f"{value!r} is not a choice", f"Choose one of {', '.join(map(repr, choices))}")
    return value


def check_names(argument: str, names: Any) -> tuple[str, ...]:
    """Convert one or several names of variables to a tuple.

    Examples
    --------
    >>> check_names("known", "age"), check_names("known", ["age", "sex"])
    (('age',), ('age', 'sex'))
    """
    remedy = "Give one name, or a list of names"
    if isinstance(names, str):
        return (names,)
    # A frame iterates over its names, but is given by mistake.
    if not isinstance(names, Iterable) or hasattr(names, "columns"):
        raise InputError(argument, f"it is of type {type(names).__name__}, not names of variables", remedy)
    several = tuple(names)
    for name in several:
        if not isinstance(name, str):
            raise InputError(argument, f"a variable's name must be text, not {type(name).__name__}", remedy)
    return tuple(map(str, several))


def nearest(name: str, names: Iterable[str]) -> str:
    """Remedy for an unknown name: the most similar one, and the list of names.

    Examples
    --------
    >>> nearest("Incom", ["age", "income"])
    "Did you mean 'income'? The names are 'age', 'income'"
    """
    candidates = list(names)
    shown = ", ".join(map(repr, candidates[:10])) + (", and more" if len(candidates) > 10 else "")
    lowered = {candidate.lower(): candidate for candidate in candidates}
    found = difflib.get_close_matches(name.lower(), lowered, n=1)
    return (f"Did you mean {lowered[found[0]]!r}? " if found else "") + f"The names are {shown}"


def is_whole(number: Any, least: int) -> bool:
    """Whether a number is whole and at least `least`."""
    return isinstance(number, Integral) and not isinstance(number, bool) and int(number) >= least


def check_whole(argument: str, number: Any, least: int) -> int:
    """Check that a number is whole and at least `least`."""
    if not is_whole(number, least):
        raise InputError(argument, f"it must be a whole number from {least} up", f"For example {least}")
    return int(number)


def check_number(argument: str, number: Any, *, above: float = -math.inf) -> float:
    """Check that a number is finite and above a bound."""
    if isinstance(number, bool) or not isinstance(number, Real) or not math.isfinite(float(number)):
        problem = f"it is of type {type(number).__name__}, expected a finite number"
        raise InputError(argument, problem, "For example 0.2")
    if float(number) <= above:
        raise InputError(argument, f"it must be above {above:g}", "Give a larger number")
    return float(number)
