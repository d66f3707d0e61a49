"""An evaluation as text: one line a measure, one column a scheme, values of records as ranges only."""

import numpy as np
import pandas as pd

_RISK_TITLE = "Risk (95% intervals over the tables)"
_UTILITY_TITLE = "Utility"


def tell(risk: pd.DataFrame, utility: pd.DataFrame, top: pd.DataFrame) -> str:
    """Put the frames of an evaluation into words; estimates of the confidential table are left out."""
    parts = _tell_figures(_RISK_TITLE, risk)
    # An estimate such as a median can be the value of a record: only what compares with it is printed.
    parts += _tell_figures(_UTILITY_TITLE, utility[utility["scheme"] != "confidential"])
    for title, rows in top.groupby("list", sort=False):
        wide = rows.pivot_table(index=["rank", "range"], columns="scheme", values="risk", sort=False)
        wide = wide.reset_index().rename_axis(columns=None)
        parts += [f"{title}: risk of the first {rows['rank'].max()} records (values as ranges)", _align(wide)]
    return "\n\n".join(parts)


def _tell_figures(title: str, figures: pd.DataFrame) -> list[str]:
    parts = []
    for column, rows in figures.groupby("column", sort=False):
        told = rows.assign(told=[_tell(*row) for row in rows[["value", "low", "high"]].to_numpy(dtype=float)])
        wide = told.pivot_table(index="measure", columns="scheme", values="told", aggfunc="first", sort=False)
        parts += [f"{title}: {column}", _align(wide.fillna("").reset_index().rename_axis(columns=None))]
    return parts


def _tell(value: float, low: float, high: float) -> str:
    interval = "" if np.isnan(low) or np.isnan(high) else f" [{_number(low)}, {_number(high)}]"
    return _number(value) + interval


def _number(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _align(frame: pd.DataFrame) -> str:
    """Set text left and numbers right, two spaces between the columns."""
    numeric = [pd.api.types.is_float_dtype(frame[name]) for name in frame]
    rows = [
        [f"{name}" for name in frame.columns],
        *(
            [f"{value:.4f}" if isinstance(value, float) else f"{value}" for value in values]
            for values in frame.itertuples(index=False)
        ),
    ]
    widths = [max(len(cell) for cell in cells) for cells in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        ).rstrip()
        for row in rows
    ]
    return "\n".join(lines)
