"""Draw the figures of docs/betty.md, with the risks that Molehill computes: python docs/betty_figures.py."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd

import molehill

IMAGES = Path(__file__).parent / "images"
RADIUS = 0.2
INTRUDER = molehill.Intruder(known=["gender", "age", "region"], sensitive="income", radius=RADIUS, count_self=True)

# Thirteen records with one pattern, incomes in thousands; Betty is the first record of every table.
CONFIDENTIAL = (60, 52, 66, 70, 24, 28, 33, 37, 41, 45, 80, 90, 104)
RELEASED = {
    "1": (57, 50, 69, 22, 26, 31, 35, 39, 43, 46, 78, 88, 101),
    "2": (64, 49, 52, 55, 58, 61, 67, 71, 27, 36, 44, 83, 98),
    "3": (84, 49, 52, 55, 58, 61, 64, 67, 71, 27, 36, 44, 98),
    "4": (84, 50, 57, 69, 22, 26, 31, 35, 39, 43, 46, 88, 101),
}
PARTNER = 11  # the record that stands with Betty in the figure of the pair

WIDTH, HEIGHT, LEFT, RIGHT, AXIS = 380, 196, 22, 358, 132
LEAST, MOST = 16, 110
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1f1f1f }
.small { font-size: 12px; fill: #555 }
.said { font-size: 14px; font-weight: 600 }
.axis { stroke: #777; stroke-width: 1 }
.true { stroke: #a3210f; stroke-width: 1.5; stroke-dasharray: 4 3 }
.ball { fill: #cfe2f5 } .other { fill: #f3dfb5 }
.near { fill: #1d5fa3; stroke: #1d5fa3 } .far { fill: #fff; stroke: #555 }
.near, .far { stroke-width: 1.5 }
.betty { fill: #a3210f; stroke: #a3210f }
.name { fill: #a3210f; font-weight: 600 }
@media (prefers-color-scheme: dark) {
text { fill: #ececec } .small { fill: #bbb } .axis { stroke: #999 }
.ball { fill: #24425f } .other { fill: #574519 }
.near { fill: #8ec2f5; stroke: #8ec2f5 } .far { fill: #1e2129; stroke: #bbb }
.true { stroke: #ff9d8f } .betty { fill: #ff9d8f; stroke: #ff9d8f } .name { fill: #ff9d8f }
}
"""


@dataclass(frozen=True)
class Case:
    """What one figure shows: incomes, those that are close, and what is said below and to who cannot see it."""

    incomes: tuple[int, ...]
    close: tuple[bool, ...]
    said: str
    description: str
    partner: int | None = None


def make_table(incomes: Sequence[int]) -> pd.DataFrame:
    """Make a table of people who agree on all known columns."""
    pattern = {"gender": "female", "age": "35-49", "region": "North"}
    return pd.DataFrame({**{name: [value] * len(incomes) for name, value in pattern.items()}, "income": incomes})


def as_share(risk: float) -> Fraction:
    """Give a risk in a pattern of thirteen as a fraction."""
    share = Fraction(round(risk * len(CONFIDENTIAL)), len(CONFIDENTIAL))
    if not np.isclose(float(share), risk, rtol=0, atol=1e-12):
        raise ValueError(f"{risk} is not a number of thirteenths")
    return share


def covered(incomes: Sequence[int], middle: int) -> tuple[bool, ...]:
    """Say which incomes are in the closed ball around one of them."""
    return tuple(abs(income - middle) <= RADIUS * middle for income in incomes)


def released_case(incomes: tuple[int, ...]) -> tuple[Case, Fraction]:
    """Give one of the paper's cases, and Betty's risk in it."""
    risk = molehill.release_risk(make_table(CONFIDENTIAL), [make_table(incomes)], INTRUDER)
    share, linked = as_share(float(risk.by_dataset[0, 0])), int(risk.is_close[0, 0])
    close = covered(incomes, CONFIDENTIAL[0])
    far = close.count(False)
    described = (
        f"A line of incomes. {13 - far} of the 13 released incomes are within 20% of Betty's true income, {far} are "
        f"not. Betty's own released income is {'one of the close ones' if linked else 'not close'}. "
        f"Her risk is {share}."
    )
    return Case(incomes, close, f"risk = {far}/13 \u00d7 {linked} = {share}", described), share


def confidential_case() -> tuple[Case, Fraction]:
    """Give Betty's risk before anything is released."""
    risk = molehill.confidential_risk(make_table(CONFIDENTIAL), INTRUDER)
    share, close = as_share(float(risk.risk[0])), covered(CONFIDENTIAL, CONFIDENTIAL[0])
    far = close.count(False)
    described = (
        f"A line of incomes. Of the 13 confidential incomes {13 - far}, Betty's among them, are within 20% of hers, "
        f"{far} are not. Her risk is {share}, her weight {1 - share}."
    )
    return Case(CONFIDENTIAL, close, f"risk = {far}/13, weight = {13 - far}/13", described), share


def pair_case() -> tuple[Case, float]:
    """Give the risk of Betty with one other, and that with each other on average, as `confidential_risk` has it."""
    order_two = molehill.confidential_risk(make_table(CONFIDENTIAL), INTRUDER, order=2)
    mine = covered(CONFIDENTIAL, CONFIDENTIAL[0])
    partner = CONFIDENTIAL[PARTNER]
    close = tuple(a or b for a, b in zip(mine, covered(CONFIDENTIAL, partner), strict=True))
    far = close.count(False)
    described = (
        f"A line of incomes with two balls, one around Betty's income and one around that of another record. "
        f"{13 - far} of the 13 confidential incomes are in one of them or both, {far} in neither: "
        f"the risk of the pair is {far}/13."
    )
    return Case(CONFIDENTIAL, close, f"risk of the pair = {far}/13", described, partner), float(order_two.risk[0])


def place(income: float) -> float:
    """Give the horizontal place of an income."""
    return LEFT + (RIGHT - LEFT) * (income - LEAST) / (MOST - LEAST)


def draw_ball(middle: int, kind: str) -> str:
    """Draw the ball around an income as a band."""
    low, high = place((1 - RADIUS) * middle), place((1 + RADIUS) * middle)
    return f'<rect class="{kind}" x="{low:.1f}" y="34" width="{high - low:.1f}" height="{AXIS - 34}"/>'


def draw_record(income: int, row: int, kind: str) -> str:
    """Draw a record as a dot, Betty as a diamond."""
    x, y = place(income), AXIS - 20 - 26 * row
    if kind == "betty":
        return f'<path class="betty" d="M{x:.1f} {y - 8} l8 8 l-8 8 l-8 -8 z"/>'
    return f'<circle class="{kind}" cx="{x:.1f}" cy="{y}" r="5.5"/>'


def draw(case: Case) -> str:
    """Draw a case as SVG that is readable on a light and on a dark page."""
    true = place(CONFIDENTIAL[0])
    parts = [draw_ball(CONFIDENTIAL[0], "ball")]
    if case.partner is not None:
        parts.append(draw_ball(case.partner, "other"))
        parts.append(f'<text x="{place(case.partner):.1f}" y="28" text-anchor="middle">another\'s</text>')
    parts += [
        f'<line class="true" x1="{true:.1f}" y1="24" x2="{true:.1f}" y2="{AXIS}"/>',
        f'<text class="name" x="{true:.1f}" y="16" text-anchor="middle">Betty\'s true income</text>',
        f'<line class="axis" x1="{LEFT}" y1="{AXIS}" x2="{RIGHT}" y2="{AXIS}"/>',
    ]
    for tick in range(20, MOST, 20):
        x = place(tick)
        parts.append(f'<line class="axis" x1="{x:.1f}" y1="{AXIS}" x2="{x:.1f}" y2="{AXIS + 4}"/>')
        parts.append(f'<text class="small" x="{x:.1f}" y="{AXIS + 18}" text-anchor="middle">{tick},000</text>')
    order = np.argsort(case.incomes)
    for rank, record in enumerate(order):
        kind = "betty" if record == 0 else "near" if case.close[record] else "far"
        parts.append(draw_record(case.incomes[record], rank % 3, kind))
    parts.append(f'<text class="said" x="{WIDTH / 2}" y="{HEIGHT - 14}" text-anchor="middle">{case.said}</text>')
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="about">'
    )
    body = "\n".join(parts)
    return f'{opening}\n<title id="about">{case.description}</title>\n<style>{STYLE}</style>\n{body}\n</svg>\n'


def draw_all() -> dict[str, str]:
    """Give every figure by its file name."""
    figures = {f"betty-{name}.svg": draw(released_case(incomes)[0]) for name, incomes in RELEASED.items()}
    return figures | {"betty-confidential.svg": draw(confidential_case()[0]), "betty-pair.svg": draw(pair_case()[0])}


if __name__ == "__main__":
    for file_name, picture in draw_all().items():
        (IMAGES / file_name).write_text(picture, encoding="utf-8")
