"""Properties that hold for any input: how many random examples of it are tried."""

from hypothesis import settings

_MORE = 10


def examples(number: int) -> settings:
    """Try so many examples of a property: always the same ones, or ten times as many new ones in `make test-slow`."""
    return settings(max_examples=number * (_MORE if settings.get_current_profile_name() == "thorough" else 1))
