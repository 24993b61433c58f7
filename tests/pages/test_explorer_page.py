"""An author's questions, each asked in a browser with the mouse and the keys."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from fencepost.cli.main import run
from support.browsing import WIDTHS, beyond, collisions, complaints, screen
from support.exploring import served

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("chromium")]

TRACE = Path(__file__).parents[2] / "docs" / "traces" / "bookkeeper-4.13.no-divergence.json"
PROPERTY = "no-divergence"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served("bookkeeper-4.13", "--trace", str(TRACE), "--step", "11") as (address, _):
        yield address


class Page:
    """The page, and the actions of its user."""

    def __init__(self, browser: webdriver.Chrome, address: str) -> None:
        self.browser, self.site = browser, address.split("#")[0]
        browser.set_window_size(1366, 900)
        browser.get_log("browser")
        browser.get(self.site)
        browser.get("about:blank")
        browser.get(address)
        self.until(lambda: self.place() == "move 11 of 17, step 11")

    def until(self, holds: Callable[[], object], why: str = "this never happens") -> None:
        WebDriverWait(self.browser, 60, poll_frequency=0.05).until(lambda _: holds(), why)

    def place(self) -> str:
        return str(self.browser.execute_script("return document.getElementById('place').textContent"))

    def text(self, where: str) -> str:
        return str(
            self.browser.execute_script(f"return document.querySelector({where!r})?.textContent ?? ''")
        )

    def all(self, where: str) -> list[str]:
        found = f"return [...document.querySelectorAll({where!r})].map((e) => e.textContent)"
        return list(self.browser.execute_script(found))

    def click(self, where: str) -> None:
        self.until(lambda: self.browser.find_elements(By.CSS_SELECTOR, where), f"there is no {where}")
        self.browser.execute_script(f"document.querySelector({where!r}).click()")

    def press(self, *keys: str) -> None:
        self.browser.execute_script("document.activeElement.blur()")
        self.browser.find_element(By.TAG_NAME, "body").send_keys(*keys)

    def go(self, step: int) -> None:
        self.press(Keys.HOME)
        self.until(lambda: self.place() == "at first")
        for number in range(1, step + 1):
            self.press("r")
            self.until(lambda number=number: self.place().endswith(f"step {number}"))  # type: ignore[misc]

    def take(self, action: str) -> None:
        before = self.place()
        self.click(f'[data-action="{action}"]')
        self.until(lambda: self.place() != before)

    def ask(self, goal: str) -> str:
        field = self.browser.find_element(By.ID, "goal")
        field.clear()
        field.send_keys(goal, Keys.ENTER)
        self.until(
            lambda: self.browser.find_elements(By.CSS_SELECTOR, "#answer .over"), f"no answer to {goal}"
        )
        return self.text("#answer .over")

    def is_true(self, name: str) -> bool:
        return "holds" in str(
            self.browser.find_element(By.CSS_SELECTOR, f'[data-claim="{name}"]').get_attribute("class")
        )


@pytest.fixture
def page(chromium_of_this_run: webdriver.Chrome, address: str) -> Page:
    return Page(chromium_of_this_run, address)


def test_the_token_is_not_in_the_address_and_the_path_is(page: Page) -> None:
    browser = page.browser
    assert "token" not in browser.current_url and "create+ledger" in browser.current_url
    page.press("u")
    page.until(lambda: page.place() == "move 10 of 17, step 10")
    browser.refresh()
    page.until(lambda: page.place() == "move 10 of 17, step 10")
    bookmark = browser.current_url
    browser.get("about:blank")
    browser.get(bookmark)
    page.until(lambda: page.place() == "move 10 of 17, step 10", "a bookmark leads to the same place")


def test_1_an_entry_is_acknowledged_and_the_ledger_closed(page: Page) -> None:
    page.go(0)
    answer = page.ask("acked[w, 1, b1] and acked[w, 1, b2] and status == closed")
    assert "in 7 steps (fewest: no shorter way exists)" in answer
    page.click("#answer .way")
    page.until(lambda: page.place() == "move 7 of 7, step 7")
    assert page.is_true(PROPERTY)
    page.click("#state summary")
    assert page.text('[data-variable="status"]').strip() == "closed"


def test_2_why_recovery_cannot_finish(page: Page) -> None:
    page.press("n")
    page.click('[data-refused="finish recovery(r1, 1)"]')
    page.until(lambda: page.all(".reasons code"))
    assert any(text.startswith("at least 2 b: read_answered[r1, 1, b]") for text in page.all(".reasons code"))
    page.click(".reasons .how")
    page.until(lambda: page.browser.find_elements(By.CSS_SELECTOR, "#answer .over"))
    assert "r1 finish recovery (entry 1) becomes possible: in 3 steps (fewest" in page.text("#answer .over")
    assert page.text("#ask label") == "How can this become possible from here?"


def test_3_a_message_is_lost_and_what_cannot_happen_then(page: Page) -> None:
    page.go(2)
    page.click('[data-choice="add_lost[w, 1, b1]"]')
    page.until(lambda: page.place() == "move 3 of 3, step 2")
    assert "No longer possible: b1 handle add (client w, fragment 1, entry 1)" in page.text("#now")
    assert page.browser.find_elements(By.CSS_SELECTOR, ".diagram .travel.lost")
    page.click("#now .asks")
    page.until(lambda: page.browser.find_elements(By.CSS_SELECTOR, "#answer .over"))
    lost = "b1 handle add (client w, fragment 1, entry 1)"
    assert page.text("#answer .over").startswith(f"{lost} becomes possible: never from here")
    answer = page.ask("acked[w, 1, b1]")
    assert answer.startswith("acked[w, 1, b1] becomes true: never from here: every execution")
    assert page.text("#ask label") == "How can this become true from here?"


def test_4_the_counterexample_mended_by_a_fence(page: Page) -> None:
    assert page.ask(PROPERTY).startswith(f"{PROPERTY} becomes false: in 6 steps (fewest")
    assert page.text("#ask label") == "How can this become false from here?"
    assert page.all("#answer ol li")[0] == "b1 handle add (client w, fragment 1, entry 1)"
    page.take("handle fence(r1, b1)")
    assert page.place() == "move 12 of 12, step 12"
    page.take("handle add(w, 1, 1, b1)")
    assert "fenced yes" in page.text("#under_way")
    assert page.ask(PROPERTY).startswith(f"{PROPERTY} becomes false: never from here")


def test_5_back_to_step_3_and_another_way(page: Page) -> None:
    for _ in range(8):
        page.press("u")
    page.until(lambda: page.place() == "move 3 of 17, step 3")
    page.take("handle add(w, 1, 1, b1)")
    assert page.place() == "move 4 of 4, step 4"
    page.press(Keys.ARROW_LEFT)
    page.until(lambda: page.place() == "move 3 of 4, step 3")


def test_6_a_path_is_saved_and_replayed(
    page: Page, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page.browser.execute_cdp_cmd(
        "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)}
    )
    path, trace = (tmp_path / f"bookkeeper-4.13.{name}.json" for name in ("path", PROPERTY))

    def is_whole(file: Path) -> bool:
        """Return whether the browser, which makes a file before it writes into it, has written it."""
        return file.exists() and file.read_text(encoding="utf-8").endswith("}\n")

    page.press("s")
    page.until(lambda: is_whole(path))
    assert run(["export", str(path)]) == 0
    assert "path of 11 steps" in capsys.readouterr().out
    page.press(Keys.END)
    page.until(lambda: page.place().startswith("move 17"))
    page.press("s")
    page.until(lambda: is_whole(trace))
    assert run(["export", str(trace)]) == 0


def test_7_a_saved_trace_is_opened(page: Page, tmp_path: Path) -> None:
    page.go(0)
    page.browser.find_element(By.ID, "open").send_keys(str(TRACE))
    page.until(lambda: page.place() == "move 17 of 17, step 17")
    assert f"{PROPERTY} is violated here." in page.text("#now") and not page.is_true(PROPERTY)
    assert "Entry 1 is lost" in page.text("#now")
    assert page.text("#broken").startswith(f"✗ {PROPERTY} once the ledger is closed")
    holds = page.text('.claims [data-claim="acked-entries-readable"]')
    assert holds.startswith("✓ acked-entries-readable every acknowledged entry is stored")
    assert "also if the ledger is closed without it" in holds
    broken = tmp_path / "broken.json"
    broken.write_text(json.dumps({"schema": "fencepost.trace/2"}))
    page.browser.find_element(By.ID, "open").send_keys(str(broken))
    page.until(lambda: "is missing" in page.text("#error"))


def test_8_what_an_action_would_change_is_seen_before(page: Page) -> None:
    offered = page.browser.find_element(By.CSS_SELECTOR, '[data-action="handle add(w, 1, 1, b1)"]')
    item = offered.find_element(By.XPATH, "..").text
    assert "stored[b1, 1]: 0 → 1" in item and "would make absent-stays-absent false" in item
    page.press("1")
    page.until(lambda: page.place() == "move 12 of 12, step 12")
    assert "The invariant absent-stays-absent is false from here on" in page.text("#now")


def test_9_a_message_is_delayed(page: Page) -> None:
    page.go(4)
    assert "w → b1 add" in page.text("#under_way")
    page.take("begin recovery(r1)")
    assert "w → b1 add" in page.text("#under_way") and "r1 → b1 fence" in page.text("#under_way")


def test_10_a_question_can_be_stopped(page: Page) -> None:
    page.go(0)
    page.browser.execute_script(
        "document.getElementById('goal').value = 'status == closed'; ask();"
        "document.getElementById('stop').hidden = false; document.getElementById('stop').click()"
    )
    page.until(lambda: page.browser.find_elements(By.CSS_SELECTOR, "#answer .over"))
    assert page.browser.find_element(By.ID, "stop").get_property("hidden")


def test_nothing_is_complained_of_and_nothing_foreign_loaded(page: Page) -> None:
    page.press("1")
    page.until(lambda: page.place() == "move 12 of 12, step 12")
    loaded = [entry for entry in complaints(page.browser) if not str(entry).startswith(page.site)]
    assert not loaded


@pytest.mark.parametrize("width", WIDTHS)
def test_at_any_width_nothing_is_cut_off_and_the_step_is_in_view(page: Page, width: int) -> None:
    # Planted: a panel of 420 pixels at least; a diagram that does not scroll to the step.
    with screen(page.browser, width):
        page.press("u")
        page.until(lambda: page.place() == "move 10 of 17, step 10")
        assert beyond(page.browser, width) == 0
        assert collisions(page.browser) == []
        assert page.browser.execute_script(STEP_IN_VIEW)
        assert len(page.browser.title) < 60
        assert page.browser.find_element(By.CSS_SELECTOR, ".keys").is_displayed() == (width > 700)


STEP_IN_VIEW = """
const seen = (part) => part.getClientRects().length > 0;
const row = [...document.querySelectorAll('.band.current')].find(seen).getBoundingClientRect();
const box = document.querySelector('.diagram').getBoundingClientRect();
const top = document.querySelector('.top').getBoundingClientRect().bottom;
return row.top >= top - 1 && row.bottom <= box.bottom;
"""


@pytest.mark.parametrize("width", WIDTHS)
def test_at_the_start_it_shows_who_takes_part_and_what_can_happen(page: Page, width: int) -> None:
    # Planted: no lanes; offers that the diagram does not get; claims that are not folded.
    browser = page.browser
    with screen(browser, width):
        page.go(0)
        layout = "narrow" if browser.find_element(By.CSS_SELECTOR, ".heads.narrow").is_displayed() else "wide"
        heads = [head.text for head in browser.find_elements(By.CSS_SELECTOR, f".heads.{layout} text")]
        assert heads == ["w", "r1", "b1", "b2", "b3", "zk"]
        assert page.text(f".drawing.{layout} .row.next .action") == "possible next: 1 action"
        assert page.text(f".drawing.{layout} .row.next .note") == page.text("#possible button")
        assert len(browser.find_elements(By.CSS_SELECTOR, f".drawing.{layout} circle.next")) == 1
        assert browser.execute_script(BAND_SHARE) > 0.9, "the bar is as wide as the diagram"
        assert not browser.find_element(By.XPATH, "//h2[text()='Under way']").is_displayed()
        assert page.text("#claims summary").endswith(", all true)")
        ticks = browser.find_elements(By.CSS_SELECTOR, ".claims .mark")
        assert ticks and not any(tick.is_displayed() for tick in ticks)


BAND_SHARE = """
const band = [...document.querySelectorAll('.band.current')].find((part) => part.getClientRects().length > 0);
return band.getBoundingClientRect().width / document.querySelector('.drawings').clientWidth;
"""


def test_an_action_is_written_in_one_form_everywhere(page: Page) -> None:
    """The list of the impossible actions wrote `push(1, 1)` for `w push (fragment 1, entry 1)`."""
    page.press("n")
    refused = page.all("#refused li .why")
    assert "w push (fragment 1, entry 1)" in refused and "r1 finish recovery (entry 1)" in refused
    page.press("u")
    page.until(lambda: page.place() == "move 10 of 17, step 10")
    page.click("#path summary")
    assert page.all("#path li.undone")[0] == "b1 handle read (client r1, entry 1)"
    assert "b1 handle read (client r1, entry 1)" in page.all("#possible button")


ATTACK = """<!DOCTYPE html><title>attack</title><script>
const site = SITE, found = [];
const body = JSON.stringify({ moves: [], at: 0 });
const ways = [
  () => fetch(site + "api/begin", { method: "POST", body: "{}" }).then((r) => r.text()),
  () => fetch(site + "api/look", { method: "POST", body, headers: { "X-Fencepost-Token": "guess" } })
    .then((r) => r.text()),
  () => fetch(site + "api/ask", { method: "POST", mode: "no-cors", body }).then((r) => r.text()),
  () => fetch(site).then((r) => r.text()),
  () => new Promise((done) => { const f = document.createElement("iframe"); f.src = site; f.onload = () => {
    try { done(f.contentDocument.body.innerText); } catch (e) { done(""); } }; document.body.append(f); }),
];
Promise.all(ways.map((way) => way().catch(() => "")))
  .then((answers) => { document.title = "done"; window.answers = answers; });
</script><body></body>"""


def test_a_page_of_another_origin_learns_nothing(page: Page) -> None:
    """Another port of this host is another origin.

    Its requests have no token, and it cannot read the answers.
    """

    class Attacker(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(ATTACK.replace("SITE", json.dumps(page.site)).encode())

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Attacker) as attacker:
        Thread(target=attacker.serve_forever, daemon=True).start()
        page.browser.get(f"http://127.0.0.1:{attacker.server_port}/")
        page.until(lambda: page.browser.title == "done")
        answers = page.browser.execute_script("return window.answers")
        attacker.shutdown()
    assert answers == [""] * 5
    page.browser.get_log("browser")
