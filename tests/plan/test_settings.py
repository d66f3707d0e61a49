"""Settings and their file: the same fields, every problem at once, strange names unharmed."""

import copy
import json
import pickle
import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from molehill.baselines import BASELINES
from molehill.errors import InputError
from molehill.models import BUILT_IN
from molehill.plan.settings import (
    COMPARED,
    PAPER,
    SYNTHESIZERS,
    Settings,
    format_settings,
    read_settings,
    setting,
    write_settings,
)
from molehill.surveys import SurveyDesign
from properties import examples

PAPER_LINES = {
    "components": 'components = "auto"',
    "membership": 'membership = "prior"',
    "transform": 'transform = "auto"',
    "cover": 'cover = "others"',
}
PLAIN = Settings(replace=("income",), known=("gender", "age"), data="survey.csv")


def test_a_file_says_all_that_the_settings_say(tmp_path):
    full = Settings(
        replace=("income", "wealth"),
        known=("gender", "age"),
        data="survey.sav",
        predictors=("gender", "age", "region"),
        radius={"income": 0.1, "wealth": 0.2},
        floor=500.0,
        order=3,
        scale=1.5,
        shift=0.1,
        synthesizer="tdp_mixture",
        membership="prior",
        lower=-5.0,
        upper=2e6,
        datasets=5,
        compare=("unweighted",),
        regressions=("income ~ age + C(region)",),
        expected_tables=0,
        targets=("maximum realised <= 0.5", "overlap of mean of income >= 0.6"),
        cover="paper",
        small_patterns="marginal",
        missing="keep",
        seed=7,
        breaks={"age": (25, 35)},
        kinds={"age": "count"},
        scorecard={
            "matches_true": {"amber": 0.02, "red": 0.1},
            "nearer": {"amber": 0.55, "red": "never"},
            "members": "off",
        },
    )
    for settings in (PLAIN, full):
        write_settings(settings, tmp_path / "settings.toml")
        assert read_settings(tmp_path / "settings.toml") == settings


def test_every_setting_stands_in_the_file_with_its_comment():
    text = format_settings(PLAIN, notes={"known": "40 patterns\nnone alone"})
    for name in Settings.model_fields:
        assert f"{Settings.describe(name)['comment']} ({Settings.describe(name)['wanted']})" in text, name
    assert "# 40 patterns\n# none alone\nknown" in text


@examples(50)
@given(st.lists(st.text(min_size=1), min_size=1, max_size=4, unique=True))
def test_any_name_goes_through_the_file(names):
    settings = Settings(
        replace=names[0], known=tuple(names[1:]), data="x.csv", kinds=dict.fromkeys(names, "categorical")
    )
    content = tomllib.loads(format_settings(settings, notes={"known": "\n".join(names)}))
    assert content["known"] == names[1:]
    assert content["columns"][names[0]] == {"release": "replace", "kind": "categorical"}
    assert Settings(**content) == settings


def test_every_problem_is_told_at_once(tmp_path):
    (tmp_path / "settings.toml").write_text('replac = "a"\nradius = 3\norder = "x"\nknown = ["a", "a"]\nseed = -1\n')
    with pytest.raises(InputError) as caught:
        read_settings(tmp_path / "settings.toml")
    told = str(caught.value)
    for part in ("6 problems", "Did you mean 'replace'", "'replace' is missing"):
        assert part in told
    for name in ("radius", "order", "known", "seed"):
        assert f"{name!r} must be {Settings.describe(name)['wanted']}" in told


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("radius", 1.01),
        ("radius", -0.1),
        ("radius", float("nan")),
        ("radius", True),
        ("floor", -1),
        ("order", 0),
        ("order", 2.0),
        ("order", 1001),
        ("order", 10**30),
        ("scale", 0),
        ("shift", float("inf")),
        ("synthesizer", "cart"),
        ("membership", "both"),
        ("datasets", 0),
        ("datasets", 1001),
        ("compare", ["nothing"]),
        ("regressions", [""]),
        ("expected_tables", -1),
        ("targets", [0.5]),
        ("targets", ["U_m <= 0.1", "U_m <= 0.1"]),
        ("cover", "self"),
        ("small_patterns", "drop"),
        ("missing", "drop"),
        ("seed", 1.5),
        ("breaks", {"age": []}),
        ("breaks", {"age": "25"}),
        ("kinds", {"age": "number"}),
        ("replace", ""),
        ("replace", []),
        ("known", ["a", 1]),
    ],
)
def test_a_bad_value_is_refused_with_what_it_may_be(name, value):
    with pytest.raises(InputError, match=re.escape(f"{name!r} must be {Settings.describe(name)['wanted']}")):
        Settings(**({"replace": "income", "known": ("gender",)} | {name: value}))


def test_what_is_wrong_with_targets_is_told_beside_the_rest(tmp_path):
    content = 'replace = "a"\nknown = []\nradius = 3\ntargets = ["maximum <= 0.5", "U_m <= 3", "U_m <= 0.1"]\n'
    (tmp_path / "settings.toml").write_text(content)
    with pytest.raises(InputError) as caught:
        read_settings(tmp_path / "settings.toml")
    for part in ("2 problems", "'radius' must be", "'targets': 'maximum <= 0.5': say of which risk", "above 1"):
        assert part in str(caught.value)


def test_a_file_that_is_not_there_or_not_toml_is_told(tmp_path):
    with pytest.raises(InputError, match="molehill init DATA"):
        read_settings(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("known = [")
    with pytest.raises(InputError, match="not TOML"):
        read_settings(tmp_path / "bad.toml")
    (tmp_path / "latin.toml").write_bytes('replace = "é"'.encode("latin-1"))
    with pytest.raises(InputError, match="not TOML"):
        read_settings(tmp_path / "latin.toml")


@pytest.mark.posix
def test_the_file_is_for_its_owner_only(tmp_path):
    write_settings(PLAIN, tmp_path / "settings.toml")
    assert (tmp_path / "settings.toml").stat().st_mode & 0o777 == 0o600


def test_defaults_are_those_of_the_paper():
    assert PLAIN.compare == ("unweighted", "marginal", "pairwise", "topcoding")
    assert (PLAIN.radius, PLAIN.order, PLAIN.scale, PLAIN.shift, PLAIN.datasets) == (0.2, 2, 1.0, 0.0, 20)


def test_what_can_be_named_is_what_there_is():
    assert set(SYNTHESIZERS) == {"auto", "own", *BUILT_IN}
    assert ("unweighted", "marginal", "pairwise", *BASELINES) == COMPARED


def test_settings_are_frozen_and_changed_by_a_copy():
    changed = PLAIN.but(order=3)
    assert (PLAIN.order, changed.order, changed.known) == (2, 3, PLAIN.known)
    with pytest.raises(ValueError, match="frozen"):
        PLAIN.order = 4
    with pytest.raises(InputError, match="Did you mean 'order'"):
        PLAIN.but(ordr=3)


def test_only_what_is_marked_public_is_published():
    public = PLAIN.but(radius=0.1, seed=5, targets="U_m <= 0.1", datasets=7, data="/home/ann/survey.csv").public
    assert (public.replace, public.known, public.datasets) == (("income",), ("gender", "age"), 7)
    assert (public.radius, public.seed, public.targets, public.data) == (0.2, None, (), None)
    assert {name for name in Settings.model_fields if Settings.describe(name)["public"]} == {
        "replace",
        "keep",
        "drop",
        "derived",
        "accept",
        "min_level_records",
        "shuffle",
        "known",
        "predictors",
        "relations",
        "synthesizer",
        "records",
        "likely",
        "datasets",
        "missing",
        "survey",
        "survey_fit",
    }


def test_the_intruder_and_settings_by_column_come_from_the_settings():
    settings = PLAIN.but(replace=("income", "wealth"), upper={"income": 5.0}, breaks={"age": (30,), "x": (1,)})
    intruder = settings.intruder
    assert (intruder.known, intruder.sensitive) == (("gender", "age"), ("income", "wealth"))
    assert intruder.breaks == {"age": (30,)}
    assert (intruder.cover, intruder.small_patterns) == ("others", "protect")
    assert settings.but(cover="paper", small_patterns="marginal").intruder == replace(
        intruder, cover="paper", small_patterns="marginal"
    )
    assert [settings.of_column("upper", name) for name in settings.replace] == [5.0, None]
    assert settings.of_column("radius", "wealth") == 0.2


def test_the_scheme_of_the_paper_has_its_cover():
    assert PLAIN.but(scheme="paper").intruder.cover == "paper"
    with pytest.raises(InputError, match="sets 'cover' to 'paper': leave these out"):
        PLAIN.but(scheme="paper", cover="others")


def test_a_new_setting_is_one_field_and_reaches_file_and_help():
    class Wider(Settings):
        """Settings with one more, as if it had been added to the class."""

        colour: str = setting("red", "What colour.", "a word")

    call: Any = {"replace": "income", "known": "age"}
    wider = Wider(**call, colour="blue")
    text = format_settings(wider)
    assert '# What colour. (a word)\ncolour = "blue"' in text
    with pytest.raises(InputError, match="'colour' must be a word"):
        Wider(**call | {"colour": 1})
    assert wider.public.colour == "red"
    assert wider.but(order=1).colour == "blue"


# A value that stays what it is.

FULL = PLAIN.but(
    radius={"income": 0.1},
    floor={"income": 5.0},
    lower={"income": 0.0},
    upper={"income": 9.0},
    breaks={"age": [25, 35]},
    missing_codes={"age": [-9, "n/a"]},
    kinds={"age": "count"},
)
MAPPINGS = ("radius", "floor", "lower", "upper", "breaks", "missing_codes", "kinds")


def test_settings_can_be_a_key():
    again = PLAIN.but(**{name: getattr(FULL, name) for name in MAPPINGS})
    assert {FULL: 1, PLAIN: 2}[again] == 1
    assert hash(PLAIN) == hash(Settings(replace=("income",), known=("gender", "age"), data="survey.csv"))


@pytest.mark.parametrize("name", MAPPINGS)
def test_no_setting_can_be_changed_in_place(name):
    settings: list[Any] = [getattr(FULL, name)]
    if name in ("breaks", "missing_codes", "kinds"):
        settings.append(getattr(PLAIN, name))
    for mapping in settings:
        before = dict(mapping)
        for change, argument in ((mapping.update, {"x": 1}), (mapping.pop, next(iter(mapping), "x"))):
            with pytest.raises(TypeError, match="cannot be changed"):
                change(argument)
        assert mapping == before


def test_what_was_given_can_be_changed_without_changing_the_settings():
    given: Any = {"upper": {"income": 9.0}, "breaks": {"age": [25]}}
    settings = PLAIN.but(**given)
    given["upper"]["income"] = 1.0
    given["breaks"]["age"].append(35)
    assert (settings.upper, settings.breaks) == ({"income": 9.0}, {"age": (25,)})


def test_settings_survive_pickle_copy_json_and_their_file(tmp_path):
    for settings in (PLAIN, FULL):
        write_settings(settings, tmp_path / "settings.toml")
        for back in (
            pickle.loads(pickle.dumps(settings)),  # noqa: S301 (made here)
            copy.copy(settings),
            copy.deepcopy(settings),
            settings.model_copy(),
            settings.model_copy(deep=True),
            Settings(**settings.model_dump()),
            Settings.model_validate_json(settings.model_dump_json()),
            read_settings(tmp_path / "settings.toml"),
        ):
            assert back == settings
            assert hash(back) == hash(settings)
            with pytest.raises(TypeError, match="cannot be changed"):
                back.kinds["x"] = "count"


# Every door is checked alike, and quotes nothing.

DOORS: dict[str, Any] = {
    "call": lambda changes: Settings(**{"replace": "income", "known": "age"} | changes),
    "validate": lambda changes: Settings.model_validate({"replace": "income", "known": "age"} | changes),
    "json": lambda changes: Settings.model_validate_json(json.dumps({"replace": "income", "known": "age"} | changes)),
    "copy": lambda changes: PLAIN.model_copy(update=changes),
    "but": lambda changes: PLAIN.but(**changes),
}


@pytest.mark.parametrize("door", DOORS)
def test_every_door_to_settings_checks_and_quotes_nothing(door):
    assert DOORS[door]({"order": 3, "upper": {"income": 5}, "replace": "income"}).upper == {"income": 5.0}
    for changes in ({"order": "1244.56"}, {"upper": {"income": "1244.56"}}, {"radius": 1244.56}, {"ordr": 1244.56}):
        with pytest.raises(InputError, match=r"settings: .*(must be|there is no setting 'ordr')") as caught:
            DOORS[door](changes)
        error: BaseException | None = caught.value
        while error is not None:
            assert "1244" not in str(error)
            assert isinstance(error, InputError)
            error = error.__cause__ or error.__context__


@pytest.mark.parametrize("given", ["x", None, 3, ["replace"], {1: "income"}])
def test_what_is_no_table_of_settings_is_told(given: Any):
    with pytest.raises(InputError, match="settings: they are not a table of settings by name"):
        Settings.model_validate(given)
    with pytest.raises(InputError, match="settings: they are not a table of settings by name"):
        Settings.model_validate_json(json.dumps([given]))


def test_settings_are_settings_already():
    assert Settings.model_validate(FULL) == FULL
    with pytest.raises(InputError, match="settings: they are not JSON"):
        Settings.model_validate_json("{1244.56")


def test_a_problem_alone_is_it_and_several_are_them():
    with pytest.raises(InputError, match=r"'order' must be a whole number from 1 to 1,000\. Correct it\.$"):
        PLAIN.but(order=0)
    with pytest.raises(InputError, match=r"2 problems: .* Correct each of them\.$"):
        PLAIN.but(order=0, datasets=2.5)


@pytest.mark.parametrize(
    "name", [name for name, field in Settings.model_fields.items() if "int" in f"{field.annotation}"]
)
def test_a_whole_number_is_asked_for_as_one(name):
    with pytest.raises(InputError, match=f"{name!r} must be a whole number"):
        PLAIN.but(**{name: 400.0})


@pytest.mark.parametrize("name", ["self", "given", "cls"])
def test_no_name_in_a_file_is_taken_for_something_else(name, tmp_path):
    (tmp_path / "settings.toml").write_text(f'replace = "a"\nknown = []\n{name} = 1\n')
    with pytest.raises(InputError, match=f"there is no setting {name!r}"):
        read_settings(tmp_path / "settings.toml")


# Files that cannot be read, for their true reason.


def test_a_file_that_cannot_be_read_is_named(tmp_path, monkeypatch):
    with pytest.raises(InputError, match=re.escape(f"{str(tmp_path)!r} cannot be read (Is a directory)")):
        read_settings(tmp_path)
    path = tmp_path / "settings.toml"
    path.write_text("")
    with pytest.raises(InputError, match=re.escape(f"{str(path / 'x')!r} cannot be read (Not a directory)")):
        read_settings(path / "x")

    def refuse(*_: Any, **__: Any) -> str:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_text", refuse)
    with pytest.raises(InputError, match=re.escape(f"{str(path)!r} cannot be read (Permission denied)")):
        read_settings(path)


def test_the_mark_of_an_encoding_is_no_part_of_the_file(tmp_path):
    (tmp_path / "settings.toml").write_text('replace = "a"\nknown = []\n', encoding="utf-8-sig")
    assert read_settings(tmp_path / "settings.toml").replace == ("a",)


def test_a_path_that_no_file_can_have_is_told(tmp_path):
    with pytest.raises(InputError, match="cannot be the name of a file") as caught:
        read_settings(f"{tmp_path}/a\0b.toml")
    assert "\0" not in str(caught.value)
    with pytest.raises(InputError, match="cannot be read"):
        read_settings(tmp_path / ("x" * 5000))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("known = " + "[" * 5000 + "]" * 5000, "it is nested too deeply"),
        ("x = " + "{a=" * 5000 + "1" + "}" * 5000, "it is nested too deeply"),
        ("order = " + "9" * 100_000, "a number in it has too many digits"),
        ("upper = [1, " + "9" * 100_000 + "]", "a number in it has too many digits"),
    ],
)
def test_a_hostile_file_is_refused_for_its_true_reason(tmp_path, content, words):
    path = tmp_path / "settings.toml"
    path.write_text(f'replace = "a"\n{content}\n')
    with pytest.raises(InputError, match=f"settings: {words}") as caught:
        read_settings(path)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("name", ["upper", "scale", "seed", "radius"])
def test_a_number_past_all_bounds_is_refused(name):
    with pytest.raises(InputError, match=f"{name!r} must be"):
        PLAIN.but(**{name: 10**4000})
    if name != "radius":
        with pytest.raises(InputError, match=f"{name!r} must be"):
            PLAIN.but(**{name: {"income": 10**4000} if name == "upper" else -(10**4000)})


def test_lists_that_are_nested_too_deeply_are_refused_in_python_too():
    nested: Any = []
    for _ in range(5000):
        nested = [nested]
    with pytest.raises(InputError, match="settings: they are nested too deeply"):
        PLAIN.but(known=nested)


def test_the_papers_scheme_names_every_line_that_says_otherwise(tmp_path):
    path = tmp_path / "settings.toml"
    write_settings(PLAIN.but(scheme="auto"), path)
    lines = path.read_text(encoding="utf-8").splitlines()
    named = [f"{name!r} (line {1 + lines.index(line)})" for name, line in PAPER_LINES.items()]
    with pytest.raises(InputError) as caught:
        read_settings(path, scheme="paper")
    assert f"says otherwise: {', '.join(named)}. Leave these lines out" in str(caught.value)
    # The scheme in the file says the same; and without these lines it works.
    text = path.read_text(encoding="utf-8").replace('scheme = "auto"', 'scheme = "paper"')
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=", ".join(map(re.escape, named))):
        read_settings(path)
    kept = [line for line in text.splitlines() if line not in PAPER_LINES.values()]
    path.write_text("\n".join(kept), encoding="utf-8")
    assert read_settings(path).intruder.cover == "paper"
    with pytest.raises(InputError, match="sets 'components' to 10, 'transform' to 'log': leave these out"):
        PLAIN.but(scheme="paper", components=3, transform="root")


def test_the_papers_scheme_sets_everything_as_published():
    settings = Settings(replace="income", known=["age"], scheme="paper", order=1)
    assert {name: getattr(settings, name) for name in PAPER} == PAPER
    assert settings.but(seed=1).membership == "posterior"
    assert tomllib.loads(format_settings(settings))["scheme"] == "paper"
    with pytest.raises(InputError, match="scheme = \"paper\" sets 'membership' to 'posterior'"):
        settings.but(membership="prior")


@pytest.mark.parametrize("components", [0, -1, 2.5, True, "many"])
def test_components_are_a_number_or_auto(components):
    assert Settings(replace="income", known=["age"]).components == "auto"
    with pytest.raises(InputError, match="'components' must be a whole number"):
        Settings(replace="income", known=["age"], components=components)


# Surveys.

SURVEY = Settings(
    replace=["income"], keep=["weight", "area"], known=["area"], survey={"weight": "weight", "stratum": "area"}
)


def test_a_design_is_a_table_of_the_file(tmp_path):
    assert SURVEY.survey == SurveyDesign(weight="weight", stratum="area")
    path = tmp_path / "settings.toml"
    write_settings(SURVEY, path)
    assert '[survey]\nweight = "weight"\nstratum = "area"' in path.read_text(encoding="utf-8")
    assert read_settings(path) == SURVEY
    assert Settings.model_validate_json(SURVEY.model_dump_json()) == SURVEY
    assert SURVEY.but(survey="weight").survey == SurveyDesign(weight="weight")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"survey": {"wait": "weight"}}, "'survey' has no 'wait'"),
        ({"survey": {"stratum": "area"}}, "does not name the column of the design weight"),
        ({"survey": {"weight": "weight", "single": "no"}}, "'survey', single"),
        ({"survey": 3}, "'survey' must be a table"),
        ({"survey": {"weight": "weight", "stratum": "income"}}, "how records were drawn"),
        ({"survey": None, "survey_fit": "weights"}, "needs 'survey'"),
        (
            {"survey": {"weight": "income", "replicates": ["weight", "area"], "method": "brr"}},
            "'weight' tells 'income', which is not published",
        ),
        ({"survey": {"weight": "weight", "population": "area"}, "keep": ["area"], "drop": ["weight"]}, "'area' tells"),
        ({"keep": ["area"], "drop": ["weight"], "survey_fit": "both"}, "which is dropped"),
        ({"keep": ["area"], "replace": ["income", "weight"]}, "draw it first"),
        ({"predictors": ["area"], "survey_fit": "predictor"}, "'predictors' leaves out"),
    ],
)
def test_a_design_that_cannot_be_is_told(changes, words):
    with pytest.raises(InputError, match=words):
        SURVEY.but(**changes)


def test_how_models_use_a_weight_follows_from_what_becomes_of_it():
    assert SURVEY.weighs == "both"
    assert SURVEY.but(keep=["area"], drop=["weight"]).weighs == "weights"
    assert SURVEY.but(replace=["weight", "income"], keep=["area"]).weighs == "both"
    assert SURVEY.but(survey_fit="ignore").weighs == ""
    assert SURVEY.but(survey_fit="weights").weighs == "weights"
    assert SURVEY.but(survey=None).weighs == ""
    # Who leaves it out of the predictors, or brings a model, draws nothing given it.
    assert SURVEY.but(predictors=["area"]).weighs == "weights"
    assert SURVEY.but(synthesizer="own").weighs == "weights"


def test_of_a_design_only_what_published_columns_tell_is_public():
    whole = SURVEY.but(drop=["r1", "r2"], survey={"weight": "weight", "replicates": ["r1", "r2"], "method": "brr"})
    assert whole.public.survey == SurveyDesign(weight="weight")
    dropped = SURVEY.but(keep=["area"], drop=["weight"])
    assert dropped.public.survey == SurveyDesign(weight="weight")
    assert SURVEY.public.survey == SURVEY.survey


def test_bounds_of_the_scorecard_are_checked_frozen_and_never_public():
    settings = PLAIN.but(scorecard={"matches_true": {"red": 0.1}})
    assert settings.public.scorecard == {}
    assert {settings, settings.but()} == {settings}
    with pytest.raises(TypeError):
        settings.scorecard["matches_true"]["red"] = 0.2
    with pytest.raises(InputError) as caught:
        PLAIN.but(scorecard={"matches_tru": {"red": 0.1}}, order=0)
    assert "2 problems" in str(caught.value)
    assert "'scorecard': 'matches_tru' is no rule of ours" in str(caught.value)
    assert "Did you mean 'matches_true'" in str(caught.value)
