"""The report in a real browser: opened from disk, drawn, chosen in, printed, and attacked."""

import json
import math
import re
import zlib

import pytest

from browser import CHROMIUM, shared_browser
from drawing import all_figures, said_in_words
from molehill.report.page.page import render_report
from report_dossier import hostile_dossier, plain_dossier, with_few_measures
from sketches import sketch

pytestmark = [
    pytest.mark.posix,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed: the report was not opened in a browser"),
]

DRAWN = "[...document.querySelectorAll('figure')].map(f => f.querySelectorAll('.live svg path, .live svg line').length)"
SEEN = "(e => e.getClientRects().length > 0 && e.getBoundingClientRect().width > 0)"
# Where the last mark of a figure is, once it is in sight.
MARK = """(() => {
    const svg = document.querySelectorAll('figure .live svg')[NUMBER];
    document.querySelectorAll("details").forEach(one => { one.open = true; });
    svg.scrollIntoView({block: "center"});
    const kinds = ['.mark-symbol', '.mark-rect', '.mark-rule'].map(kind => `.role-mark${kind} :is(path, line)`);
    const box = [...svg.querySelectorAll(kinds.join())].at(-1)?.getBoundingClientRect();
    return box && {x: box.x + box.width / 2, y: box.y + box.height / 2};
})()"""


FINGERPRINT = "0123456789abcdef" * 2


@pytest.fixture(scope="module")
def browser():
    return shared_browser()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("a report's folder")
    made = {}
    for kind, dossier in (("plain", plain_dossier()), ("hostile", hostile_dossier())):
        for edition in ("internal", "public"):
            # Pictures for those without scripts are true ones in the public editions.
            with all_figures(sketch) if edition == "internal" else all_figures():
                made[kind, edition] = render_report(dossier, edition=edition)
    # For what has nothing to do with figures.
    with said_in_words():
        made["words", "internal"] = render_report(
            with_few_measures(plain_dossier()), edition="internal", fingerprint=FINGERPRINT
        )
    paths = {about: folder / f"{'-'.join(about)}.html" for about in made}
    for about, html in made.items():
        paths[about].write_text(html, encoding="utf-8")
    return paths


def look_at_figures(browser, number):
    """Every figure is drawn, and stands in place of its picture."""
    drawn = browser.ask(DRAWN)
    assert len(drawn) == number
    assert min(drawn) > 5
    browser.ask("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert browser.ask(f"[...document.querySelectorAll('figure .live svg')].every({SEEN})")
    assert not browser.ask(f"[...document.querySelectorAll('figure .still')].some({SEEN})")


@pytest.mark.parametrize(("edition", "figures"), [("internal", 17), ("public", 2)])
def test_choosing_a_scheme_changes_every_figure_that_shows_schemes_and_all_are_printed(
    browser, pages, edition, figures
):
    browser.open(pages["plain", edition])
    look_at_figures(browser, figures)
    content = "[...document.querySelectorAll('figure .live svg')].map(svg => svg.outerHTML)"
    names = browser.ask("[...document.querySelectorAll('figure')].map(figure => figure.dataset.figure)")
    before = browser.ask(content)
    # By the keyboard: the box is focused, and a space unticks it.
    browser.ask("document.querySelector('#schemes input[data-label=unweighted]').focus()")
    for kind in ("keyDown", "keyUp"):
        about = {"key": " ", "code": "Space", "text": " ", "windowsVirtualKeyCode": 32}
        browser.call("Input.dispatchKeyEvent", type=kind, **about)
    browser.settle()
    assert not browser.ask("document.activeElement.checked")
    after = browser.ask(content)
    changed = {name for name, old, new in zip(names, before, after, strict=True) if old != new}
    about_schemes = {"violins", "map", "two", "intervals", "radius"} if edition == "internal" else {"histogram", "map"}
    assert changed == about_schemes
    heading = "[...document.querySelectorAll('thead th')].filter(th => th.textContent.trim() == 'unweighted')"
    assert browser.ask(f"{heading}.length") > 5
    assert not browser.ask(f"{heading}.some({SEEN})")
    browser.ask("document.activeElement.click()")
    browser.settle()
    assert browser.ask(f"{heading}.every({SEEN})")
    # What comes back is drawn last, so that the order is another one.
    assert [sorted(elements(svg)) for svg in browser.ask(content)] == [sorted(elements(svg)) for svg in before]
    assert browser.messages == []
    # The same page goes on paper: opening it again takes long.
    print_every_figure_and_scheme(browser)


def elements(svg):
    """Elements with what they look like; Vega numbers clips anew with every drawing."""
    return re.findall(r"<[^>]+>", re.sub(r"clip\d+", "", svg))


TWO = "document.querySelector('figure[data-figure=two] .live')"
# Where the marks of the map are, with their colours.
POINTS = f"[...{TWO}.querySelectorAll('.mark-symbol.role-mark path')].map(one => one.getAttribute('transform'))"


def choose(browser, axis, words):
    """Choose the figure of these words, and wait until it is drawn."""
    browser.ask(
        f"(() => {{ const box = document.getElementById('choose-{axis}');"
        f"box.value = [...box.options].find(one => one.textContent == {json.dumps(words)}).value;"
        "box.dispatchEvent(new Event('change', {bubbles: true})); })()"
    )
    browser.ask(
        f"new Promise(done => {{ const look = () => {TWO}.ariaLabel.includes({json.dumps(words)}) "
        "? done() : setTimeout(look, 20); look(); })"
    )


def test_the_reader_chooses_any_two_measures(browser, pages):
    browser.open(pages["plain", "internal"])
    first, drawn = browser.ask(POINTS), browser.ask(f"{TWO}.textContent")
    assert len(first) == 4
    assert "mean risk" in drawn
    choose(browser, "up", "agreement of pairs of columns, of 1000")
    choose(browser, "across", "expected right matches")
    second, drawn = browser.ask(POINTS), browser.ask(f"{TWO}.textContent")
    assert len(second) == 4
    assert not set(first) & set(second)
    for words in ("Relations between columns; higher is better", "expected right matches", "Upper left is better."):
        assert words in drawn
    assert "confidential data" in drawn
    # The boxes of schemes choose in what was drawn last, which is there once.
    browser.ask("document.querySelector('#schemes input[data-label=topcoding]').click()")
    browser.settle()
    closer = browser.ask(POINTS)
    assert len(closer) == 3
    assert not set(closer) <= set(second)
    browser.ask("document.querySelector('#schemes input[data-label=topcoding]').click()")
    browser.settle()
    assert browser.ask(POINTS) == second
    # Both have it: the confidential table is a point among the others.
    choose(browser, "up", "true match rate")
    assert len(browser.ask(POINTS)) == 5
    assert browser.ask("document.getElementById('left-out').textContent") == ""
    choose(browser, "up", "records whose risk rises by more than 0.2, by chance alone")
    left = browser.ask("document.getElementById('left-out').textContent")
    assert left.startswith("Not on the map, as one of the two was not measured: ")
    assert "unweighted" in left
    # On paper is what was chosen.
    browser.call("Emulation.setEmulatedMedia", media="print", features=[])
    assert browser.ask(f"{SEEN}({TWO}) && !{SEEN}({TWO}.parentElement.querySelector('.still'))")
    assert browser.messages == []


def test_the_boxes_of_measures_are_labelled_reached_by_key_and_not_cut(browser, pages):
    browser.open(pages["hostile", "internal"], width=1300)
    assert browser.ask("[...document.querySelectorAll('#choices select')].every(box => box.labels.length == 1)")
    inside = "[...document.querySelectorAll('#choices *')].every(one => one.getBoundingClientRect().right <= WIDTH)"
    assert browser.ask(inside.replace("WIDTH", "1300"))
    browser.look(width=400)
    assert browser.ask(inside.replace("WIDTH", "400"))
    look_at_narrow_page(browser, dark=False)
    before = browser.ask(f"{TWO}.ariaLabel")
    browser.ask("document.getElementById('choose-up').focus()")
    for kind in ("keyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, key="ArrowDown", code="ArrowDown", windowsVirtualKeyCode=40)
    browser.settle()
    chosen = "document.getElementById('choose-up').selectedOptions[0].textContent"
    browser.wait(f"{TWO}.ariaLabel != {json.dumps(before)}")
    after = browser.ask(f"{TWO}.ariaLabel")
    assert after.startswith(browser.ask(chosen))
    assert browser.messages == []


def print_every_figure_and_scheme(browser):
    browser.ask("[...document.querySelectorAll('#schemes input')].slice(1).forEach(box => box.click())")
    browser.call("Emulation.setEmulatedMedia", media="print", features=[])
    stills = "[...document.querySelectorAll('figure .still')]"
    assert browser.ask(f"{stills}.every({SEEN}) && {stills}.every(image => image.complete && image.naturalWidth > 200)")
    assert not browser.ask(f"[...document.querySelectorAll('figure .live, #schemes, nav')].some({SEEN})")
    # What is there to be sorted would not fit on the sheet, and stands in the other tables.
    assert browser.ask(f"[...document.querySelectorAll('section:not(#sortable) :is(th, td)')].every({SEEN})")
    check_vectors(browser.print())
    # Nothing is cut off at the right: the widest table fits on the sheet.
    browser.call("Emulation.setDeviceMetricsOverride", width=690, height=900, deviceScaleFactor=1, mobile=False)
    assert browser.ask("document.documentElement.scrollWidth") <= 690


def test_the_block_to_sign_has_the_name_of_the_folder_and_is_not_broken_on_paper(browser, pages, tmp_path):
    page = pages["words", "internal"].read_text(encoding="utf-8")
    path = tmp_path / "sur <b>vey 100% ü" / "internal" / "report.html"
    path.parent.mkdir(parents=True)
    path.write_text(page, encoding="utf-8")
    browser.open(path)
    assert browser.messages == []
    assert browser.ask("document.getElementById('folder').textContent") == "sur <b>vey 100% ü"
    assert "0123 4567 89ab cdef 0123 4567 89ab cdef" in browser.ask("document.getElementById('sign').innerText")
    assert browser.ask("document.querySelector('nav a[href=\"#sign\"]').textContent") == "Sign-off"
    browser.call("Emulation.setEmulatedMedia", media="print")
    browser.call("Emulation.setDeviceMetricsOverride", width=690, height=900, deviceScaleFactor=1, mobile=False)
    assert browser.ask("getComputedStyle(document.getElementById('sign')).breakInside") == "avoid"
    assert browser.ask("document.getElementById('sign').scrollWidth") <= 690
    # A block that is taller than a sheet would be broken all the same.
    assert browser.ask("document.getElementById('sign').offsetHeight") < 900
    browser.open(path, scripts=False)
    assert browser.ask("document.getElementById('folder').textContent") == ""
    elsewhere = tmp_path / "page.html"
    elsewhere.write_text(page, encoding="utf-8")
    browser.open(elsewhere)
    assert browser.ask("document.getElementById('folder').textContent") == ""


def test_a_heading_sorts_the_schemes_by_the_mouse_and_by_the_keyboard(browser, pages):
    browser.open(pages["words", "internal"])
    heading = "document.querySelectorAll('table.sortable thead th')[1]"
    values = "[...document.querySelectorAll('table.sortable tbody tr')].map(row => row.cells[1].dataset.value)"
    browser.ask(f"{heading}.querySelector('button').click()")
    assert browser.ask(f"{heading}.getAttribute('aria-sort')") == "ascending"
    shown = [float(value) for value in browser.ask(values)]
    present = [value for value in shown if not math.isnan(value)]
    assert present == sorted(present)
    browser.ask(f"{heading}.querySelector('button').focus()")
    for kind in ("keyDown", "keyUp"):
        about = {"key": "Enter", "code": "Enter", "text": "\r", "windowsVirtualKeyCode": 13}
        browser.call("Input.dispatchKeyEvent", type=kind, **about)
    assert browser.ask(f"{heading}.getAttribute('aria-sort')") == "descending"
    turned = [float(value) for value in browser.ask(values)]
    assert turned[: len(present)] == sorted(present, reverse=True)
    # Who has no value stays last, and nobody is lost; the names of the schemes sort as well.
    assert all(map(math.isnan, turned[len(present) :]))
    browser.ask("document.querySelector('table.sortable thead button').click()")
    names = browser.ask("[...document.querySelectorAll('table.sortable tbody th')].map(one => one.textContent)")
    assert names == sorted(names)
    assert len(names) == len(shown)
    assert browser.ask("document.querySelectorAll('[aria-sort]').length") == 1
    assert browser.messages == []


def test_without_scripts_the_pictures_are_there(browser, pages):
    browser.open(pages["plain", "internal"], scripts=False)
    browser.ask("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert browser.ask(f"[...document.querySelectorAll('figure .still')].filter({SEEN}).length") == 17
    assert not browser.ask(f"[...document.querySelectorAll('#schemes, figure .live')].some({SEEN})")
    assert browser.ask(f"{SEEN}(document.querySelector('#two .still'))")
    assert not browser.ask(f"{SEEN}(document.getElementById('choices'))")
    assert "all others stand in the tables" in browser.ask("document.getElementById('two').innerText")


@pytest.mark.parametrize(("kind", "edition", "dark"), [("words", "internal", True), ("plain", "public", False)])
def test_a_narrow_window_scrolls_inside_tables_and_figures_only(browser, pages, kind, edition, dark):
    browser.open(pages[kind, edition], width=400, dark=dark)
    look_at_narrow_page(browser, dark=dark)


def look_at_narrow_page(browser, *, dark):
    """A window of 400 points."""
    assert browser.ask("document.documentElement.scrollWidth") == 400
    wide = "[...document.querySelectorAll('.scroll')].filter(box => box.scrollWidth > box.clientWidth)"
    assert browser.ask(f"{wide}.length") > 3
    assert browser.ask(f"{wide}.every(box => box.tabIndex == 0)")
    light = browser.ask("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert light != dark


# This one comes from a search, which has a figure of its own.
@pytest.mark.parametrize(("edition", "figures"), [("internal", 18), ("public", 2)])
def test_hostile_names_run_no_script(browser, pages, edition, figures):
    browser.open(pages["hostile", edition])
    look_at_figures(browser, figures)
    # Hovering shows names in a box of its own.
    hovered = 0
    for number in range(browser.ask("document.querySelectorAll('figure').length")):
        place = browser.ask(MARK.replace("NUMBER", f"{number}"))
        # A curve has nothing to point at.
        if place is None:
            continue
        hovered += 1
        browser.ask("document.getElementById('vg-tooltip-element')?.classList.remove('visible')")
        browser.call("Input.dispatchMouseEvent", type="mouseMoved", **place)
        browser.wait("document.getElementById('vg-tooltip-element')?.classList.contains('visible')")
    assert hovered == (11 if edition == "internal" else 2)
    assert (
        browser.ask("document.querySelectorAll('img[src=x], #vg-tooltip-element script, [onerror], [onload]').length")
        == 0
    )
    assert browser.ask("document.scripts.length") == 3
    # Every box unticked and ticked again: still without a word.
    for _ in range(2):
        browser.ask("[...document.querySelectorAll('#schemes input')].forEach(box => box.click())")
        browser.settle()
    assert browser.messages == []


def test_a_script_that_is_not_the_page_s_own_is_stopped(browser, pages, tmp_path):
    """The tests above could not fail if Chromium did not tell what runs."""
    html = pages["plain", "public"].read_text(encoding="utf-8")
    path = tmp_path / "planted.html"
    path.write_text(
        html.replace("<main>", "<main><script>document.title = 'ran'</script><img src=x onerror='alert(1)'>")
    )
    browser.open(path)
    assert browser.ask("document.title") != "ran"
    assert "Page.javascriptDialogOpening" not in {method for method, _ in browser.messages}
    assert len([about for method, about in browser.messages if "Content Security Policy" in json.dumps(about)]) >= 2
    policy = re.search("<meta http-equiv[^>]*>", html)
    assert policy is not None
    path.write_text(path.read_text(encoding="utf-8").replace(policy[0], ""))
    browser.open(path)
    assert browser.ask("document.title") == "ran"
    assert "Page.javascriptDialogOpening" in {method for method, _ in browser.messages}


def test_the_page_has_landmarks_and_a_skip_link(browser, pages):
    browser.open(pages["words", "internal"])
    assert (
        browser.ask("['header', 'nav', 'main', 'footer'].map(name => document.querySelectorAll(name).length)")
        == [1] * 4
    )
    for kind in ("keyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
    assert browser.ask("document.activeElement.className") == "skip"
    named = "document.getElementById(section.getAttribute('aria-labelledby'))"
    assert browser.ask(f"[...document.querySelectorAll('section')].every(section => {named} != null)")
    assert browser.ask("[...document.querySelectorAll('a')].every(a => document.querySelector(a.getAttribute('href')))")
    tree = browser.call("Accessibility.getFullAXTree")["nodes"]
    boxes = [node["name"]["value"] for node in tree if node.get("role", {}).get("value") == "checkbox"]
    assert boxes == ["confidential", "order 2, scale 0.9131, shift 0.0871", "unweighted", "swapped", "topcoding"]


def check_vectors(content):
    """A picture of the figures, not of the page: lines stay sharp on paper."""
    assert content.startswith(b"%PDF")
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", content, re.DOTALL)
    texts = [zlib.decompressobj().decompress(stream) for stream in streams if stream[:1] == b"\x78"]
    assert sum(len(re.findall(rb"\bre\b|\bl\b", text)) for text in texts) > 100
