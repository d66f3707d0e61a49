"""What Molehill says when it cannot go on."""


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
