"""The studio in a real browser: the whole job from a dropped file to a signed release, wide and narrow, light and dark.

With `MOLEHILL_PICTURES=docs/images` the slow walk over the built-in survey leaves the pictures of docs/studio.md there.
"""

import json
import os
import time
from pathlib import Path

import pytest

from browser import CHROMIUM, shared_browser
from drawing import with_few_figures  # noqa: F401
from molehill.report.trail import hash_files
from molehill.studio.comparing import read_signatures
from molehill.studio.projects import find_project, list_projects
from molehill.studio.running import list_runs
from molehill.studio.serving import STEPS
from opened_studio import PLANTED, OpenStudio, StudioPage, write_people
from processes import run_command

pytestmark = [
    pytest.mark.posix,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed: the studio was not opened in one"),
]
# Of 200 records a search tries two sizes of leaves.
RECORDS = 200
QUICK = {"datasets": "2", "seed": "5", "compare": "", "expected_risk_draws": "0", "attacks": "none"}
QUICK |= {"search_draws": "40", "max_fits": "2"}
ENDED = "!['running', 'paused'].includes(document.getElementById('run-state')?.dataset.state ?? 'running')"


@pytest.fixture(scope="module")
def browser():
    return shared_browser()


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    opened = OpenStudio(tmp_path_factory.mktemp("page"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    return write_people(tmp_path_factory.mktemp("elsewhere") / "people.csv", RECORDS).read_text(encoding="utf-8")


def new_page(browser, studio):
    browser.look(width=1300, height=1000)
    browser.call("Page.navigate", url="about:blank")
    browser.messages.clear()
    shown = StudioPage(browser, studio.address)
    shown.click("[data-action=close]") if shown.text(".project") else None
    return shown


@pytest.fixture(scope="module")
def walked(browser, studio, people, with_few_figures):  # noqa: ARG001, F811
    """A project that went from the dropped file to a signed release, click by click."""
    walk(new_page(browser, studio), studio, people)
    return last_project(studio)


@pytest.fixture
def page(browser, studio, walked):
    """The page of the studio, with that project among those to open."""
    assert walked is not None
    return new_page(browser, studio)


@pytest.fixture
def project_page(page, walked):
    """The page with that project opened."""
    page.browser.ask(f"document.querySelector('[data-action=project][data-name={json.dumps(walked.name)}]').click()")
    page.settle()
    return page


def set_all(page, changes):
    page.go("rule")
    for name, value in changes.items():
        page.change(f"#set-{name}", value)
        assert page.error == ""


def run_to_the_end(page):
    page.go("run")
    page.click("#begin")
    assert page.error == ""
    page.browser.wait(ENDED)
    page.settle()


def last_project(studio):
    return list_projects(studio.studio.home)[0]


def same_bytes(run, out):
    ended = run_command("run", run.settings_file, "--out", out, "--quiet")
    assert ended.returncode == 0, ended.stderr
    own, other = hash_files(run.out), hash_files(out)
    own.pop("internal/times.json")
    other.pop("internal/times.json")
    return own == other


def walk(page, studio, people):
    assert "token" not in page.browser.ask("location.href")
    page.drop("people.csv", people)
    assert f"{RECORDS}" in page.text("main")
    assert f"{PLANTED}" not in page.browser.ask("document.documentElement.outerHTML")
    page.click("#values")
    assert f"{PLANTED}" in page.text("main")
    page.click("#values")
    assert f"{PLANTED}" not in page.browser.ask("document.documentElement.outerHTML")

    decide_columns(page)
    meet_intruder(page)
    set_all(page, QUICK)
    page.change("#set-datasets", "none")
    assert "whole number" in page.error
    assert page.browser.ask("document.querySelector('#set-datasets').value") == "2"
    project = last_project(studio)
    assert (project.settings.radius, project.settings.datasets, project.settings.seed) == (0.25, 2, 5)

    run_to_the_end(page)
    assert "done" in page.text("#run-state")
    assert page.browser.ask("document.querySelectorAll('#run-state .map circle').length") > 0
    page.click("#compare")
    page.browser.wait("document.querySelectorAll('.picture img').length > 0 && !document.querySelector('.picture p')")
    page.browser.wait("!!document.querySelector('#other-risk')")
    assert page.text("#verdict")
    page.slide("#other-radius", 0.5)
    other = page.text("#other-risk")
    page.slide("#other-radius", 0.1)
    assert page.text("#other-risk") != other
    assert len(list_runs(project)) == 1

    page.go("sign")
    assert page.text("#fingerprint")
    page.browser.ask("document.querySelector('#sign-name').value = 'A. Board'")
    page.browser.ask("document.querySelector('#sign-decision').value = 'publish'")
    page.click("form[data-action=sign] button[type=submit]")
    assert "A. Board" in page.text("#signed")
    assert page.browser.messages == []


def test_the_whole_job_from_a_dropped_file_to_a_signed_release(walked):
    (run,) = list_runs(walked)
    assert [one["name"] for one in read_signatures(run)] == ["A. Board"]


def decide_columns(page):
    page.go("columns")
    page.change("#fate-4", "synthesize")
    page.change("#upper-5", "2000000")
    names = "[...document.querySelectorAll('.order li')].map(one => one.dataset.column).join()"
    assert page.browser.ask(names) == "income,town"
    page.click("#up-3")
    assert page.browser.ask(names) == "town,income"
    page.click("#undo")
    assert page.browser.ask(names) == "income,town"
    page.click("#redo")
    page.change("#fate-4", "keep")


def meet_intruder(page):
    page.go("intruder")
    before = page.text("#figure-risk")
    page.slide("#radius", 0.6)
    assert page.text("#figure-risk") != before
    page.change("#radius", "0.25")
    patterns = page.text("#figure-patterns")
    page.browser.ask("document.querySelector('#known-1').click()")
    page.settle()
    assert page.text("#figure-patterns") != patterns
    page.click("#undo")
    assert page.text("#figure-patterns") == patterns


def test_a_point_of_the_search_becomes_the_settings(project_page, studio, walked):
    page = project_page
    page.go("compare")
    page.browser.ask("document.querySelector('input[name=point]:not(:checked)').click()")
    page.click("form[data-action=point] button[type=submit]")
    assert page.text("h1") == "Run"
    home = studio.studio.home
    assert isinstance(find_project(home, walked.name).settings.min_leaf_size, float)
    page.click("#undo")
    assert find_project(home, walked.name).settings.min_leaf_size == "auto"


def test_every_step_fits_on_the_screen_and_every_control_has_a_name_and_can_be_reached(project_page):
    page = project_page
    nameless = (
        "[...document.querySelectorAll('main input, main select, main textarea, main button')].filter(one =>"
        "!(one.labels?.length || one.getAttribute('aria-label') || one.textContent.trim())).map(one => one.outerHTML)"
    )
    helpless = (
        "[...document.querySelectorAll('main input, main select, main textarea')].filter(one =>"
        "!one.getAttribute('aria-describedby')).map(one => one.outerHTML)"
    )
    for step in STEPS:
        page.go(step)
        assert page.browser.ask(nameless) == []
        assert page.browser.ask(helpless) == [], step
        assert page.browser.ask("document.querySelectorAll('h1').length") == 1
        assert page.browser.ask(
            "document.activeElement.tagName === 'H1' || document.activeElement.ariaCurrent === 'step'"
        )
        assert page.browser.ask(
            "[...document.querySelectorAll('[aria-describedby]')].every(one =>"
            "document.getElementById(one.getAttribute('aria-describedby'))?.textContent.trim())"
        )
        twice = "(ids => ids.length - new Set(ids).size)([...document.querySelectorAll('[id]')].map(one => one.id))"
        assert page.browser.ask(twice) == 0
        page.browser.wait("!document.querySelector('.picture p')")
        for width, dark in ((420, True), (1300, False)):
            page.browser.look(width=width, height=900, dark=dark)
            assert page.browser.ask("document.documentElement.scrollWidth") <= width, step
    # The console was told nothing.
    assert page.browser.messages == []


def press(page, key, code, number, modifiers=0):
    for kind in ("keyDown", "keyUp"):
        how = {"key": key, "code": code, "windowsVirtualKeyCode": number, "modifiers": modifiers}
        page.browser.call("Input.dispatchKeyEvent", type=kind, **how)
    page.settle()


def test_the_focus_stays_with_what_is_moved_and_is_never_lost(project_page):
    page = project_page
    page.go("columns")
    page.change("#fate-4", "synthesize")
    page.browser.ask("document.querySelector('#down-4').focus()")
    page.click("#down-4")
    order = "[...document.querySelectorAll('.order li')].map(one => one.dataset.column).join()"
    assert page.browser.ask(order) == "town,income"
    # At the end it can go no further.
    assert page.browser.ask("document.activeElement.id || document.activeElement.tagName") in ("down-4", "H1")
    for _ in range(2):
        page.click("#undo")
    page.go("rule")
    page.browser.ask("document.querySelector('#add-rule').focus()")
    page.click("#add-rule")
    assert page.browser.ask("document.activeElement.id") == "add-rule"
    page.browser.ask("document.querySelector('#drop-1').focus()")
    page.click("#drop-1")
    assert page.browser.ask("document.activeElement.tagName") == "H1"
    page.browser.ask("document.querySelector('.skip').click()")
    assert page.browser.ask("document.activeElement.id") == "main"
    assert page.text("h1").startswith("Rule")


def test_steps_and_undo_by_keyboard_alone(project_page):
    page = project_page
    page.go("intruder")
    page.browser.ask("document.querySelector('#radius').focus()")
    press(page, "ArrowRight", "ArrowRight", 39)
    assert page.browser.ask("document.querySelector('#radius').value") == "0.26"
    assert page.browser.ask("document.activeElement.id") == "radius"
    press(page, "z", "KeyZ", 90, modifiers=2)
    assert page.browser.ask("document.querySelector('#radius').value") == "0.25"


def test_the_page_without_its_token_or_its_studio_says_what_to_do(browser, studio, people, tmp_path):
    browser.ask("sessionStorage.clear()")
    bare = StudioPage(browser, studio.address.partition("#")[0])
    assert "molehill studio" in bare.error
    assert bare.text("main") == ""
    other = OpenStudio(tmp_path)
    shown = StudioPage(browser, other.address)
    shown.drop("people.csv", people)
    other.close()
    browser.ask("document.querySelector('#step-rule').click()")
    shown.settle()
    assert "does not answer" in shown.error
    browser.messages.clear()


def test_a_hostile_file_runs_nothing(page):
    evil = "<img src=x onerror=document.title='hacked'>"
    rows = "\n".join(
        f"{evil},<script>document.title='hacked'</script>{number % 2},{1000 + 13.5 * number}" for number in range(90)
    )
    page.drop(f"{evil}.csv", f"{evil}{evil},<b>b</b>,javascript:document.title='hacked'\n{rows}")
    assert page.error == ""
    for step in STEPS[:5]:
        page.go(step)
    page.go("file")
    page.click("#values")
    assert page.browser.ask("document.title") == "Molehill studio: file"
    assert page.browser.ask("document.querySelectorAll('main img, main script, main b').length") == 0
    assert page.browser.messages == []


def test_reports_open_in_a_tab_of_their_own_and_draw(project_page):
    page = project_page
    page.go("sign")
    before = {one["targetId"] for one in page.browser.call("Target.getTargets")["targetInfos"]}
    page.click("#open-internal")
    new = "Target.getTargets"
    end = time.monotonic() + 1500
    while True:
        tabs = [one for one in page.browser.call(new)["targetInfos"] if one["targetId"] not in before]
        if any("report" in one["title"] for one in tabs):
            break
        assert time.monotonic() < end, tabs
        time.sleep(0.02)
    (tab,) = [one for one in tabs if "report" in one["title"]]
    assert "/once/" in tab["url"]
    attached = page.browser.call("Target.attachToTarget", targetId=tab["targetId"], flatten=True)
    own, page.browser._session = page.browser._session, attached["sessionId"]
    try:
        page.browser.wait("document.documentElement.classList.contains('ready')")
        assert page.browser.ask("document.querySelectorAll('figure.drawn').length") > 0
        # Whatever stands in a report has neither the token nor a way to ask with it.
        storage = "(() => {try {return sessionStorage.length} catch (error) {return 'refused'}})()"
        assert page.browser.ask(storage) == "refused"
        assert page.browser.ask("window.opener") is None
        asked = "fetch('/view', {method: 'POST', body: '{}'}).then(() => 'answered', () => 'refused')"
        assert page.browser.ask(asked) == "refused"
    finally:
        page.browser._session = own
    page.browser.call("Target.closeTarget", targetId=tab["targetId"])


PICTURES = os.environ.get("MOLEHILL_PICTURES")
FILES = {"survey": None, "ce": "ce_sample.csv", "nist": "nist_ma.csv"}


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_the_whole_job_on_real_files(browser, tmp_path, request, name):
    opened = OpenStudio(tmp_path)
    browser.look(width=1300, height=1000)
    page = StudioPage(browser, opened.address)
    try:
        if FILES[name] is None:
            photograph(browser, name, "open")
            page.click("#example")
        else:
            file = request.getfixturevalue("shared") / FILES[name]
            page.drop(FILES[name], file.read_text(encoding="utf-8"))
        assert page.error == ""
        photograph(browser, name, "file")
        page.go("columns")
        for row in page.browser.ask(
            "[...document.querySelectorAll('tr.decide select[data-action=fate]')].map(x => x.id)"
        ):
            page.change(f"#{row}", "drop")
            assert page.error == ""
        assert not page.text(".problem"), page.text(".problem")
        photograph(browser, name, "columns")
        page.go("intruder")
        photograph(browser, name, "intruder")
        set_all(page, {"datasets": "5", "seed": "11"})
        photograph(browser, name, "rule")
        run_to_the_end(page)
        assert "done" in page.text("#run-state"), page.text("#run-state")
        photograph(browser, name, "run")
        page.go("compare")
        page.browser.wait("!document.querySelector('.picture p') && !!document.querySelector('#other-risk')")
        photograph(browser, name, "compare")
        page.go("sign")
        photograph(browser, name, "sign")
        assert browser.messages == []
        (run,) = list_runs(find_project(opened.studio.home, list_projects(opened.studio.home)[0].name))
        assert same_bytes(run, tmp_path / "out")
    finally:
        opened.close()


def photograph(browser, name, step):
    if PICTURES is not None and name == "survey":
        # What a run tells is at the end of its page.
        browser.photograph(Path(PICTURES) / f"studio-{step}.png", height=None if step == "run" else 1000)
