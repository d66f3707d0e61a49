"""Settings and their file: the same fields, every problem at once, strange names unharmed."""

import re
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from molehill.errors import InputError
from molehill.plan.settings import RULES, SCHEMES, Settings, format_settings, read_settings, write_settings

PLAIN = Settings(sensitive="income", known=("gender", "age"), data="survey.csv")


def test_a_file_says_all_that_the_settings_say(tmp_path):
    full = Settings(
        sensitive="income",
        known=("gender", "age"),
        data="survey.sav",
        predictors=("gender", "age", "region"),
        radius=0.1,
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
        again = read_settings(tmp_path / "settings.toml")
        assert again.breaks.keys() == settings.breaks.keys()
        assert [list(ends) for ends in again.breaks.values()] == [list(ends) for ends in settings.breaks.values()]
        for name in set(RULES) - {"breaks"}:
            assert getattr(again, name) == getattr(settings, name), name


def test_every_setting_stands_in_the_file_with_its_comment():
    text = format_settings(PLAIN, notes={"known": "40 patterns\nnone alone"})
    for name, rule in RULES.items():
        assert f"# {rule.comment} ({rule.wanted})" in text
        assert re.search(rf"^(# )?\[?{name}\b", text, re.MULTILINE), name
    assert "# 40 patterns\n# none alone\nknown" in text


@given(st.lists(st.text(min_size=1), min_size=1, max_size=4, unique=True))
def test_any_name_goes_through_the_file(names):
    settings = Settings(
        sensitive=names[0], known=tuple(names[1:]), data="x.csv", kinds=dict.fromkeys(names, "categorical")
    )
    content = tomllib.loads(format_settings(settings, notes={"known": "\n".join(names)}))
    assert content["sensitive"] == names[0]
    assert content["known"] == names[1:]
    assert content["kinds"] == settings.kinds


def test_every_problem_is_told_at_once(tmp_path):
    (tmp_path / "settings.toml").write_text('sensitiv = "a"\nradius = 3\norder = "x"\nknown = ["a", "a"]\nseed = -1\n')
    with pytest.raises(InputError) as caught:
        read_settings(tmp_path / "settings.toml")
    told = str(caught.value)
    for part in ("6 problems", "Did you mean 'sensitive'", "'sensitive' is missing"):
        assert part in told
    for name in ("radius", "order", "known", "seed"):
        assert f"{name!r} must be {RULES[name].wanted}" in told


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
        ("sensitive", ""),
        ("known", ["a", 1]),
    ],
)
def test_a_bad_value_is_refused_with_what_it_may_be(name, value):
    with pytest.raises(InputError, match=re.escape(f"{name!r} must be {RULES[name].wanted}")):
        Settings(**({"sensitive": "income", "known": ("gender",)} | {name: value}))


def test_what_is_wrong_with_targets_is_told_beside_the_rest(tmp_path):
    content = 'sensitive = "a"\nknown = []\nradius = 3\ntargets = ["maximum <= 0.5", "U_m <= 3", "U_m <= 0.1"]\n'
    (tmp_path / "settings.toml").write_text(content)
    with pytest.raises(InputError) as caught:
        read_settings(tmp_path / "settings.toml")
    for part in ("3 problems", "'radius' must be", "'targets': 'maximum <= 0.5': say of which risk", "above 1"):
        assert part in str(caught.value)


def test_a_file_that_is_not_there_or_not_toml_is_told(tmp_path):
    with pytest.raises(InputError, match="molehill init DATA"):
        read_settings(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("known = [")
    with pytest.raises(InputError, match="not TOML"):
        read_settings(tmp_path / "bad.toml")
    (tmp_path / "latin.toml").write_bytes('sensitive = "é"'.encode("latin-1"))
    with pytest.raises(InputError, match="not TOML"):
        read_settings(tmp_path / "latin.toml")


def test_the_file_is_for_its_owner_only(tmp_path):
    write_settings(PLAIN, tmp_path / "settings.toml")
    assert (tmp_path / "settings.toml").stat().st_mode & 0o777 == 0o600


def test_defaults_compare_with_everything():
    assert PLAIN.compare == SCHEMES
    assert (PLAIN.radius, PLAIN.order, PLAIN.scale, PLAIN.shift, PLAIN.datasets) == (0.2, 2, 1.0, 0.0, 20)
