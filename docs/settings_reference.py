"""Make the reference of the settings from the code that checks them: python docs/settings_reference.py."""

from pathlib import Path

from molehill.plan.settings import Settings, format_settings

PAGE = Path(__file__).with_name("settings.md")
INTRODUCTION = """# Settings

`molehill init DATA` writes a settings file from a look at the table, and `molehill run SETTINGS` makes the
release that it describes. In Python they are the fields of `molehill.Settings`, which `molehill.synthesize`
takes. What is set for single columns stands in the file's table `columns`: a fate (`replace`,
`keep`, `drop`), or a table with the fate as `release` and `lower`, `upper`, `radius`, `floor`, `kind`, `breaks`,
`missing` (codes that stand for a missing value),
`likely`, `levels`, `min_level_records` and `identifying = "accept"` of that column. Problems are told all at
once, before any work. The page is made from the code:
`python docs/settings_reference.py`.

| setting | what it is | may be | default |
|---|---|---|---|"""


def render() -> str:
    """Give the page as Markdown."""
    lines = [INTRODUCTION]
    for name, field in Settings.model_fields.items():
        about = Settings.describe(name)
        default = "left out" if field.default in (None, {}, ()) else f"`{_told(field.default)}`"
        default = "must be given" if field.is_required() else default
        lines.append(f"| `{name}` | {about['comment']} | {about['wanted']} | {default} |")
    example = Settings(
        data="survey.csv",
        replace="income",
        keep=["gender", "age", "region", "hours", "education"],
        drop=["household_id"],
        known=["gender", "age", "region"],
        lower={"income": -100_000.0},
        upper={"income": 2_000_000.0},
        breaks={"hours": [20, 35, 45]},
        kinds={"education": "categorical"},
    )
    lines += ["", "## A complete example", "", "```toml", format_settings(example).rstrip(), "```", ""]
    return "\n".join(lines)


def _told(value: object) -> str:
    return ", ".join(value) if isinstance(value, tuple) else f"{value}"


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
