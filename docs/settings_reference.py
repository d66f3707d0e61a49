"""Make the reference of the settings from the code that checks them: python docs/settings_reference.py."""

from pathlib import Path

from molehill.plan.settings import TABLES, Settings, format_settings

PAGE = Path(__file__).with_name("settings.md")
INTRODUCTION = """# Settings

`molehill init DATA` writes a settings file with the settings that matter most, and `molehill run SETTINGS` makes the
release that it describes. All other settings have a default. In the file they are grouped in tables; in Python, and
on the command line (`--set datasets=5`), they are the fields of `molehill.Settings` without the tables. Treatments
and whatever else is set for single variables are in the table `columns`: `income = "synthesize"`, or `income = {
release = "synthesize", upper = 2000000 }` with `release` and `lower`, `upper`, `radius`, `min_radius`, `kind`,
`breaks`, `missing_codes`, `knowledge_probability`, `levels`, `min_level_records`, `accept_identifying = true`,
`accept_derivable = true` and `grouped = true` of that variable. The table `survey` has the parts of `survey_design` by
themselves: `weight = "PWGTP"`. All problems of a file are listed at once, before any work. The page is made from the
code: `python docs/settings_reference.py`.
"""
HEAD = ["| setting | what it is | may be | default |", "|---|---|---|---|"]


def render() -> str:
    """Give the page as Markdown."""
    lines = [INTRODUCTION]
    for table in TABLES:
        lines += [f"## `[{table}]`", "", *HEAD]
        for name, field in Settings.model_fields.items():
            about = Settings.describe(name)
            default = "left out" if field.default in (None, {}, ()) else f"`{_told(field.default)}`"
            default = "must be given" if field.is_required() else default
            if about["table"] == table:
                lines.append(f"| `{name}` | {about['comment']} | {about['wanted']} | {default} |")
        lines.append("")
    example = Settings(
        data="survey.csv",
        synthesize="income",
        keep=["gender", "age", "region", "hours", "education"],
        drop=["household_id"],
        known=["gender", "age", "region"],
        lower={"income": -100_000.0},
        upper={"income": 2_000_000.0},
        breaks={"hours": [20, 35, 45]},
        kinds={"education": "categorical"},
    )
    lines += ["## A complete example", "", "```toml", format_settings(example).rstrip(), "```", ""]
    return "\n".join(lines)


def _told(value: object) -> str:
    return ", ".join(value) if isinstance(value, tuple) else f"{value}"


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
