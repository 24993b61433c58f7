"""The page of a sweep in a browser: each cell leads to its rows, by mouse and by keys, and back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from fencepost.cli.rendering.sweep_forms import FORMS
from fencepost.cli.rendering.sweep_matrices import SweepReport
from fencepost.sweeps.rows import Row
from fencepost.sweeps.summary import ordered
from support.browsing import WIDTHS, await_fragment, beyond, collisions, complaints, screen
from support.reports import fabricated, recounted

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("chromium")]
"""Chromium takes seconds to start, and is started once."""


@pytest.fixture(scope="module")
def browser(chromium_of_this_run: webdriver.Chrome) -> webdriver.Chrome:
    chromium_of_this_run.set_window_size(1280, 900)
    return chromium_of_this_run


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Row]:
    return {row["id"]: row for row in fabricated(tmp_path_factory.mktemp("rows"))}


@pytest.fixture(scope="module")
def file(rows: dict[str, Row], tmp_path_factory: pytest.TempPathFactory) -> Path:
    listed = list(rows.values())
    manifest = {"engine": "0.0+test", "cases": len(rows), "invalid": 7}
    report = SweepReport(Path("found"), manifest, ordered(listed), recounted(listed))
    file = tmp_path_factory.mktemp("page") / "page.html"
    file.write_text(FORMS["html"](report), encoding="utf-8")
    return file


@pytest.fixture(autouse=True)
def page(browser: webdriver.Chrome, file: Path) -> None:
    browser.get_log("browser")
    browser.get("about:blank")
    browser.get(file.as_uri())


def shown(browser: webdriver.Chrome) -> list[str]:
    """Return the ids of the rows whose details are shown."""
    return [d.get_attribute("id") or "" for d in browser.find_elements(By.CSS_SELECTOR, "dialog[open]")]


def focused(browser: webdriver.Chrome) -> str:
    return (browser.switch_to.active_element.get_attribute("href") or "").partition("#")[2]


def test_a_click_on_each_cell_shows_its_row_and_escape_leads_back(
    browser: webdriver.Chrome, rows: dict[str, Row]
) -> None:
    cells = browser.find_elements(By.CSS_SELECTOR, "table.matrix td a")
    assert len(cells) == len(rows)
    for cell in cells:
        id_ = (cell.get_attribute("href") or "").partition("#")[2]
        cell.click()
        assert shown(browser) == [id_]
        await_fragment(browser, id_)
        dialog = browser.find_element(By.ID, id_)
        assert rows[id_]["verdict"] in dialog.find_element(By.TAG_NAME, "h3").text
        steps = dialog.find_elements(By.CSS_SELECTOR, "pre.trace")
        assert len(steps) == (rows[id_]["verdict"] == "violated")
        if steps:
            drawn = [
                row for row in dialog.find_elements(By.CSS_SELECTOR, ".diagram .row") if row.is_displayed()
            ]
            assert len(drawn) == rows[id_]["steps"] + 1, "the diagram is there at once"
            assert not steps[0].is_displayed()
            assert f"\n {rows[id_]['steps']:2}  " in str(steps[0].get_property("textContent"))
        browser.switch_to.active_element.send_keys(Keys.ESCAPE)
        assert shown(browser) == []
        assert focused(browser) == id_
        await_fragment(browser, "")
    assert complaints(browser) == []


def test_keys_alone_lead_from_cell_to_cell_and_into_one(browser: webdriver.Chrome) -> None:
    first = browser.find_element(By.CSS_SELECTOR, "table.matrix td a")
    browser.execute_script("arguments[0].focus()", first)
    table = first.find_element(By.XPATH, "ancestor::table")

    def at(line: int, column: int) -> str:
        cells = table.find_elements(By.CSS_SELECTOR, "tbody tr")[line].find_elements(By.TAG_NAME, "td")
        return (cells[column].find_element(By.TAG_NAME, "a").get_attribute("href") or "").partition("#")[2]

    keys = [
        (Keys.ARROW_DOWN, at(1, 0)),
        (Keys.ARROW_RIGHT, at(1, 0)),  # 2/1/2 is no configuration
        (Keys.ARROW_DOWN, at(2, 0)),
        (Keys.ARROW_RIGHT, at(2, 1)),
        (Keys.ARROW_DOWN, at(4, 1)),  # over 3/1
        (Keys.ARROW_LEFT, at(4, 0)),
        (Keys.TAB, at(4, 1)),
    ]
    for key, expected in keys:
        browser.switch_to.active_element.send_keys(key)
        assert focused(browser) == expected
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    assert shown(browser) == [at(4, 1)]
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    assert shown(browser) == [], "what has the focus is the button that closes"


def test_a_point_of_the_picture_and_an_address_lead_to_a_row_too(
    browser: webdriver.Chrome, file: Path, rows: dict[str, Row]
) -> None:
    point = browser.find_element(By.CSS_SELECTOR, "figure a")
    browser.execute_script("arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true}))", point)
    assert shown(browser) == [(point.get_dom_attribute("href") or "").partition("#")[2]]
    id_ = next(iter(rows))
    browser.get("about:blank")
    browser.get(f"{file.as_uri()}#{id_}")
    assert shown(browser) == [id_]


@pytest.mark.parametrize("width", [1280, 700])
def test_nothing_runs_off_the_side(browser: webdriver.Chrome, width: int) -> None:
    browser.set_window_size(width, 900)
    script = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert browser.execute_script(script) == 0
    spilling = browser.execute_script(
        "return [...document.querySelectorAll('.sized td a')]"
        ".filter((a) => a.scrollWidth > a.clientWidth).length"
    )
    assert spilling == 0
    browser.set_window_size(1280, 900)


@pytest.mark.parametrize("touch", [False, True])
@pytest.mark.parametrize("width", WIDTHS)
def test_it_scrolls_down_alone_and_its_drawings_are_whole(
    browser: webdriver.Chrome, width: int, touch: bool
) -> None:
    # Planted: a fold whose summary does not break; the settings in the title.
    with screen(browser, width, touch=touch):
        browser.refresh()
        assert beyond(browser, width) == 0
        assert browser.title == "Sweep of bookkeeper-4.13, ledger-chain"
        for cell in browser.find_elements(By.CSS_SELECTOR, "table.matrix td.violated a")[:2]:
            browser.execute_script("arguments[0].click()", cell)
            assert len(browser.find_elements(By.CSS_SELECTOR, "dialog[open]")) == 1
            assert collisions(browser) == []
            assert beyond(browser, width) == 0


def test_the_picture_can_be_read_on_a_phone(browser: webdriver.Chrome) -> None:
    """The picture is drawn for 600 pixels; on 400 its letters had 7 pixels."""
    phone = {"width": 400, "height": 800, "deviceScaleFactor": 2, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    letters, beyond, overlaps = browser.execute_script(
        """
        const svg = document.querySelector('figure > svg'), box = svg.getBoundingClientRect();
        const texts = [...svg.querySelectorAll('text')], boxes = texts.map((t) => t.getBoundingClientRect());
        const size = parseFloat(getComputedStyle(texts[0]).fontSize) * box.width / svg.viewBox.baseVal.width;
        const apart = (a, b) => a.right <= b.left || b.right <= a.left
          || a.bottom <= b.top + 1 || b.bottom <= a.top + 1;
        const pairs = boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) => !apart(a, b)));
        return [size, Math.max(...boxes.map((b) => b.right)) - window.innerWidth, pairs.length];"""
    )
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert letters >= 10.5
    assert beyond <= 0
    assert overlaps == 0, "labels lie over each other"


def test_it_asks_the_network_for_nothing(browser: webdriver.Chrome, file: Path) -> None:
    sent = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    requests = [m["params"] for m in sent if m["method"] == "Network.requestWillBeSent"]
    asked = [r["request"]["url"] for r in requests if file.name in r["documentURL"]]  # not of earlier pages
    assert [url for url in asked if file.name in url], "the page itself is in the log"
    assert {url.partition(":")[0] for url in asked} <= {"file", "data", "about", "chrome"}, asked
    assert complaints(browser) == []
