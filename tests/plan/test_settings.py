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

from molehill.errors import InputError
from molehill.models import BUILT_IN
from molehill.plan.settings import (
    COMPARED,
    PAPER,
    SYNTHESIZERS,
    Settings,
    flatten_tables,
    format_settings,
    read_settings,
    setting,
    write_settings,
)
from molehill.sdc_methods import BASELINES
from molehill.surveys import SurveyDesign
from properties import examples

PAPER_LINES = {
    "components": 'components = "auto"',
    "component_draw": 'component_draw = "prior"',
    "transform": 'transform = "auto"',
    "count_self": "count_self = false",
}
PLAIN = Settings(synthesize=("income",), known=("gender", "age"), data="survey.csv")


def test_a_file_says_all_that_the_settings_say(tmp_path):
    full = Settings(
        synthesize=("income", "wealth"),
        known=("gender", "age"),
        data="survey.sav",
        predictors=("gender", "age", "region"),
        radius={"income": 0.1, "wealth": 0.2},
        min_radius=500.0,
        risk_order=3,
        weight_scale=1.5,
        weight_shift=0.1,
        synthesizer="tdp_mixture",
        component_draw="prior",
        lower=-5.0,
        upper=2e6,
        datasets=5,
        compare=("unweighted",),
        regressions=("income ~ age + C(region)",),
        expected_risk_draws=0,
        release_criteria=("maximum realised <= 0.5", "overlap of mean of income >= 0.6"),
        count_self=True,
        small_patterns="marginal",
        missing_values="keep",
        seed=7,
        breaks={"age": (25, 35)},
        kinds={"age": "count"},
        thresholds={
            "matches_true": {"amber": 0.02, "red": 0.1},
            "closer_to_participants": {"amber": 0.55, "red": "never"},
            "membership_distance": "off",
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
        synthesize=names[0], known=tuple(names[1:]), data="x.csv", kinds=dict.fromkeys(names, "categorical")
    )
    content = tomllib.loads(format_settings(settings, notes={"known": "\n".join(names)}))
    assert content["intruder"]["known"] == names[1:]
    assert content["columns"][names[0]] == {"release": "synthesize", "kind": "categorical"}
    assert Settings(**flatten_tables(content)) == settings


def test_every_problem_is_told_at_once(tmp_path):
    content = '[intruder]\nradius = 3\nknown = ["a", "a"]\n[expert]\nreplac = "a"\nrisk_order = "x"\nseed = -1\n'
    (tmp_path / "settings.toml").write_text(content)
    with pytest.raises(InputError) as caught:
        read_settings(tmp_path / "settings.toml")
    told = str(caught.value)
    for part in ("6 problems", "no setting 'replac'", "'synthesize' is missing"):
        assert part in told
    for name in ("radius", "risk_order", "known", "seed"):
        assert f"{name!r} must be {Settings.describe(name)['wanted']}" in told


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("radius", 1.01),
        ("radius", -0.1),
        ("radius", float("nan")),
        ("radius", True),
        ("min_radius", -1),
        ("risk_order", 0),
        ("risk_order", 2.0),
        ("risk_order", 1001),
        ("risk_order", 10**30),
        ("weight_scale", 0),
        ("weight_shift", float("inf")),
        ("synthesizer", "cart"),
        ("component_draw", "both"),
        ("datasets", 0),
        ("datasets", 1001),
        ("compare", ["nothing"]),
        ("regressions", [""]),
        ("expected_risk_draws", -1),
        ("release_criteria", [0.5]),
        ("release_criteria", ["U_m <= 0.1", "U_m <= 0.1"]),
        ("count_self", "self"),
        ("small_patterns", "drop"),
        ("missing_values", "drop"),
        ("seed", 1.5),
        ("breaks", {"age": []}),
        ("breaks", {"age": "25"}),
        ("kinds", {"age": "number"}),
        ("synthesize", ""),
        ("synthesize", []),
        ("known", ["a", 1]),
    ],
)
def test_a_bad_value_is_refused_with_what_it_may_be(name, value):
    with pytest.raises(InputError, match=re.escape(f"{name!r} must be {Settings.describe(name)['wanted']}")):
        Settings(**({"synthesize": "income", "known": ("gender",)} | {name: value}))


def test_what_is_wrong_with_targets_is_told_beside_the_rest(tmp_path):
    content = '[columns]\na = "synthesize"\n[intruder]\nknown = []\nradius = 3\n[search]\n'
    content += 'release_criteria = ["maximum <= 0.5", "U_m <= 3", "U_m <= 0.1"]\n'
    (tmp_path / "settings.toml").write_text(content)
    with pytest.raises(InputError) as caught:
        read_settings(tmp_path / "settings.toml")
    for part in (
        "2 problems",
        "'radius' must be",
        "'release_criteria': 'maximum <= 0.5': say of which risk",
        "above 1",
    ):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('replace = ["a"]', "'replace' is set by column: [columns] income = \"synthesize\""),
        ("floor = 5", "'floor' is 'min_radius' now, in [intruder]"),
        ("[intruder]\nseed = 1", "'seed' belongs in [expert]"),
        ("[model]\nlevels = {}", "'levels' is set by column: [columns] income = { levels = ... }"),
        ('survey = "w"', "'survey' is the table [survey]"),
        ('[scorecard]\nmatches_true = "off"', "'scorecard' is 'thresholds' now, in [evaluation]"),
        ('[columns]\na = { identifying = "accept" }', "'identifying' is 'accept_identifying' now"),
        ('[columns]\na = { release = "keep", missing = [-9] }', "'missing' is 'missing_codes' now"),
    ],
)
def test_a_former_name_and_a_wrong_table_are_told_with_the_right_one(tmp_path, content, words):
    (tmp_path / "settings.toml").write_text(content)
    with pytest.raises(InputError, match=re.escape(words)):
        read_settings(tmp_path / "settings.toml")


def test_a_brief_file_has_what_matters_and_what_is_not_at_its_default(tmp_path):
    settings = PLAIN.but(weight_shift=0.25, max_fits=3)
    write_settings(settings, tmp_path / "settings.toml", brief=True)
    written = tomllib.loads((tmp_path / "settings.toml").read_text(encoding="utf-8"))
    assert sum(len(table) for table in written.values()) < 16
    assert (written["expert"]["weight_shift"], written["search"]["max_fits"]) == (0.25, 3)
    assert read_settings(tmp_path / "settings.toml") == settings


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
    assert (PLAIN.radius, PLAIN.risk_order, PLAIN.weight_scale, PLAIN.weight_shift, PLAIN.datasets) == (
        0.2,
        2,
        1.0,
        0.0,
        20,
    )


def test_what_can_be_named_is_what_there_is():
    assert set(SYNTHESIZERS) == {"auto", "custom", *BUILT_IN}
    assert ("unweighted", "marginal", "pairwise", *BASELINES) == COMPARED


def test_settings_are_frozen_and_changed_by_a_copy():
    changed = PLAIN.but(risk_order=3)
    assert (PLAIN.risk_order, changed.risk_order, changed.known) == (2, 3, PLAIN.known)
    with pytest.raises(ValueError, match="frozen"):
        PLAIN.risk_order = 4
    with pytest.raises(InputError, match="Did you mean 'risk_order'"):
        PLAIN.but(risk_ordr=3)


def test_only_what_is_marked_public_is_published():
    public = PLAIN.but(
        radius=0.1, seed=5, release_criteria="U_m <= 0.1", datasets=7, data="/home/ann/survey.csv"
    ).public
    assert (public.synthesize, public.known, public.datasets) == (("income",), ("gender", "age"), 7)
    assert (public.radius, public.seed, public.release_criteria, public.data) == (0.2, None, (), None)
    assert {name for name in Settings.model_fields if Settings.describe(name)["public"]} == {
        "synthesize",
        "keep",
        "drop",
        "derived",
        "accept_identifying",
        "grouped",
        "min_level_records",
        "shuffle",
        "known",
        "predictors",
        "preserve",
        "synthesizer",
        "fully_synthetic_records",
        "knowledge_probability",
        "datasets",
        "missing_values",
        "survey_design",
        "survey_fit",
    }


def test_the_intruder_and_settings_by_column_come_from_the_settings():
    settings = PLAIN.but(synthesize=("income", "wealth"), upper={"income": 5.0}, breaks={"age": (30,), "x": (1,)})
    intruder = settings.intruder
    assert (intruder.known, intruder.sensitive) == (("gender", "age"), ("income", "wealth"))
    assert intruder.breaks == {"age": (30,)}
    assert (intruder.count_self, intruder.small_patterns) == (False, "maximum_risk")
    assert settings.but(count_self=True, small_patterns="marginal").intruder == replace(
        intruder, count_self=True, small_patterns="marginal"
    )
    assert [settings.of_column("upper", name) for name in settings.synthesize] == [5.0, None]
    assert settings.of_column("radius", "wealth") == 0.2


def test_the_scheme_of_the_paper_has_its_cover():
    assert PLAIN.but(method="paper").intruder.count_self
    with pytest.raises(InputError, match="sets 'count_self' to True: leave these out"):
        PLAIN.but(method="paper", count_self=False)


def test_a_new_setting_is_one_field_and_reaches_file_and_help():
    class Wider(Settings):
        """Settings with one more, as if it had been added to the class."""

        colour: str = setting("red", "What colour.", "a word")

    call: Any = {"synthesize": "income", "known": "age"}
    wider = Wider(**call, colour="blue")
    text = format_settings(wider)
    assert '# What colour. (a word)\ncolour = "blue"' in text
    with pytest.raises(InputError, match="'colour' must be a word"):
        Wider(**call | {"colour": 1})
    assert wider.public.colour == "red"
    assert wider.but(risk_order=1).colour == "blue"


# A value that stays what it is.

FULL = PLAIN.but(
    radius={"income": 0.1},
    min_radius={"income": 5.0},
    lower={"income": 0.0},
    upper={"income": 9.0},
    breaks={"age": [25, 35]},
    missing_codes={"age": [-9, "n/a"]},
    kinds={"age": "count"},
)
MAPPINGS = ("radius", "min_radius", "lower", "upper", "breaks", "missing_codes", "kinds")


def test_settings_can_be_a_key():
    again = PLAIN.but(**{name: getattr(FULL, name) for name in MAPPINGS})
    assert {FULL: 1, PLAIN: 2}[again] == 1
    assert hash(PLAIN) == hash(Settings(synthesize=("income",), known=("gender", "age"), data="survey.csv"))


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
    "call": lambda changes: Settings(**{"synthesize": "income", "known": "age"} | changes),
    "validate": lambda changes: Settings.model_validate({"synthesize": "income", "known": "age"} | changes),
    "json": lambda changes: Settings.model_validate_json(
        json.dumps({"synthesize": "income", "known": "age"} | changes)
    ),
    "copy": lambda changes: PLAIN.model_copy(update=changes),
    "but": lambda changes: PLAIN.but(**changes),
}


@pytest.mark.parametrize("door", DOORS)
def test_every_door_to_settings_checks_and_quotes_nothing(door):
    assert DOORS[door]({"risk_order": 3, "upper": {"income": 5}, "synthesize": "income"}).upper == {"income": 5.0}
    for changes in (
        {"risk_order": "1244.56"},
        {"upper": {"income": "1244.56"}},
        {"radius": 1244.56},
        {"risk_ordr": 1244.56},
    ):
        with pytest.raises(InputError, match=r"settings: .*(must be|there is no setting 'risk_ordr')") as caught:
            DOORS[door](changes)
        error: BaseException | None = caught.value
        while error is not None:
            assert "1244" not in str(error)
            assert isinstance(error, InputError)
            error = error.__cause__ or error.__context__


@pytest.mark.parametrize("given", ["x", None, 3, ["synthesize"], {1: "income"}])
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
    with pytest.raises(InputError, match=r"'risk_order' must be a whole number from 1 to 1,000\. Correct it\.$"):
        PLAIN.but(risk_order=0)
    with pytest.raises(InputError, match=r"2 problems: .* Correct each of them\.$"):
        PLAIN.but(risk_order=0, datasets=2.5)


@pytest.mark.parametrize(
    "name", [name for name, field in Settings.model_fields.items() if "int" in f"{field.annotation}"]
)
def test_a_whole_number_is_asked_for_as_one(name):
    with pytest.raises(InputError, match=f"{name!r} must be a whole number"):
        PLAIN.but(**{name: 400.0})


@pytest.mark.parametrize("name", ["self", "given", "cls"])
def test_no_name_in_a_file_is_taken_for_something_else(name, tmp_path):
    (tmp_path / "settings.toml").write_text(f'{name} = 1\n[columns]\na = "synthesize"\n[intruder]\nknown = []\n')
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
    (tmp_path / "settings.toml").write_text(
        '[columns]\na = "synthesize"\n[intruder]\nknown = []\n', encoding="utf-8-sig"
    )
    assert read_settings(tmp_path / "settings.toml").synthesize == ("a",)


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
    path.write_text(f"{content}\n")
    with pytest.raises(InputError, match=f"settings: {words}") as caught:
        read_settings(path)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("name", ["upper", "weight_scale", "seed", "radius"])
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
    write_settings(PLAIN.but(method="auto"), path)
    lines = path.read_text(encoding="utf-8").splitlines()
    named = [f"{name!r} (line {1 + lines.index(line)})" for name, line in PAPER_LINES.items()]
    with pytest.raises(InputError) as caught:
        read_settings(path, method="paper")
    assert f"says otherwise: {', '.join(named)}. Leave these lines out" in str(caught.value)
    # The scheme in the file says the same; and without these lines it works.
    text = path.read_text(encoding="utf-8").replace('method = "auto"', 'method = "paper"')
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=", ".join(map(re.escape, named))):
        read_settings(path)
    kept = [line for line in text.splitlines() if line not in PAPER_LINES.values()]
    path.write_text("\n".join(kept), encoding="utf-8")
    assert read_settings(path).intruder.count_self
    with pytest.raises(InputError, match="sets 'components' to 10, 'transform' to 'log': leave these out"):
        PLAIN.but(method="paper", components=3, transform="root")


def test_the_papers_scheme_sets_everything_as_published():
    settings = Settings(synthesize="income", known=["age"], method="paper", risk_order=1)
    assert {name: getattr(settings, name) for name in PAPER} == PAPER
    assert settings.but(seed=1).component_draw == "posterior"
    assert tomllib.loads(format_settings(settings))["model"]["method"] == "paper"
    with pytest.raises(InputError, match="method = \"paper\" sets 'component_draw' to 'posterior'"):
        settings.but(component_draw="prior")


@pytest.mark.parametrize("components", [0, -1, 2.5, True, "many"])
def test_components_are_a_number_or_auto(components):
    assert Settings(synthesize="income", known=["age"]).components == "auto"
    with pytest.raises(InputError, match="'components' must be a whole number"):
        Settings(synthesize="income", known=["age"], components=components)


# Surveys.

SURVEY = Settings(
    synthesize=["income"],
    keep=["weight", "area"],
    known=["area"],
    survey_design={"weight": "weight", "stratum": "area"},
)


def test_a_design_is_a_table_of_the_file(tmp_path):
    assert SURVEY.survey_design == SurveyDesign(weight="weight", stratum="area")
    path = tmp_path / "settings.toml"
    write_settings(SURVEY, path)
    assert '\nweight = "weight"\nstratum = "area"\n' in path.read_text(encoding="utf-8")
    assert read_settings(path) == SURVEY
    assert Settings.model_validate_json(SURVEY.model_dump_json()) == SURVEY
    assert SURVEY.but(survey_design="weight").survey_design == SurveyDesign(weight="weight")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"survey_design": {"wait": "weight"}}, "'survey_design' has no 'wait'"),
        ({"survey_design": {"stratum": "area"}}, "does not name the column of the survey weight"),
        ({"survey_design": {"weight": "weight", "single": "no"}}, "'survey_design', single"),
        ({"survey_design": 3}, "'survey_design' must be a table"),
        ({"survey_design": {"weight": "weight", "stratum": "income"}}, "how records were drawn"),
        ({"survey_design": None, "survey_fit": "weights"}, "needs 'survey_design'"),
        (
            {"survey_design": {"weight": "income", "replicates": ["weight", "area"], "method": "brr"}},
            "'weight' tells 'income', which is not published",
        ),
        (
            {"survey_design": {"weight": "weight", "population": "area"}, "keep": ["area"], "drop": ["weight"]},
            "'area' tells",
        ),
        ({"keep": ["area"], "drop": ["weight"], "survey_fit": "both"}, "which is dropped"),
        ({"keep": ["area"], "synthesize": ["income", "weight"]}, "draw it first"),
        ({"predictors": ["area"], "survey_fit": "predictor"}, "'predictors' leaves out"),
    ],
)
def test_a_design_that_cannot_be_is_told(changes, words):
    with pytest.raises(InputError, match=words):
        SURVEY.but(**changes)


def test_how_models_use_a_weight_follows_from_what_becomes_of_it():
    assert SURVEY.weighs == "both"
    assert SURVEY.but(keep=["area"], drop=["weight"]).weighs == "weights"
    assert SURVEY.but(synthesize=["weight", "income"], keep=["area"]).weighs == "both"
    assert SURVEY.but(survey_fit="ignore").weighs == ""
    assert SURVEY.but(survey_fit="weights").weighs == "weights"
    assert SURVEY.but(survey_design=None).weighs == ""
    # Who leaves it out of the predictors, or brings a model, draws nothing given it.
    assert SURVEY.but(predictors=["area"]).weighs == "weights"
    assert SURVEY.but(synthesizer="custom").weighs == "weights"


def test_of_a_design_only_what_published_columns_tell_is_public():
    whole = SURVEY.but(
        drop=["r1", "r2"], survey_design={"weight": "weight", "replicates": ["r1", "r2"], "method": "brr"}
    )
    assert whole.public.survey_design == SurveyDesign(weight="weight")
    dropped = SURVEY.but(keep=["area"], drop=["weight"])
    assert dropped.public.survey_design == SurveyDesign(weight="weight")
    assert SURVEY.public.survey_design == SURVEY.survey_design


def test_bounds_of_the_scorecard_are_checked_frozen_and_never_public():
    settings = PLAIN.but(thresholds={"matches_true": {"red": 0.1}})
    assert settings.public.thresholds == {}
    assert {settings, settings.but()} == {settings}
    with pytest.raises(TypeError):
        settings.thresholds["matches_true"]["red"] = 0.2
    with pytest.raises(InputError) as caught:
        PLAIN.but(thresholds={"matches_tru": {"red": 0.1}}, risk_order=0)
    assert "2 problems" in str(caught.value)
    assert "'thresholds': 'matches_tru' is no rule of ours" in str(caught.value)
    assert "Did you mean 'matches_true'" in str(caught.value)
