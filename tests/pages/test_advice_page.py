"""The page of advice in a browser: the answer first, each loss with its basis, readable on a phone."""

from __future__ import annotations

from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By

from fencepost.cli.rendering.advice_answer import answered
from fencepost.cli.rendering.advice_page import page
from fencepost.cli.rendering.advice_steps import by_time, purpose, remedy, steps
from support.advising import smallest
from support.browsing import WIDTHS, beyond, collisions, complaints, screen

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("chromium")]
"""Chromium takes seconds to start, and is started once."""


@pytest.fixture
def browser(chromium_of_this_run: webdriver.Chrome, tmp_path: Path) -> webdriver.Chrome:
    """Return the browser with the page just opened."""
    file = tmp_path / "advice.html"
    file.write_text(page(smallest()), encoding="utf-8")
    chromium_of_this_run.set_window_size(1280, 900)
    chromium_of_this_run.get_log("browser")
    chromium_of_this_run.get(file.as_uri())
    return chromium_of_this_run


def test_the_answer_comes_first_and_looks_like_it(browser: webdriver.Chrome) -> None:
    # Planted: the answer drawn as proved because the last question was.
    answer = browser.find_element(By.CSS_SELECTOR, ".answer")
    assert answer.get_attribute("class") == "answer violated"
    first, second, *others = answered(smallest())
    about, _, worst = first.partition(": ")
    assert answer.text.split("\n") == [f"{about}.", worst, second]
    assert answer.text.startswith("No for 1/1/1 on 1 bookie with BookKeeper 4.17.3.\n#3604 (compaction")
    assert browser.find_element(By.CSS_SELECTOR, "header .about").text == " ".join(others)
    listed = browser.find_elements(By.CSS_SELECTOR, "ol.actions li")
    assert [" ".join(one.text.split()) for one in listed] == [
        f"{step.action.replace('`', '')} {purpose(step)}." for step in steps(smallest())
    ]
    headings = [one.text for one in browser.find_elements(By.CSS_SELECTOR, "main section:first-child h3")]
    assert headings == [time for time, _ in by_time(steps(smallest()))]
    assert answer.location["y"] < 200
    assert complaints(browser) == []


def test_each_loss_shows_how_it_comes_about(browser: webdriver.Chrome) -> None:
    # Planted: the diagram of another loss; details that stay closed.
    cards = browser.find_elements(By.TAG_NAME, "article")
    losses = smallest().losses
    assert len(cards) == len(losses) + 1
    for loss, card in zip(losses, cards, strict=False):
        found = loss.finding
        assert loss.name in card.find_element(By.TAG_NAME, "h3").text
        assert remedy(loss, smallest()).replace("`", "") in card.text
        if found is None:
            assert loss.source in card.text
            assert not card.find_elements(By.TAG_NAME, "summary")
            continue
        assert card.get_attribute("class") == found.verdict.value
        assert found.counterexample is not None
        assert all(part not in card.text for part in ("--set=", "fence_atomic")), "switches are folded away"
        card.find_element(By.TAG_NAME, "summary").click()
        drawn = [row for row in card.find_elements(By.CSS_SELECTOR, ".diagram .row") if row.is_displayed()]
        assert len(drawn) == len(found.counterexample.trace.steps) + 1
    assert "proved" in (cards[-1].get_attribute("class") or "")
    assert [one.text for one in cards[-1].find_elements(By.TAG_NAME, "summary")] == ["Its command"]


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


@pytest.mark.parametrize("touch", [False, True])
@pytest.mark.parametrize("width", WIDTHS)
def test_no_drawing_is_cut_off(browser: webdriver.Chrome, width: int, touch: bool) -> None:
    # Planted: a narrow drawing of 372 pixels at least. A window without touch has bars that take room.
    with screen(browser, width, touch=touch):
        browser.refresh()
        browser.execute_script("for (const d of document.querySelectorAll('article details')) d.open = true")
        assert browser.find_element(By.CSS_SELECTOR, ".diagram").is_displayed()
        assert collisions(browser) == []
        assert beyond(browser, width) == 0


LOOK = """
const mean = (colour) => colour.match(/\\d+/g).slice(0, 3).reduce((sum, n) => sum + Number(n), 0) / 3;
const texts = [...document.querySelectorAll('body *')].filter((e) => e.checkVisibility() && !e.closest('svg')
  && [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()));
const body = getComputedStyle(document.body);
return [Math.min(...texts.map((e) => parseFloat(getComputedStyle(e).fontSize))),
  mean(body.backgroundColor), mean(body.color)];
"""
