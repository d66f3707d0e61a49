"""Three hundred messy tables: whatever they hold, they are read and written, or refused with an `InputError`."""

import datetime
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from molehill.errors import InputError
from molehill.tables.cells import declare_missing, find_missing_codes, stray_cells
from molehill.tables.formats.formats import FORMATS, read_table, write_table
from molehill.tables.schema import infer_schema
from molehill.tables.table import Table, as_table

TABLES = 300
WRITTEN = [ending for ending in FORMATS if FORMATS[ending].write]
ZONE = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
CELLS: list[Any] = [
    None,
    np.nan,
    pd.NA,
    pd.NaT,
    True,
    0,
    -1,
    10**30,
    10**400,
    1.5,
    np.inf,
    -np.inf,
    1e308,
    Decimal("1.50"),
    Decimal("NaN"),
    Fraction(1, 3),
    1 + 2j,
    "",
    " ",
    "n/a",
    "-9",
    "1,234",
    "1.234,5",
    "007",
    "9" * 2000,
    "=1+1",
    "\x1b[31m",
    "\x00",
    "\ud800",
    "日本\r\n",
    '"',
    "'",
    b"\xff",
    [1, "x"],
    {"a": [1]},
    (1, 2),
    {1, 2},
    np.array([1, 2]),
    datetime.date(1, 1, 1),
    datetime.date(9999, 12, 31),
    datetime.datetime(1900, 1, 1, tzinfo=ZONE),
    datetime.datetime(2020, 1, 1),
    datetime.time(1, 2, 3),
    datetime.timedelta(days=-1),
    pd.Timestamp("2020-01-01", tz="Europe/Berlin"),
    pd.Timedelta("1ns"),
    pd.Period("2020-01"),
    pd.Interval(0, 1),
    np.float16(1.5),
    np.int8(3),
    object(),
    len,
]
NAMES = [
    "a",
    "A",
    "",
    " ",
    "a b",
    "=x",
    "1",
    "é",
    "日本",
    "'",
    '"',
    ",",
    ";",
    "a\nb",
    "a\x1b",
    "if",
    "x" * 70,
    "__index_level_0__",
]


def messy_column(random: np.random.Generator, size: int) -> Any:
    kind = random.integers(16)
    if kind < 4:
        few = random.choice(len(CELLS), random.integers(1, 4))
        return pd.Series([CELLS[place] for place in random.choice(few, size)], dtype=object)
    if kind == 4:
        cells = [*map(str, random.integers(0, 10**6, size - 1)), random.choice(["n/a", "-", "", "x"])]
        return pd.Series(random.permutation(np.array(cells, dtype=object)))
    if kind == 5:
        moments = pd.Series(pd.to_datetime(random.integers(-(10**10), 10**10, size), unit="s"))
        return moments.dt.tz_localize("UTC") if random.random() < 0.5 else moments
    numbers = pd.Series(random.normal(0, 10.0 ** random.integers(-300, 300), size))
    return [
        lambda: numbers,
        lambda: numbers.mask(numbers > 0),
        lambda: numbers.where(numbers > 0, np.inf),
        lambda: pd.Series(np.full(size, np.nan)),
        lambda: pd.Series([7] * size),
        lambda: pd.Series(random.integers(-(2**63), 2**63 - 1, size)),
        lambda: pd.Series(random.integers(0, 2**64, size, dtype=np.uint64)),
        lambda: pd.Series(pd.Categorical(random.choice(["b", "a", "5"], size), categories=["z", "b", "5", "a"])),
        lambda: pd.Series(random.random(size) < 0.5).astype("boolean").mask(numbers > 0),
        lambda: pd.Series(np.full(size, 1 + 1j)),
    ][kind - 6]()


def messy_table(seed: int) -> Table:
    random = np.random.default_rng(seed)
    size = int(random.choice([1, 1, 2, 7, 40]))
    names = random.choice(NAMES, random.integers(1, 5), replace=random.random() < 0.1)
    columns = [messy_column(random, size) for _ in names]
    frame = pd.concat(columns, axis=1) if random.random() < 0.9 else pd.concat([*columns, *columns], axis=1)
    frame.columns = pd.Index([*names] * (len(frame.columns) // len(names)), dtype=object)
    labels: Any = {str(names[0]): {1: "one", "x": "text", 2.5: "half"}} if random.random() < 0.3 else {}
    return Table(frame, {str(names[0]): "label"} if labels else {}, labels)


def attempt(call: Any, told: Counter[str]) -> Any:
    try:
        result, refused = call(), None
    except InputError as error:
        result, refused = None, error
    told["done" if refused is None else "refused"] += 1
    assert refused is None or (refused.__cause__ is None and "\x1b" not in str(refused))
    return result


@pytest.mark.parametrize("part", [0, 1, *(pytest.param(part, marks=pytest.mark.slow) for part in range(2, 6))])
def test_messy_tables_are_read_and_written_or_refused(tmp_path, part):
    told: Counter[str] = Counter()
    for seed in range(part, TABLES, 6):
        given = messy_table(seed)
        table = attempt(lambda given=given: as_table(given), told)
        assert "Table(" in repr(given)
        if table is None:
            continue
        look_at(table, told)
        for ending in WRITTEN:
            path = tmp_path / f"t{ending}"
            path.unlink(missing_ok=True)
            attempt(lambda table=table, path=path: write_table(table, path), told)
            back = attempt(lambda path=path: read_table(path), told) if path.exists() else None
            if back is not None:
                assert len(back.frame) == len(table.frame) or not table.frame.notna().any(axis=1).all()
                look_at(back, told)
    assert told["done"] > 300
    assert told["refused"] > 50


def look_at(table: Table, told: Counter[str]) -> None:
    names = list(table.frame.columns)
    for name in names:
        attempt(lambda name=name: infer_schema(table, columns=[name]), told)
        attempt(lambda name=name: infer_schema(table, sensitive=name, columns=[name]), told)
        attempt(lambda name=name: infer_schema(table, known=name, predictors=name, columns=[name]), told)
        attempt(lambda name=name: stray_cells(table, name), told)
    codes = attempt(lambda: find_missing_codes(table), told)
    if codes is not None:
        attempt(lambda: declare_missing(table, codes | {names[0]: ["n/a", -9]}), told)


def test_messy_text_is_read_or_refused(tmp_path):
    random = np.random.default_rng(14)
    pieces = [
        ",",
        ";",
        "\t",
        "|",
        '"',
        "'",
        "\n",
        "\r\n",
        "\r",
        "1",
        "1,5",
        "1.234",
        "n/a",
        "x",
        " ",
        "é",
        "\x00",
        "\x1b",
        "=1",
        "",
    ]
    pieces += ["31.12.1980", "9" * 30, "NA", "-", "\ufeff", "日", "1e400", "-0", "1 234"]
    told: Counter[str] = Counter()
    for _ in range(100):
        text = "".join(random.choice(pieces, random.integers(1, 40)))
        regular = "\n".join(";".join(random.choice(pieces[9:14], 3)) for _ in range(random.integers(2, 6)))
        for content in (text, f"a;b;c\n{regular}", f"a;b;c\n{text}"):
            encoding = random.choice(["utf-8", "utf-16", "utf-16-le", "utf-8-sig"])
            (tmp_path / "t.csv").write_bytes(content.encode(encoding))
            table = attempt(lambda: read_table(tmp_path / "t.csv"), told)
            if table is not None:
                attempt(lambda table=table: write_table(table, tmp_path / "again.csv"), told)
                attempt(lambda: read_table(tmp_path / "again.csv"), told)
    raw = [bytes(random.integers(0, 256, random.integers(1, 400), dtype=np.uint8)) for _ in range(300)]
    for ending in FORMATS:
        path = tmp_path / f"raw{ending}"
        for content in raw[:: 10 if ending.startswith(".x") else 5]:
            path.write_bytes(content)
            attempt(lambda path=path: read_table(path), told)
    assert told["done"] > 300
    assert told["refused"] > 300
