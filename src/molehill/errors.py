"""What Molehill says when it cannot go on."""

import difflib
import math
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any


class InputError(ValueError):
    """Something that the caller gave cannot be used.

    The text names the argument first, then what is wrong with it, then the remedy. It never contains a
    value of the confidential table: columns, row numbers and counts only.

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
        self.argument = argument
        super().__init__(f"{argument}: {problem}. {remedy}.")


def check_order(order: int) -> int:
    """Accept a whole number from 1 up."""
    if isinstance(order, bool) or not isinstance(order, Integral) or order < 1:
        raise InputError("order", "it must be a whole number from 1 up", "1 is marginal, 2 is pairwise")
    return int(order)


def check_choice(argument: str, value: str, choices: Sequence[str]) -> str:
    """Accept one of the named choices."""
    if value not in choices:
        raise InputError(argument, f"{value!r} is not a choice", f"Choose one of {', '.join(map(repr, choices))}")
    return value


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
