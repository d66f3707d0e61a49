"""Make the reference of the settings from the code that checks them: python docs/settings_reference.py."""

from dataclasses import MISSING, fields
from pathlib import Path

from molehill.plan.settings import RULES, Settings, format_settings

PAGE = Path(__file__).with_name("settings.md")


def render() -> str:
    """Give the page as Markdown."""
    defaults = {
        entry.name: entry.default_factory() if entry.default_factory is not MISSING else entry.default
        for entry in fields(Settings)
    }
    lines = [
        "# Settings",
        "",
        "`molehill init DATA` writes a settings file from a look at the table, and `molehill run SETTINGS` makes the",
        "release that it describes. Every setting but `targets` is also an argument of `molehill.synthesize`; targets",
        "are for `molehill search` and `molehill.search.search`. Problems are told all at once, before any work. The",
        "page is made from the code: `python docs/settings_reference.py`.",
        "",
        "| setting | what it is | may be | default |",
        "|---|---|---|---|",
    ]
    for name, rule in RULES.items():
        default = defaults[name]
        told = (
            "must be given"
            if default is MISSING
            else "left out"
            if default in (None, {}, ())
            else f"`{_told(default)}`"
        )
        lines.append(f"| `{name}` | {rule.comment} | {rule.wanted} | {told} |")
    example = Settings(
        data="survey.csv",
        sensitive="income",
        known=("gender", "age", "region"),
        lower=-100_000.0,
        upper=2_000_000.0,
        breaks={"hours": (20, 35, 45)},
        kinds={"education": "categorical"},
    )
    lines += ["", "## A complete example", "", "```toml", format_settings(example).rstrip(), "```", ""]
    return "\n".join(lines)


def _told(value: object) -> str:
    return ", ".join(value) if isinstance(value, tuple) else f"{value}"


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
