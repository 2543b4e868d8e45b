"""The page in a real Chromium: every view of every kind of study, live, restarted, replaced."""

import itertools
import os
import re
import shutil
import signal
import sys
from pathlib import Path

import pytest
import yaml
from command_line import started
from dashboard_client import serving
from dashboard_stories import make_interrupted, train, wait_until, write_slow
from extras import needs

import rungwise as rw
from rungwise.dashboard.report import write_report
from rungwise.storage.record import StudyRecord
from rungwise.storage.study_file import StudyFile

needs("playwright")
needs("axe-playwright-python")

from axe_playwright_python.base import AXE_FILE_PATH  # noqa: E402
from playwright.sync_api import expect, sync_playwright  # noqa: E402

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
CHROMIUM = os.environ.get("RUNGWISE_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
VIEWS = ("overview", "curves", "ladder", "parameters", "workers", "trials", "trials/1", "problems")
AXE = Path(AXE_FILE_PATH).read_text(encoding="utf-8")

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium (or RUNGWISE_CHROMIUM)")
expect.set_options(timeout=30_000)


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as play:
        found = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


class Watched:
    """A page that notes whatever is not as it should be.

    A stream that is closed because another view is opened is no failed request.
    """

    def __init__(self, context):
        self.page, self.wrong = context.new_page(), []
        self.page.on("console", lambda said: self.wrong.append(said.text))
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("requestfailed", self._failed)
        self.page.on("response", self._answered)
        self.page.on("dialog", lambda dialog: self.wrong.append(dialog.message))

    def _failed(self, request):
        if request.failure != "net::ERR_ABORTED":
            self.wrong.append(f"{request.url}: {request.failure}")

    def _answered(self, response):
        if response.status >= 400:
            self.wrong.append(f"{response.url}: {response.status}")

    def go(self, place, wait="main h2"):
        self.page.evaluate("place => { location.hash = place }", f"#/{place}")
        expect(self.page.locator(wait).first).to_be_attached()


@pytest.fixture
def open_page(browser):
    contexts, pages = [], []

    def open_page(address, **options):
        context = browser.new_context(viewport={"width": 1280, "height": 900}, **options)
        contexts.append(context)
        pages.append(Watched(context))
        pages[-1].page.goto(address)
        expect(pages[-1].page.locator("main h2").first).to_be_attached()
        return pages[-1]

    yield open_page
    for page in pages:
        assert page.wrong == []
    for context in contexts:
        context.close()


def find_barriers(page):
    """What axe finds: [(rule, elements), …]."""
    page.evaluate(AXE)
    found = page.evaluate("axe.run()")["violations"]
    return [(one["id"], [node["html"] for node in one["nodes"]]) for one in found]


STUDIES = ("finished.db", "interrupted.db", "failed.db", "<b>hostile.db")


@pytest.mark.parametrize("name", STUDIES)
def test_every_view_of_every_study(server, open_page, name):
    shown = open_page(server.address)
    state = name.removeprefix("<b>").removesuffix(".db").replace("hostile", "finished")
    for view in VIEWS:
        shown.go(f"{shown.page.evaluate('name => encodeURIComponent(name)', name)}/{view}")
        expect(shown.page.locator("header .pill")).to_have_text(state)
        expect(shown.page.locator("h1")).to_have_text(name)
        assert shown.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    # What a study holds is text: nothing of it became an element, nothing was run.
    assert shown.page.locator("img, main script, main b").count() == 0
    assert re.fullmatch(r"Problems · .* · rungwise", shown.page.title())


def test_nothing_is_in_the_way_of_anyone(server, open_page):
    """axe, in light and dark, on a wide screen and on a phone."""
    sizes = {"light": {"width": 1280, "height": 900}, "dark": {"width": 360, "height": 740}}
    for scheme, size in sizes.items():
        shown = open_page(server.address, color_scheme=scheme, reduced_motion="reduce")
        shown.page.set_viewport_size(size)
        for view in ("overview", "ladder", "parameters", "trials", "trials/1"):
            shown.go(f"finished.db/{view}")
            expect(shown.page.locator("nav [aria-current]")).to_be_visible()
            assert find_barriers(shown.page) == []
            assert shown.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        shown.go("failed.db/problems")
        assert find_barriers(shown.page) == []
        shown.go("")
        assert find_barriers(shown.page) == []


def test_an_empty_folder_and_an_empty_study(tmp_path, open_page):
    with serving(tmp_path) as server:
        shown = open_page(server.address)
        expect(shown.page.locator("main [role=status]")).to_contain_text("There is no study")
        source = tmp_path / "elsewhere"
        source.mkdir()
        path = write_slow(source, tmp_path / "s.db")
        (source / "hold").touch()  # nothing is reported
        with started([sys.executable, str(path)]) as tuner:
            expect(shown.page.get_by_role("link", name="s.db")).to_be_visible()
            for view in VIEWS[:-2]:
                shown.go(f"s.db/{view}")
            shown.go("s.db/overview")
            expect(shown.page.locator("header .pill")).to_have_text("running")
            expect(shown.page.locator("main")).to_contain_text("No trial has reported")
            os.kill(tuner.pid, signal.SIGKILL)


def test_a_study_is_followed_while_it_runs_in_two_tabs_and_to_its_end(tmp_path, open_page):
    study = tmp_path / "s.db"
    script, hold = write_slow(tmp_path, study, trials=60), tmp_path / "hold"
    hold.touch()
    with started([sys.executable, str(script)]) as tuner:
        wait_until(study.exists)
        wait_until(lambda: b"SQLite" in study.read_bytes()[:16])
        with serving(tmp_path) as server:
            tabs = [open_page(server.address), open_page(server.address)]
            tabs[0].go("s.db/overview")
            tabs[1].go("s.db/trials")
            tile = tabs[0].page.locator(".tile.trials dd").first
            count = tabs[1].page.locator("main [role=status]")
            expect(tabs[0].page.locator(".connection")).to_have_text("live")
            seen = {tile.inner_text()}
            hold.unlink()
            wait_until(lambda: seen.add(tile.inner_text()) or len(seen) > 2)
            expect(count).to_contain_text("60 trials")
            assert tuner.wait(60) == 0
            for tab in tabs:
                expect(tab.page.locator("header .pill")).to_have_text("finished")
            expect(tabs[0].page.locator(".why")).to_contain_text("Done: 60")
            best = rw.load(study).best
            expect(tabs[0].page.locator(".winner a")).to_have_text(f"trial {best.trial}")


def test_two_studies_in_two_tabs_do_not_log_each_other_out(studies, browser):
    context = browser.new_context()
    with serving(studies / "finished.db") as one, serving(studies / "failed.db") as other:
        pages = [Watched(context), Watched(context)]
        for watched, server in zip(pages, (one, other), strict=True):
            watched.page.goto(server.address)
            expect(watched.page.locator(".why")).to_be_visible()
        for watched, name in zip(pages, ("finished.db", "failed.db"), strict=True):
            watched.page.reload()
            expect(watched.page.locator("h1")).to_have_text(name)
            assert watched.wrong == []
        context.close()


def test_a_server_that_is_started_again_is_found_again(studies, open_page):
    place = studies / "finished.db"
    with serving(place) as server:
        port = server.guard.port
        shown = open_page(server.address)
        expect(shown.page.locator(".connection")).to_have_text("up to date")
    expect(shown.page.locator(".connection")).to_have_text(re.compile("ended|no connection"))
    assert "Done: " in shown.page.locator(".why").inner_text()  # the last state stays
    with serving(place, port=port):
        expect(shown.page.locator(".connection")).to_have_text("up to date")
    shown.wrong.clear()  # that nobody answered for a while is what this is about


def test_another_file_in_the_place_of_the_study_is_said_and_shown(studies, tmp_path, open_page):
    place = tmp_path / "s.db"
    shutil.copy(studies / "interrupted.db", place)
    with serving(place) as server:
        shown = open_page(server.address)
        expect(shown.page.locator("header .pill")).to_have_text("interrupted")
        place.rename(tmp_path / "away")
        expect(shown.page.get_by_role("alert")).to_contain_text("the file is gone")
        shutil.copy(studies / "finished.db", place)
        expect(shown.page.locator("header .pill")).to_have_text("finished")
        expect(shown.page.get_by_role("alert")).to_be_hidden()


def test_the_table_is_sorted_filtered_and_linked_with_the_figures(server, open_page):
    shown = open_page(server.address)
    shown.go("finished.db/trials")
    rows, page = shown.page.locator("main .rows tbody:not([aria-hidden]) tr"), shown.page

    def column(index):
        texts = rows.locator(f"td:nth-child({index})").all_inner_texts()
        return [float(text.replace(",", "")) for text in texts if text != "–"]

    expect(rows.first).to_be_visible()
    assert column(3) == sorted(column(3))
    page.get_by_role("button", name="lr").click()
    assert column(8) == sorted(column(8))
    page.get_by_role("button", name="lr").press("Enter")
    expect(page.locator("th[aria-sort=descending]")).to_have_text("lr")
    assert column(8) == sorted(column(8), reverse=True)
    page.get_by_label("Filter trials").fill("lr<0.01 kind=adam")
    expect(page.locator("main [role=status]")).to_contain_text(" of 40 trials")
    assert all(value < 0.01 for value in column(8))
    page.get_by_label("Filter trials").fill("no such word")
    expect(rows).to_have_count(0)
    page.get_by_label("Filter trials").fill("")
    rows.first.get_by_role("checkbox").check()
    expect(page.locator("main [role=status]")).to_contain_text("1 picked")
    shown.go("finished.db/ladder")
    shown.go("finished.db/trials")
    expect(page.locator("main [role=status]")).to_contain_text("1 picked")
    rows.nth(1).get_by_role("link").click()
    expect(page).to_have_url(re.compile(r"#/finished\.db/trials/\d+$"))
    expect(page.get_by_role("region", name="Output")).to_contain_text("epoch 1")


def test_figures_and_tables_are_saved(server, open_page, tmp_path):
    shown = open_page(server.address)
    shown.go("finished.db/overview", "svg path")
    for form, begins in (("SVG", b"<svg"), ("PNG", b"\x89PNG"), ("CSV", b"trial,resource,loss")):
        with shown.page.expect_download() as found:
            shown.page.get_by_role("button", name=f"Save as {form}: Learning curves").click()
        target = tmp_path / found.value.suggested_filename
        found.value.save_as(target)
        assert target.suffix == f".{form.lower()}"
        assert target.read_bytes().startswith(begins)
    shown.go("%3Cb%3Ehostile.db/trials", ".rows td")
    with shown.page.expect_download() as found:
        shown.page.get_by_role("button", name="CSV").click()
    found.value.save_as(tmp_path / "t.csv")
    assert "<img src=x" in (tmp_path / "t.csv").read_text()  # as it is, but not as a page


def test_a_configuration_is_copied_in_each_form(server, open_page):
    shown = open_page(server.address, permissions=["clipboard-read", "clipboard-write"])
    shown.go("finished.db/overview", ".winner .copy")
    best = rw.load(server.library.place / "finished.db").best.config
    copied = {}
    for form in ("Python", "YAML", "Command line"):
        shown.page.locator(".winner").get_by_role("button", name=form).click()
        expect(shown.page.locator(".winner [role=status]")).to_have_text(f"copied as {form}")
        copied[form] = shown.page.evaluate("navigator.clipboard.readText()")
    assert eval(copied["Python"]) == best  # noqa: S307 - our own text
    assert yaml.safe_load(copied["YAML"]) == best
    assert copied["Command line"].startswith(f"--lr={best['lr']!r} --units=")


def test_studies_are_compared(server, open_page):
    shown = open_page(server.address)
    shown.go("")
    for name in ("finished.db", "interrupted.db"):
        shown.page.get_by_role("checkbox", name=f"compare {name}").check()
    shown.page.get_by_role("link", name="Compare 2").click()
    expect(shown.page.get_by_role("columnheader", name="finished.db")).to_be_visible()
    expect(shown.page.locator(".figure svg path").first).to_be_attached()
    assert find_barriers(shown.page) == []


def test_everything_is_reached_with_the_keyboard(server, open_page):
    shown = open_page(server.address)
    shown.go("finished.db/overview", "svg path")
    page, seen = shown.page, []
    expect(page.locator(".why")).to_contain_text("Done: ")  # all of the page is there
    page.evaluate("document.body.tabIndex = -1; document.body.focus()")
    for _ in range(40):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.textContent.trim()"))
    for name in ("To the content", "rungwise", "Overview", "Problems", "Python", "SVG"):
        assert name in seen
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"


def test_a_report_opens_without_a_server(studies, tmp_path, browser):
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 900})
    for name in ("finished.db", "<b>hostile.db"):
        target = tmp_path / "report.html"
        write_report(studies / name, target)
        shown = Watched(context)
        shown.page.goto(target.as_uri())
        expect(shown.page.locator(".why")).to_contain_text("Done: ")
        for view in VIEWS:
            shown.go(f"{shown.page.evaluate('name => encodeURIComponent(name)', name)}/{view}")
        best = rw.load(studies / name).best.trial
        shown.go(f"{shown.page.evaluate('name => encodeURIComponent(name)', name)}/trials/{best}")
        expect(shown.page.get_by_role("region", name="Output")).to_be_visible()
        assert shown.wrong == []
        assert shown.page.locator("img, main script, main b").count() == 0
    context.close()


def test_a_person_may_change_something_with_the_second_address(tmp_path, open_page):
    path = make_interrupted(tmp_path)
    before = rw.load(path).trials
    with serving(path, control=True) as server:
        reading = open_page(server.address)
        expect(reading.page.locator(".tiles")).to_be_visible()
        assert reading.page.get_by_role("button", name="Stop the study").count() == 0
        shown = open_page(server.control_address)
        page, answer = shown.page, shown.page.locator(".answer")
        page.get_by_label("Configuration to try next").fill("lr=0.005, units=7, kind=adam")
        page.get_by_role("button", name="Add", exact=True).click()
        expect(answer).to_have_text(re.compile("applied: 1 configuration added"))
        page.get_by_label("Configuration to try next").fill("lr=7, units=7, kind=adam")
        page.get_by_role("button", name="Add", exact=True).click()
        expect(answer).to_have_text(re.compile("refused: .*lr"))
        page.get_by_label("Number of trials in all").fill("44")
        page.get_by_role("button", name="Extend").click()
        expect(answer).to_have_text(re.compile("applied: extended, trials 40 → 44"))
        page.get_by_label("Note").fill("<b>seen</b>")
        page.get_by_role("button", name="Keep").click()
        expect(page.locator(".hero")).to_contain_text("<b>seen</b>")
        assert find_barriers(page) == []
        page.get_by_role("button", name="Stop the study").click()
        page.get_by_role("button", name="Yes").click()
        expect(answer).to_have_text(re.compile("refused: no process is working"))
        shown.go("interrupted.db/trials/2")
        page.get_by_role("button", name="Fail this trial").click()
        page.get_by_role("button", name="Yes").click()
        expect(page.locator("main [role=status]").first).to_contain_text("failed")
    result = rw.resume(path, train, show="quiet")
    assert result.trials == 45 > before
    assert {"lr": 0.005, "units": 7, "kind": "adam"} in [
        result.view.trial(number).config for number in range(result.trials)
    ]


def test_ten_thousand_trials_are_thinned(tmp_path, open_page):
    path = write_large(tmp_path / "large.db", trials=10_000)
    with serving(path) as server:
        shown = open_page(server.address)
        expect(shown.page.locator(".tile.trials dd").first).to_have_text("10,000 of 10,000")
        paths = shown.page.locator(".figure svg path").count()
        assert paths < 2000
        shown.go("large.db/trials", ".rows td")
        assert shown.page.locator(".rows tr").count() < 100  # only what is seen exists
        shown.page.locator(".long").evaluate("place => { place.scrollTop = place.scrollHeight }")
        last = shown.page.locator("main .rows tbody:not([aria-hidden]) tr").last
        expect(last).to_have_attribute("aria-rowindex", "10001")
        for view in ("ladder", "workers", "curves"):
            shown.go(f"large.db/{view}", "svg path")
            assert shown.page.locator(".figure svg *").count() < 4000


def write_large(path, trials):
    log = rw.MemoryLog()
    rw.simulate(rw.power_laws(trials, 9), rw.PASHA(), trials=trials, workers=4, log=log)
    with StudyFile(path) as file:
        file.begin_with(log.study, StudyRecord(metric="loss"))
        entries = iter(log.read_from(0))
        while batch := list(itertools.islice(entries, 5000)):
            file.extend(batch)
    return path
