"""The studio asked as its page asks: files, steps, changes, tickets; and what never leaves it."""

import json
import os

import pandas as pd
import pytest

from molehill import read_settings, read_table
from molehill.studio import serving
from molehill.studio.projects import find_project
from molehill.studio.serving import STEPS
from opened_studio import PLANTED, OpenStudio, write_people

HOSTILE = "<img src=x onerror=alert(1)>\"'&"


def test_a_file_is_opened_where_it_lies(opened, project):
    settings = find_project(opened.studio.home, project).settings
    assert settings.data == os.path.join("..", "..", "people.csv")  # noqa: PTH118
    assert (settings.synthesize, settings.drop) == (("income",), ("name",))


def test_every_step_shows_and_no_value_is_in_it_until_it_is_asked_for(opened, project):
    for step in STEPS:
        answer = opened.ask("/view", project, step)
        assert answer["step"] == step, answer
        assert f"{PLANTED}" not in answer["html"]
        assert "Person 3" not in answer["html"]
    shown = opened.ask("/view", project, "file", shown=True)["html"]
    assert f"{PLANTED}" in shown
    assert "Person 3" in shown
    assert f"{PLANTED}" not in opened.ask("/view", project, "file")["html"]


def test_a_change_is_a_settings_file(opened, project, settings):
    answer = opened.do("fate", project, "columns", column="name", value="keep")
    assert "may name people" in answer["html"]
    assert "name" in settings().keep
    path = find_project(opened.studio.home, project).path
    assert read_settings(path) == settings()
    opened.do("undo", project)
    assert "name" in settings().drop
    opened.do("redo", project)
    assert "name" in settings().keep


def test_a_slider_shows_figures_and_changes_nothing_before_it_is_let_go(opened, project, settings):
    before = settings()
    answer = opened.do("reach", project, "intruder", setting="radius", value="0.9", **{"try": True})
    assert answer["part"] == "figures"
    assert "mean risk" in answer["html"]
    assert settings() == before
    opened.do("reach", project, "intruder", setting="radius", value="0.9")
    assert settings().radius == 0.9


def test_a_change_that_is_refused_is_told_and_leaves_all_as_it_was(opened, project, settings):
    before = settings()
    for action, fields in (
        ("reach", {"setting": "radius", "value": "7"}),
        ("fate", {"column": "nobody", "value": "keep"}),
        ("fate", {"column": "income", "value": "drop"}),
        ("set", {"name": "datasets", "value": "many"}),
        ("nonsense", {}),
        ("limit", {"column": "income", "end": "sideways", "value": "1"}),
    ):
        answer = opened.do(action, project, "columns", **fields)
        assert "error" in answer, action
        assert f"{PLANTED}" not in answer["error"]
    assert settings() == before


@pytest.mark.posix
def test_files_outside_are_not_opened_by_any_name(opened, tmp_path):
    secret = tmp_path / "secret.csv"
    write_people(secret)
    (opened.studio.folders[0] / "way.csv").symlink_to(secret)
    try:
        for path in (str(secret), "way.csv", "../../etc/passwd", "/etc/passwd"):
            assert "outside" in opened.do("open", path=path)["error"]
        assert "way.csv" not in opened.ask("/view", part="place")["html"]
    finally:
        (opened.studio.folders[0] / "way.csv").unlink()
    # Settings that name a file outside open it no more than its path does.
    inside = opened.studio.folders[0] / "mine.toml"
    inside.write_text(
        f'[file]\ndata = "{secret}"\n[columns]\nincome = "synthesize"\n[intruder]\nknown = ["sex"]\n', encoding="utf-8"
    )
    assert "outside" in opened.do("open", path="mine.toml")["error"]
    dropped = opened.send("mine.toml", inside.read_bytes())
    assert "outside" in dropped["error"]
    inside.unlink()


def test_what_comes_to_nothing_leaves_no_project(opened):
    before = {path.name for path in opened.studio.home.iterdir()}
    for name, content in (
        ("empty.csv", b""),
        ("binary.csv", bytes(range(256)) * 20),
        ("one.csv", b"a\n1\n"),
        ("alike.csv", b"a,b\n" + b"1,2\n" * 40),
        ("twice.csv", b"a,a\n1,2\n3,4\n"),
        ("broken.xlsx", b"PK\x03\x04 nothing"),
        ("broken.parquet", b"PAR1xxxxPAR1"),
        ("broken.sav", b"$FL2" + b"\0" * 200),
        ("bad.toml", b"= 1"),
        ("other.exe", b"MZ"),
        ("../../escape.csv", b""),
    ):
        answer = opened.send(name, content)
        assert "error" in answer, name
    assert {path.name for path in opened.studio.home.iterdir()} == before


def test_too_large_a_file_is_refused_and_removed(opened, monkeypatch):
    before = {path.name for path in opened.studio.home.iterdir()}
    monkeypatch.setattr(serving, "MOST_BYTES", 1000)
    assert "MiB" in opened.send("large.csv", b"a,b\n" + b"1,2\n" * 1000)["error"]
    assert {path.name for path in opened.studio.home.iterdir()} == before


def test_text_from_a_hostile_file_is_inert(opened):
    names = f'"{HOSTILE.replace(chr(34), chr(34) * 2)}","</script><script>alert(2)</script>","pay\n[31m"'
    rows = [
        f'"{chr(60)}b{chr(62)}{number % 3}","\'; DROP TABLE x; --{number % 2}",{1000.5 + 7 * number}'
        for number in range(80)
    ]
    content = "\n".join([names.replace("\n", " "), *rows]).encode()
    answer = opened.send("<script>alert(3)</script>.csv", content)
    assert "error" not in answer, answer
    for step in STEPS:
        html = opened.ask("/view", answer["project"], step, shown=True)["html"]
        assert "<img" not in html
        assert "<script" not in html
        assert "onerror=alert(1)&gt;" in html or HOSTILE not in html
    opened.do("known", answer["project"], "intruder", column=HOSTILE, value=True)


@pytest.mark.posix
def test_a_file_that_was_dropped_is_copied_for_its_owner(opened):
    content = (opened.studio.folders[0] / "people.csv").read_bytes()
    answer = opened.send("dropped people.csv", content)
    project = find_project(opened.studio.home, answer["project"])
    assert project.data.read_bytes() == content
    assert project.data.stat().st_mode & 0o077 == 0
    assert project.settings.data == "dropped people.csv"


def settings_of(opened, project):
    return find_project(opened.studio.home, project).settings


def test_a_file_is_read_in_another_way(opened):
    rows = "\n".join(f"{number % 4},{number % 7};{number % 3},{900 + number}" for number in range(90))
    answer = opened.send("marks.csv", f"a,b;c,d\n{rows}".encode("cp1252"))
    project = answer["project"]
    before = settings_of(opened, project)
    assert opened.do("reading", project, "file", encoding="cp1252")["message"] == "The file was read anew."
    assert settings_of(opened, project) == before.but(encoding="cp1252")
    other = ";" if "separator comma" in answer["html"] else ","
    read = opened.do("reading", project, "file", separator=other, decimal="", encoding="", thousands="")
    assert "its columns are others" in read["message"]
    assert settings_of(opened, project).separator == other
    opened.do("undo", project)
    assert settings_of(opened, project) == before.but(encoding="cp1252")
    assert "error" in opened.do("reading", project, "file", encoding="no-such-code")


def test_an_address_works_once_and_soon(opened, project, monkeypatch):
    address = opened.ask("/ticket", project, what="settings")["address"]
    status, headers, content = opened.request("GET", address, x_molehill_token=None)
    assert status == 200
    assert headers["cache-control"].startswith("no-store")
    assert "attachment" in headers["content-disposition"]
    assert content == find_project(opened.studio.home, project).path.read_bytes()
    assert opened.request("GET", address, x_molehill_token=None)[0] == 410
    for other in ("/once/", "/once/x", "/once/../view", "/once/%2e%2e%2fsettings.toml"):
        assert opened.request("GET", other, x_molehill_token=None)[0] in (404, 410)
    monkeypatch.setattr(serving, "_SOON", -1.0)
    late = opened.ask("/ticket", project, what="settings")["address"]
    assert opened.request("GET", late, x_molehill_token=None)[0] == 410
    for what in ("internal", "nonsense", "../settings", None):
        assert "error" in opened.ask("/ticket", project, what=what)


def test_a_fault_tells_its_kind_and_place_but_not_what_it_says(opened, project, monkeypatch, capsys):
    def fail(*_):
        raise KeyError(f"{PLANTED}")

    monkeypatch.setitem(serving._TELLING, "columns", fail)
    answer = opened.ask("/view", project, "columns")
    assert "KeyError" in answer["error"]
    told = answer["error"] + capsys.readouterr().err
    assert f"{PLANTED}" not in told
    assert "test_serving.py" in told


def test_a_project_or_file_that_is_gone_is_told(opened):
    assert "not there any more" in opened.ask("/view", "nobody", "columns")["error"]
    path = write_people(opened.studio.folders[0] / "gone.csv")
    project = opened.do("open", path="gone.csv")["project"]
    path.unlink()
    assert "there is no such file" in opened.ask("/view", project, "columns")["error"]
    # Another one can be opened all the same.
    assert "error" not in opened.do("close", "nobody")
    assert "error" not in opened.do("open", "nobody", path="people.csv")


@pytest.mark.posix
def test_the_table_of_a_project_is_not_another_one_because_its_settings_say_so(opened, project, tmp_path):
    path = find_project(opened.studio.home, project).path
    secret = write_people(tmp_path / "secret.csv")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("../../people.csv", str(secret)), encoding="utf-8")
    for step in STEPS:
        assert "outside" in opened.ask("/view", project, step, shown=True)["error"]
    assert "outside" in opened.do("set", project, "rule", name="datasets", value="3")["error"]


def test_settings_that_are_dropped_find_their_table_in_the_folders(opened):
    text = (
        '[file]\ndata = "people.csv"\n[intruder]\nknown = ["sex"]\n[columns]\nincome = "synthesize"\nsex = "keep"\n'
        'name = "drop"\nage = "drop"\ntown = "drop"\n'
    )
    answer = opened.send("mine.toml", text.encode())
    assert "error" not in answer, answer
    assert find_project(opened.studio.home, answer["project"]).data.name == "people.csv"
    assert "Put the file" in opened.send("mine.toml", text.replace("people.csv", "nothing.csv").encode())["error"]


def test_a_sheet_of_a_workbook_is_chosen_when_it_is_opened(opened):
    frame = read_table(opened.studio.folders[0] / "people.csv").frame
    path = opened.studio.folders[0] / "book.xlsx"
    with pd.ExcelWriter(path, engine="xlsxwriter") as book:
        for name in ("first", "second"):
            frame.to_excel(book, sheet_name=name, index=False)
    assert "Give the name of one" in opened.do("open", path="book.xlsx")["error"]
    assert "error" not in opened.do("open", path="book.xlsx", sheet="second")
    status, _, content = opened.request(
        "PUT", "/upload", path.read_bytes(), x_molehill_name="b.xlsx", x_molehill_sheet="first"
    )
    assert status == 200
    answer = json.loads(content)
    assert find_project(opened.studio.home, answer["project"]).settings.sheet == "first"
    path.unlink()


@pytest.mark.posix
def test_a_pipe_is_no_file_and_holds_nothing_up(opened):
    for name in ("pipe.toml", "pipe.csv"):
        os.mkfifo(opened.studio.folders[0] / name)
        assert "error" in opened.do("open", path=name)
        (opened.studio.folders[0] / name).unlink()


def test_a_project_is_removed_with_all_that_is_in_it(opened, project):
    folder = find_project(opened.studio.home, project).folder
    answer = opened.do("remove", project, name=project)
    assert "was removed" in answer["message"]
    assert not folder.exists()
    assert (opened.studio.folders[0] / "people.csv").exists()
    assert "error" in opened.do("remove", None, name=project)


def test_settings_and_the_built_in_survey_are_opened(opened):
    example = opened.do("example")
    assert "6,208" in example["html"]
    text = find_project(opened.studio.home, example["project"]).path.read_text(encoding="utf-8")
    (opened.studio.home / example["project"] / "other.toml").write_text(text, encoding="utf-8")
    again = opened.do("open", path=f"{opened.studio.home.name}/{example['project']}/other.toml")
    own = find_project(opened.studio.home, again["project"])
    assert own.settings.but(data=None) == find_project(opened.studio.home, example["project"]).settings.but(data=None)
    assert own.data.is_file()


def test_two_studios_do_not_share_their_tokens(opened, tmp_path):
    write_people(tmp_path / "people.csv")
    other = OpenStudio(tmp_path)
    try:
        body = {"project": None, "step": "file", "fields": {}}
        assert other.request("POST", "/view", body, x_molehill_token=opened.studio.token)[0] == 403
        assert json.loads(other.request("POST", "/view", body)[2])["step"] == "file"
    finally:
        other.close()


@pytest.mark.parametrize("port", [-1, 70_000])
def test_a_port_that_is_none_is_refused(port):
    with pytest.raises(Exception, match="port"):
        serving.listen(port)
