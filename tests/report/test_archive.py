"""The dossier for archives: as its schema says, the same bytes every time, figures and no records."""

import json
from dataclasses import replace
from functools import cache

import jsonschema
import numpy as np
import pandas as pd
import pytest

from molehill.evaluation.measure import CONFIDENTIAL
from molehill.evaluation.scorecard import score
from molehill.evaluation.telling import Teller
from molehill.report.archive import SCHEMA, archive_dossier, describe_dossier, read_schema
from molehill.report.dossier import read_dossier
from molehill.report.page.first_page import judge_release
from molehill.report.trail import ARCHIVE, hash_files
from report_dossier import RARE, SEED, hostile_dossier, make_search, plain_dossier
from small_release import PLANTED, TUNED, made_release
from small_release import SEED as OWN_SEED

FILES, SETTINGS = {"synthetic_01.csv": "a" * 64}, "b" * 64
VALIDATOR = jsonschema.Draft202012Validator(read_schema())


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return made_release(tmp_path_factory)[0]


@cache
def text_of(make):
    """The dossier for archives, made once: JSON that every test reads anew, and may change."""
    return archive_dossier(make(), published=FILES, settings=SETTINGS)


def archived(make):
    return json.loads(text_of(make))


@cache
def search_dossier():
    way = pd.DataFrame({"pattern": ["town Elsewhere"], "range": ["1 to 2"], "records": [21]})
    return replace(plain_dossier(), search=make_search(("U_m <= 0.1987",), way=way))


@cache
def short_text():
    """The dossier of a search with the first two of every list: the others are looked at in the same way."""
    content = archived(search_dossier)
    return json.dumps({name: part[:2] if isinstance(part, list) else part for name, part in content.items()})


def test_the_schema_is_one_and_names_its_version():
    jsonschema.Draft202012Validator.check_schema(read_schema())
    assert read_schema()["$id"] == read_schema()["properties"]["schema"]["const"] == SCHEMA
    assert SCHEMA.rsplit(":", 1)[1].isdecimal()


def test_the_dossier_of_a_release_is_as_the_schema_says(made):
    content = json.loads((made / ARCHIVE).read_text(encoding="utf-8"))
    VALIDATOR.validate(content)
    assert content["release"]["files"] == hash_files(made / "release")
    assert content["inputs"]["settings"] == hash_files(made / "internal")["settings.toml"]
    assert content["search"] is None or content["search"]["candidates"]


@pytest.mark.posix
def test_only_its_owner_may_read_it(made):
    assert (made / ARCHIVE).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("make", [plain_dossier, hostile_dossier])
def test_other_dossiers_are_too(make):
    VALIDATOR.validate(archived(make))


def test_a_short_one_of_a_search_is_valid():
    """The tests below take a field from it, or put one into it."""
    VALIDATOR.validate(json.loads(short_text()))


def required_parts():
    """Every field that the schema requires, by the path to it in the dossier of a search."""
    schema = read_schema()
    paths = [(name,) for name in schema["required"]]
    for outer in ("release", "inputs", "verdict", "settings", "facts", "search"):
        paths += [(outer, name) for name in schema["properties"][outer]["required"]]
    paths += [("risk", 0, name) for name in schema["$defs"]["figure"]["required"]]
    return [*paths, ("measures", 0, "id"), ("versions", "molehill"), ("verdict", "remarks", 0, "text")]


@pytest.mark.parametrize("path", required_parts(), ids=lambda path: ".".join(map(str, path)))
def test_without_a_required_field_it_is_not_valid(path):
    content = json.loads(short_text())
    inner = content
    for step in path[:-1]:
        inner = inner[step]
    del inner[path[-1]]
    assert not VALIDATOR.is_valid(content)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("schema",), "urn:molehill:dossier:0"),
        (("release", "fingerprint"), "abc"),
        (("release", "files"), {"a.csv": "no hash"}),
        (("verdict", "decision"), "perhaps"),
        (("settings", "seed"), 1),
        (("records",), []),
        (("risk", 0, "value"), "0.1"),
        (("risk", 0, "record"), 7),
    ],
)
def test_what_does_not_belong_there_is_not_valid(path, value):
    content = json.loads(short_text())
    inner = content
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    assert not VALIDATOR.is_valid(content)


def test_it_has_every_figure_but_those_of_the_confidential_table_itself():
    dossier, content = plain_dossier(), archived(plain_dossier)
    assert len(content["risk"]) == len(dossier.evaluation.risk)
    own = dossier.evaluation.utility["scheme"] == CONFIDENTIAL
    assert own.any()
    assert len(content["utility"]) == (~own).sum()
    row, told = dossier.evaluation.risk.iloc[3], content["risk"][3]
    assert told["value"] == row["value"]
    assert {row["measure"] for row in content["risk"]} <= {measure["id"] for measure in content["measures"]}


def test_the_verdict_is_that_of_the_report(made):
    dossier = read_dossier(made)
    content = json.loads((made / ARCHIVE).read_text(encoding="utf-8"))
    verdict = judge_release(dossier, Teller("internal", 60))
    assert (content["verdict"]["decision"], content["verdict"]["sentence"]) == (verdict.decision, verdict.sentence)


def test_the_scorecard_has_the_rules_in_force(made):
    content = json.loads((made / ARCHIVE).read_text(encoding="utf-8"))
    rules = {rule["measure"]: rule for family in content["scorecard"] for rule in family["rules"]}
    own = rules["matches_true"]
    assert (own["amber"], own["red"], own["ours"]) == (TUNED, 0.05, "amber from 0.01, red from 0.05")
    assert (rules["combined_match_rate"]["red"], rules["combined_match_rate"]["ours"]) == (None, "none")
    assert not rules["tail_ratio"]["asked"]
    assert [name for name, rule in rules.items() if rule["ours"]] == [
        "matches_true",
        "combined_match_rate",
        "tail_ratio",
    ]
    scores = score(read_dossier(made).evaluation)
    assert [one["why"] for one in content["scorecard"]] == [one.why for one in scores]


def test_bounds_that_the_agency_set_stay_inside(made):
    files = [path for path in made.rglob("*") if path.is_file() and f"{TUNED}".encode() in path.read_bytes()]
    assert {"settings.toml", "report.html", "dossier.json"} <= {path.name for path in files}
    assert {path.relative_to(made).parts[0] for path in files} == {"internal"}


def test_no_number_is_null_and_no_word_of_javascript(made):
    text = (made / ARCHIVE).read_text(encoding="utf-8")
    json.loads(text, parse_constant=pytest.fail)
    content = archived(plain_dossier)
    missing = plain_dossier().evaluation.risk["low"].isna().to_numpy()
    assert missing.any()
    np.testing.assert_array_equal([row["low"] is None for row in content["risk"]], missing)


def test_it_is_the_same_bytes_when_the_dossier_was_saved_in_between(made):
    files, settings = hash_files(made / "release"), hash_files(made / "internal")["settings.toml"]
    again = archive_dossier(read_dossier(made), published=files, settings=settings)
    assert again == (made / ARCHIVE).read_text(encoding="utf-8")


def test_neither_seed_nor_value_nor_record_is_in_it(made):
    text = (made / ARCHIVE).read_text(encoding="utf-8")
    assert str(PLANTED) not in text
    assert str(OWN_SEED) not in text
    plain = text_of(search_dossier)
    for secret in (str(SEED), f"{RARE:.0f}", "Elsewhere"):
        assert secret not in plain
    content = describe_dossier(search_dossier(), FILES, SETTINGS)
    records = len(plain_dossier().weights)
    lists = [len(part) for part in content.values() if isinstance(part, list)]
    assert not [length for length in lists if length >= records and length % records == 0]
