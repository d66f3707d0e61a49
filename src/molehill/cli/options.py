"""Settings on the command line, and in its help, made from `Settings`: what a setting means is written down once."""

import tomllib
from typing import Any

from typer.core import TyperCommand

from molehill.errors import InputError

# Settings that may be written with commas between the names; rules and formulas have commas of their own.
NAMES = (
    "synthesize",
    "keep",
    "drop",
    "undecided",
    "accept_identifying",
    "accept_derivable",
    "known",
    "grouped",
    "predictors",
    "preserve",
    "compare",
)


class SettingsCommand(TyperCommand):
    """A command that makes something of settings: its help ends with all of them."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write every setting with its comment: only now, as they take a while to load."""
        from molehill.plan.settings import Settings

        super().format_epilog(ctx, formatter)
        about = {name: Settings.describe(name) for name in Settings.model_fields}
        with formatter.section("Settings, in the file or by --set NAME=VALUE"):
            formatter.write_dl([(name, f"{one['comment']} ({one['wanted']})") for name, one in about.items()])


def read_given(given: list[str]) -> dict[str, Any]:
    """Take texts of the form NAME=VALUE, the value as it stands in a settings file; plain text needs no quotes.

    Plain names of columns have commas between; a name that has a comma itself stands in quotes.

    Examples
    --------
    >>> read_given(["risk_order=1", "known=age,sex", "keep=['town']", "release_criteria=U_m <= 0.03"])
    {'risk_order': 1, 'known': ['age', 'sex'], 'keep': ['town'], 'release_criteria': 'U_m <= 0.03'}
    """
    taken = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise InputError("set", f"{text!r} is not of the form NAME=VALUE", "Write for instance --set datasets=5")
        name = name.strip()
        if name in taken:
            raise InputError("set", f"{name!r} is given more than once", "Give it once")
        taken[name] = _read_names(name, value.strip()) if name in NAMES else _read_value(name, value.strip())
    return taken


def _read_names(name: str, text: str) -> Any:
    # A column may be called 2020 or true: only quotes and brackets are more than plain text.
    value = _read_value(name, text) if text.startswith(("'", '"', "[", "{")) else text
    return [part.strip() for part in text.split(",")] if value == text else value


def _read_value(name: str, text: str) -> Any:
    try:
        content = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    except RecursionError:
        raise InputError("set", f"{name!r} is nested too deeply", "Write it as in a settings file") from None
    except ValueError:
        raise InputError("set", f"{name!r} has a number with too many digits", "Write a shorter one") from None
    # More lines would be other settings, which are not taken along in silence.
    return content["value"] if len(content) == 1 else text
