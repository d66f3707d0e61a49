"""Settings on the command line, and in its help, made from `Settings`: what a setting means is written down once."""

import tomllib
from typing import Any

from typer.core import TyperCommand

from molehill.errors import InputError


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

    Examples
    --------
    >>> read_given(["order=1", "known=['age', 'sex']", "targets=U_m <= 0.03"])
    {'order': 1, 'known': ['age', 'sex'], 'targets': 'U_m <= 0.03'}
    """
    taken = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise InputError("set", f"{text!r} is not of the form NAME=VALUE", "Write for instance --set datasets=5")
        taken[name.strip()] = _read_value(value.strip())
    return taken


def _read_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
