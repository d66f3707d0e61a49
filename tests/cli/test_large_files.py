"""Commands on folders of Parquet files: the same figures as on a file."""

import json
import shutil

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from modes import is_private
from molehill import InputError, read_table, write_table
from molehill.cli.main import app
from molehill.larger_than_memory.files import write_files
from molehill.tables.populations import consumer_survey

SURVEY = ["--known", "gender,age,region", "--sensitive", "income", "--radius", "0.2"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A survey and two releases of it, each as a file and as a folder of three parts."""
    where, random = tmp_path_factory.mktemp("folders"), np.random.default_rng(1)
    survey = consumer_survey()[:900]
    for name in ("own", "first", "second"):
        frame = survey if name == "own" else survey.assign(income=random.permutation(survey["income"]))
        write_table(frame, where / f"{name}.parquet")
        table = pa.Table.from_pandas(frame, preserve_index=False)
        write_files([table.slice(start, 300) for start in (0, 300, 600)], where / name)
    return where


def run(*arguments):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if isinstance(done.exception, InputError):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.stdout


def test_risk_of_a_folder_is_that_of_the_file(folder, tmp_path):
    assert run("risk", folder / "own", *SURVEY, "--order", 2) == run(
        "risk", folder / "own.parquet", *SURVEY, "--order", 2
    )
    parts, whole = (json.loads(run("risk", folder / name, *SURVEY, "--json")) for name in ("own", "own.parquet"))
    # A sum of all records is rounded once here, and NumPy's many times.
    assert parts.pop("distribution") == pytest.approx(whole.pop("distribution"), rel=1e-12)
    assert parts == whole
    out = tmp_path / "risk"
    run("risk", folder / "own", *SURVEY, "--out", out, "--memory-gib", 0.5)
    run("risk", folder / "own.parquet", *SURVEY, "--out", tmp_path / "risk.parquet")
    parts, whole = pd.read_parquet(out), read_table(tmp_path / "risk.parquet").frame
    assert (parts["position"] + 1).tolist() == whole["record"].tolist()
    for name in ("risk", "weight", "pattern_size", "within"):
        assert parts[name].tolist() == whole[name].tolist()
    assert is_private(out)
    with pytest.raises(InputError, match="exists already"):
        run("risk", folder / "own", *SURVEY, "--out", out)


def test_nothing_is_written_over_what_is_read_or_over_other_things(folder, tmp_path):
    data = tmp_path / "held" / "data"
    shutil.copytree(folder / "own", data)
    before = {path: path.read_bytes() for path in data.iterdir()}
    for out in (data, data / "out", data.parent):
        with pytest.raises(InputError, match=r"out: .* is what is read"):
            run("risk", data, *SURVEY, "--out", out, "--overwrite")
    with pytest.raises(InputError, match=r"out: .* is what is read"):
        run("risk", folder / "own.parquet", *SURVEY, "--out", folder / "own.parquet", "--overwrite")
    # Parts of another dataset, and anything else.
    with pytest.raises(InputError, match="holds other things"):
        run("risk", folder / "own", *SURVEY, "--out", data, "--overwrite")
    assert {path: path.read_bytes() for path in data.iterdir()} == before
    out = tmp_path / "out"
    for _ in range(2):
        run("risk", data, *SURVEY, "--out", out, "--overwrite")
    (out / "thesis.txt").touch()
    with pytest.raises(InputError, match="holds other things"):
        run("risk", data, *SURVEY, "--out", out, "--overwrite")
    assert (out / "thesis.txt").exists()


def test_a_file_that_needs_more_memory_than_it_may_have_is_measured_chunk_by_chunk(folder, tmp_path):
    assert run("risk", folder / "own.parquet", *SURVEY, "--memory-gib", 0.0001) == run("risk", folder / "own", *SURVEY)
    with pytest.raises(InputError, match="chart: it cannot be done"):
        run("risk", folder / "own.parquet", *SURVEY, "--memory-gib", 0.0001, "--chart", tmp_path / "chart.svg")


def test_evaluation_of_folders_has_the_figures_of_the_files(folder):
    given = ["first", "second"]
    against = ["--compare", f"same={folder / 'own'}"]
    found = json.loads(run("evaluate", folder / "own", *(folder / name for name in given), *SURVEY, *against, "--json"))
    against = ["--compare", f"same={folder / 'own.parquet'}"]
    files = [folder / f"{name}.parquet" for name in ("own", *given)]
    whole = json.loads(run("evaluate", *files, *SURVEY, *against, "--json"))
    key = ["scheme", "column", "measure", "name"]
    compared = 0
    for family in ("risk", "utility"):
        other = pd.DataFrame(whole[family]).drop_duplicates(key).set_index(key)
        for row in found[family]:
            same = other.loc[tuple(row[name] for name in key)]
            assert row["value"] == pytest.approx(same["value"], rel=1e-12), row
            for end in ("low", "high"):
                if row[end] is not None:
                    assert row[end] == pytest.approx(same[end], abs=1e-12)
            compared += 1
    assert compared > 40
    told = run("evaluate", folder / "own", folder / "first", *SURVEY)
    for words in ("mean risk", "largest risk", "true match rate", "U_m", "Wasserstein distance"):
        assert words in told


@pytest.mark.parametrize(
    "option",
    [["--id", "age"], ["--fully-synthetic"], ["--regression", "income ~ age"], ["--missing-codes", "income=9"]],
)
def test_what_cannot_be_done_chunk_by_chunk_is_refused(folder, option):
    with pytest.raises(InputError, match="cannot be done with files that are measured chunk by chunk"):
        run("evaluate", folder / "own", folder / "first", *SURVEY, *option)


def test_what_is_no_parquet_is_refused(folder, tmp_path):
    (tmp_path / "first.csv").write_text("income\n1\n")
    with pytest.raises(InputError, match=r"released: 'first.csv' is no .parquet file"):
        run("evaluate", folder / "own", tmp_path / "first.csv", *SURVEY)
    with pytest.raises(InputError, match=r"holds no \.parquet file"):
        run("risk", tmp_path, *SURVEY)
