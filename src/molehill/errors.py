"""What Molehill says when it cannot go on."""

import difflib
import math
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any


class InputError(ValueError):
    """Something that the caller gave cannot be used.

    The text names the argument first, then what is wrong with it, then the remedy. It never contains a
    value of the confidential data: columns, row numbers and counts only.

    Parameters
    ----------
    argument
        The name of the argument, as the caller wrote it.
    problem
        What is wrong, as a sentence without its full stop.
    remedy
        What to change, as a sentence without its full stop.

    Examples
    --------
    >>> raise InputError("radius", "it is 20, above 1", "For 20 percent write 0.2")
    Traceback (most recent call last):
    molehill.errors.InputError: radius: it is 20, above 1. For 20 percent write 0.2.
    """

    def __init__(self, argument: str, problem: str, remedy: str) -> None:
        self.argument, self.problem, self.remedy = argument, problem, remedy
        super().__init__(f"{argument}: {problem}. {remedy}.")

    def __reduce__(self) -> tuple[Any, ...]:
        # Left to itself, an exception is made again from its text alone, which is one argument of three.
        return type(self), (self.argument, self.problem, self.remedy), self.__dict__

    @property
    def __context__(self) -> BaseException | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Nothing: the error of a library, while which this one was raised, may quote a value of the dataset."""
        return None

    @__context__.setter
    def __context__(self, error: BaseException | None) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        del error


# More companions at once are of no use: risk hardly changes from a few on.
MOST_ORDER = 1_000


def check_order(order: int) -> int:
    """Accept a whole number from 1 to 1,000."""
    if isinstance(order, bool) or not isinstance(order, Integral) or not 1 <= order <= MOST_ORDER:
        problem = f"it must be a whole number from 1 to {MOST_ORDER:,}"
        raise InputError("order", problem, "1 is marginal, 2 is pairwise")
    return int(order)


def check_choice(argument: str, value: str, choices: Sequence[str]) -> str:
    """Accept one of the named choices."""
    if not isinstance(value, str):
        # Told by its type: what was given by mistake may be a dataset.
        problem = f"it is of type {type(value).__name__}, not text"
        raise InputError(argument, problem, f"Choose one of {', '.join(map(repr, choices))}")
    if value not in choices:
        raise InputError(argument, f"{value!r} is not a choice", f"Choose one of {', '.join(map(repr, choices))}")
    return value


def check_names(argument: str, names: Any) -> tuple[str, ...]:
    """Accept names of columns: one, or several; whether a dataset has them is not asked.

    Examples
    --------
    >>> check_names("known", "age"), check_names("known", ["age", "sex"])
    (('age',), ('age', 'sex'))
    """
    remedy = "Give one name, or a list of names"
    if isinstance(names, str):
        return (names,)
    # A dataset goes through its names, but nobody means all of them.
    if not isinstance(names, Iterable) or hasattr(names, "columns"):
        raise InputError(argument, f"it is of type {type(names).__name__}, not names of columns", remedy)
    several = tuple(names)
    for name in several:
        if not isinstance(name, str):
            raise InputError(argument, f"a column's name must be text, not {type(name).__name__}", remedy)
    return tuple(map(str, several))


def nearest(name: str, names: Iterable[str]) -> str:
    """Say which of the names was probably meant, as the remedy of an error.

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
    """Whether it is a whole number from `least` up."""
    return isinstance(number, Integral) and not isinstance(number, bool) and int(number) >= least


def check_whole(argument: str, number: Any, least: int) -> int:
    """Accept a whole number from `least` up."""
    if not is_whole(number, least):
        raise InputError(argument, f"it must be a whole number from {least} up", "Give such a number")
    return int(number)


def check_number(argument: str, number: Any, *, above: float = -math.inf) -> float:
    """Accept a finite number above a bound."""
    if isinstance(number, bool) or not isinstance(number, Real) or not math.isfinite(float(number)):
        raise InputError(argument, "it must be a finite number", "Give such a number")
    if float(number) <= above:
        raise InputError(argument, f"it must be above {above:g}", "Give a larger number")
    return float(number)
