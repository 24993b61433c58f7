"""The page of advice in a browser: the losses by level, each with what is lost, readable on a phone."""

from __future__ import annotations

from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By

from fencepost.answers.asked_setup import asked_setup
from fencepost.answers.losses import LEVELS
from fencepost.cli.rendering.advice_page import page
from fencepost.cli.rendering.advice_text import asked, grouped_steps, rows
from support.browsing import WIDTHS, beyond, complaints, screen

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("chromium")]
"""Chromium takes seconds to start, and is started once."""

ADVICE = asked_setup(3, 3, 2, 4, release="4.17.4", storage="db")


@pytest.fixture
def browser(chromium_of_this_run: webdriver.Chrome, tmp_path: Path) -> webdriver.Chrome:
    """Return the browser with the page just opened."""
    file = tmp_path / "advice.html"
    file.write_text(page(ADVICE), encoding="utf-8")
    chromium_of_this_run.set_window_size(1280, 900)
    chromium_of_this_run.get_log("browser")
    chromium_of_this_run.get(file.as_uri())
    return chromium_of_this_run


def test_the_setup_comes_first_and_the_losses_by_level(browser: webdriver.Chrome) -> None:
    # Planted: rows in the order of the tables.
    answer = browser.find_element(By.CSS_SELECTOR, ".answer")
    assert answer.text == asked(ADVICE) and answer.location["y"] < 200
    shown = browser.find_elements(By.CSS_SELECTOR, "table.losses tbody tr")
    levels = [row.find_element(By.TAG_NAME, "td").text for row in shown]
    assert levels == [LEVELS[row.level] for row in rows(ADVICE)]
    headings = [one.text for one in browser.find_elements(By.CSS_SELECTOR, "main h3")]
    assert headings == [heading for heading, _ in grouped_steps(ADVICE)]
    assert complaints(browser) == []


def test_a_row_opens_and_says_what_is_lost(browser: webdriver.Chrome) -> None:
    # Planted: the sentence of another loss.
    shown = browser.find_elements(By.CSS_SELECTOR, "table.losses tbody tr")
    for row, element in zip(rows(ADVICE), shown, strict=True):
        element.find_element(By.TAG_NAME, "summary").click()
        assert [one.text for one in element.find_elements(By.TAG_NAME, "dt")] == row.names
        sentences = [one.text for one in element.find_elements(By.TAG_NAME, "dd")]
        assert sentences == [loss.loses.replace("`", "") for loss in row.losses]


@pytest.mark.parametrize("width", WIDTHS)
def test_it_is_readable_at_any_width_in_light_and_in_the_dark(browser: webdriver.Chrome, width: int) -> None:
    """Nothing is wider than the page, no text is smaller than 11 px, and the text has contrast."""
    papers = []
    for scheme in ("light", "dark"):
        with screen(browser, width, scheme):
            browser.refresh()
            smallest_text, paper, ink = browser.execute_script(LOOK)
            assert beyond(browser, width) == 0
            assert smallest_text >= 11
            assert abs(paper - ink) > 150
            papers.append(paper)
    light, dark = papers
    assert (light > 200, dark < 50) == (True, True)
    assert len(browser.title) < 60


LOOK = """
const mean = (colour) => colour.match(/\\d+/g).slice(0, 3).reduce((sum, n) => sum + Number(n), 0) / 3;
const texts = [...document.querySelectorAll('body *')].filter((e) => e.checkVisibility() && !e.closest('svg')
  && [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()));
const body = getComputedStyle(document.body);
return [Math.min(...texts.map((e) => parseFloat(getComputedStyle(e).fontSize))),
  mean(body.backgroundColor), mean(body.color)];
"""
