"""Settings and their file: the same fields, every problem at once, strange names unharmed."""

import re
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from molehill.baselines import BASELINES
from molehill.errors import InputError
from molehill.models import BUILT_IN
from molehill.plan.settings import (
    COMPARED,
    SYNTHESIZERS,
    Settings,
    format_settings,
    read_settings,
    setting,
    write_settings,
)

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
        singletons="formula",
        small_patterns="marginal",
        missing="keep",
        seed=7,
        breaks={"age": (25, 35)},
        kinds={"age": "count"},
    )
    for settings in (PLAIN, full):
        write_settings(settings, tmp_path / "settings.toml")
        assert read_settings(tmp_path / "settings.toml") == settings


def test_every_setting_stands_in_the_file_with_its_comment():
    text = format_settings(PLAIN, notes={"known": "40 patterns\nnone alone"})
    for name in Settings.model_fields:
        assert f"{Settings.describe(name)['comment']} ({Settings.describe(name)['wanted']})" in text, name
    assert "# 40 patterns\n# none alone\nknown" in text


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
        ("scale", 0),
        ("shift", float("inf")),
        ("synthesizer", "cart"),
        ("membership", "both"),
        ("datasets", 0),
        ("compare", ["nothing"]),
        ("regressions", [""]),
        ("expected_tables", -1),
        ("targets", [0.5]),
        ("targets", ["U_m <= 0.1", "U_m <= 0.1"]),
        ("singletons", "drop"),
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
        "accept",
        "shuffle",
        "known",
        "predictors",
        "synthesizer",
        "noise",
        "datasets",
        "missing",
    }


def test_the_intruder_and_settings_by_column_come_from_the_settings():
    settings = PLAIN.but(replace=("income", "wealth"), upper={"income": 5.0}, breaks={"age": (30,), "x": (1,)})
    intruder = settings.intruder
    assert (intruder.known, intruder.sensitive) == (("gender", "age"), ("income", "wealth"))
    assert intruder.breaks == {"age": (30,)}
    assert [settings.of_column("upper", name) for name in settings.replace] == [5.0, None]
    assert settings.of_column("radius", "wealth") == 0.2


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
