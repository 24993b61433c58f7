"""The page of a counterexample in a browser: the keys lead from the first step to the last."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from fencepost.encoding.forms import in_form
from fencepost.encoding.language.sorts import show
from support.browsing import WIDTHS, await_fragment, beyond, collisions, complaints, screen
from support.counterexamples import EXECUTIONS, counterexample_of

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("chromium")]
"""Chromium takes seconds to start, and is started once."""


@pytest.fixture(scope="module")
def browser(chromium_of_this_run: webdriver.Chrome) -> webdriver.Chrome:
    chromium_of_this_run.set_window_size(1366, 768)
    return chromium_of_this_run


@pytest.fixture(params=EXECUTIONS)
def page(request: pytest.FixtureRequest, browser: webdriver.Chrome, tmp_path: Path) -> str:
    """Return the name of a counterexample whose page is open before its first step."""
    file = tmp_path / "page.html"
    file.write_text(in_form(counterexample_of(request.param), "html"), encoding="utf-8")
    browser.get_log("browser")
    browser.get(f"{file.as_uri()}#step=0")
    return str(request.param)


def press(browser: webdriver.Chrome, *keys: str) -> None:
    browser.find_element(By.TAG_NAME, "body").send_keys(*keys)


def step_shown(browser: webdriver.Chrome) -> int:
    """Return the step that the page shows; fail if two places show different ones."""
    current = [
        int(row.get_attribute("data-step") or "")
        for row in browser.find_elements(By.CSS_SELECTOR, ".drawing.wide .row.current")
    ]
    words = browser.find_element(By.ID, "place").text
    (step,) = current
    assert words.startswith(f"step {step} of" if step else "before step 1 of")
    await_fragment(browser, f"step={step}")
    assert browser.find_element(By.ID, "slider").get_property("value") == str(step)
    return step


def state_shown(browser: webdriver.Chrome) -> dict[str, tuple[str, bool]]:
    """Return each variable in view with its value, and whether it is marked as changed by this step."""
    script = """return [...document.querySelectorAll('#state li')].map(
      (li) => [li.dataset.variable, li.querySelector('b').textContent, li.classList.contains('now')])"""
    return {name: (value, now) for name, value, now in browser.execute_script(script)}


def test_every_step_shows_its_state_and_what_it_changed(browser: webdriver.Chrome, page: str) -> None:
    counterexample = counterexample_of(page)
    browser.find_element(By.ID, "all").click()
    for index, state in enumerate(counterexample.trace.states):
        assert step_shown(browser) == index
        changes = counterexample.trace.steps[index - 1].changes if index else {}
        shown = state_shown(browser)
        assert {n: v for n, v in shown.items() if n in state} == {
            name: (show(value), name in changes) for name, value in state.items()
        }
        press(browser, "j" if index % 2 else Keys.ARROW_RIGHT)
    assert step_shown(browser) == len(counterexample.trace.steps), "the end is the end"
    assert "is violated" in browser.find_element(By.ID, "step").text


def test_keys_and_buttons_go_where_they_say(browser: webdriver.Chrome, page: str) -> None:
    last = len(counterexample_of(page).trace.steps)
    keys = [
        (Keys.END, last),
        (Keys.ARROW_LEFT, last - 1),
        ("k", last - 2),
        (Keys.ARROW_DOWN, last - 1),
        (Keys.HOME, 0),
        (Keys.ARROW_UP, 0),
        ("j", 1),
        ("x", 1),
    ]
    for key, expected in keys:
        press(browser, key)
        assert step_shown(browser) == expected
    for name, expected in (("last", last), ("back", last - 1), ("first", 0), ("on", 1)):
        browser.find_element(By.CSS_SELECTOR, f"[data-go={name}]").click()
        assert step_shown(browser) == expected
    browser.execute_script(
        "document.querySelector('.band[data-step=\"3\"]').dispatchEvent(new Event('click', {bubbles: true}))"
    )
    assert step_shown(browser) == 3


def test_what_is_to_come_is_faint_and_what_is_lost_is_marked(browser: webdriver.Chrome, page: str) -> None:
    counterexample = counterexample_of(page)
    script = """return [...document.querySelectorAll('.wide .travel:not(.touch)')].map(
      (t) => [t.classList.contains('future'), t.classList.contains('air'),
        getComputedStyle(t).opacity < 0.3])"""
    for index in range(len(counterexample.trace.steps) + 1):
        drawn = browser.execute_script(script)
        faint, air, weak = (sum(marks[place] for marks in drawn) for place in range(3))
        assert faint == sum(t.sent > index for t in counterexample.travels)
        assert air == sum(t.sent <= index < (t.received or 0) for t in counterexample.travels)
        assert weak == (faint if index else 0), "before the first step all is seen"
        press(browser, "j")
    crosses = browser.find_elements(By.CSS_SELECTOR, ".wide .travel.lost .cross")
    assert len(crosses) == sum(bool(t.message.lost) for t in counterexample.travels)
    assert all(cross.is_displayed() for cross in crosses)


@pytest.mark.parametrize("page", ["late"], indirect=True)
def test_a_step_named_in_the_sentence_leads_to_it(browser: webdriver.Chrome, page: str) -> None:
    links = browser.find_elements(By.CSS_SELECTOR, ".sentence a")
    assert links
    for link in links:
        browser.execute_script("arguments[0].click()", link)
        assert f"step {step_shown(browser)}" == link.text


def row_in_view(browser: webdriver.Chrome, layout: str) -> bool:
    """Return whether the marked row is below the heads, within the diagram and within the window."""
    script = """
      const box = document.querySelector('.diagram').getBoundingClientRect();
      const row = document.querySelector(`.${arguments[0]} .band.current`).getBoundingClientRect();
      const heads = document.querySelector('.top').getBoundingClientRect();
      const buttons = document.querySelector('nav');
      const fixed = getComputedStyle(buttons).position === 'fixed';
      const floor = fixed ? buttons.getBoundingClientRect().top : window.innerHeight;
      return row.height > 0 && heads.bottom <= row.top + 1 && row.bottom <= Math.min(box.bottom, floor);
    """
    return bool(browser.execute_script(script, layout))


def test_the_row_stepped_to_is_in_view(browser: webdriver.Chrome, page: str) -> None:
    for key in [Keys.END, Keys.HOME, *"j" * len(counterexample_of(page).trace.steps)]:
        press(browser, key)
        assert row_in_view(browser, "wide")


def test_the_page_opens_where_the_property_is_violated(browser: webdriver.Chrome, page: str) -> None:
    browser.get(browser.current_url.partition("#")[0])
    assert step_shown(browser) == len(counterexample_of(page).trace.steps)
    assert row_in_view(browser, "wide")
    assert "is violated" in browser.find_element(By.ID, "step").text
    assert not browser.find_elements(By.CSS_SELECTOR, ".future"), "nothing is to come"


PHONE = {"width": 400, "height": 800, "deviceScaleFactor": 2, "mobile": True}


@pytest.fixture
def phone(browser: webdriver.Chrome) -> Iterator[webdriver.Chrome]:
    """Yield the browser as if it were a phone: 400 pixels wide, with touch in place of keys."""
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
    browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
    yield browser
    browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.parametrize("page", ["late", "crashed"], indirect=True)
def test_on_a_phone_the_page_is_read_and_stepped_through_with_a_finger(
    phone: webdriver.Chrome, page: str
) -> None:
    found = phone.execute_script(
        """
        const seen = (part) => part.getClientRects().length > 0;
        const box = (name) => document.querySelector(name).getBoundingClientRect();
        const drawing = document.querySelector('.drawing.narrow');
        const scale = drawing.getBoundingClientRect().width / drawing.viewBox.baseVal.width;
        return {
          wide: [...document.querySelectorAll('.wide')].some(seen),
          keys: seen(document.querySelector('.keys')),
          letters: scale * parseFloat(getComputedStyle(document.querySelector('.narrow .note')).fontSize),
          over: box('.diagram').bottom - box('aside').top,
          buttons: [...document.querySelectorAll('nav button')].map((b) => b.getBoundingClientRect().height),
          below: box('nav').bottom - window.innerHeight,
        }"""
    )
    assert not found["wide"]
    assert not found["keys"], "keys are counterexample of where there are none"
    assert beyond(phone, PHONE["width"]) == 0, "the page scrolls sideways"
    assert found["letters"] >= 10.5
    assert found["over"] <= 0, "the panel lies over the diagram"
    assert min(found["buttons"]) >= 44, "too small for a finger"
    assert found["below"] <= 0, "the buttons are not in view when the page opens"
    for name, expected in (("first", 0), ("on", 1), ("last", len(counterexample_of(page).trace.steps))):
        phone.find_element(By.CSS_SELECTOR, f"[data-go={name}]").click()
        assert phone.find_element(By.ID, "slider").get_property("value") == str(expected)
        assert row_in_view(phone, "narrow")


@pytest.mark.parametrize("page", ["late"], indirect=True)
@pytest.mark.parametrize("touch", [False, True])
def test_beside_a_narrow_diagram_nothing_runs_off_the_side(
    phone: webdriver.Chrome, page: str, touch: bool
) -> None:
    """In a window of 800 pixels the panel is at its narrowest: its buttons and the slider were cut off."""
    phone.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", PHONE | {"width": 800, "height": 900, "mobile": touch}
    )
    phone.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": touch})
    script = "const a = document.querySelector('aside'); return a.scrollWidth - a.clientWidth"
    assert phone.execute_script(script) <= 0


@pytest.mark.parametrize("width", WIDTHS)
def test_no_words_are_cut_off_or_crossed(browser: webdriver.Chrome, page: str, width: int) -> None:
    # Planted: arrows of the narrow drawing that begin at the sending step; a drawing of 420 pixels at least.
    with screen(browser, width):
        browser.refresh()
        assert beyond(browser, width) == 0
        assert collisions(browser) == []
        assert len(browser.title) < 60


@pytest.mark.parametrize("width", WIDTHS)
def test_the_first_view_has_the_violation_and_the_step_before(
    browser: webdriver.Chrome, page: str, width: int
) -> None:
    # Planted: `reveal` that scrolls to the last row alone; `tellAbove` that says nothing.
    last = len(counterexample_of(page).trace.steps)
    with screen(browser, width):
        browser.get(browser.current_url.partition("#")[0])
        steps = list(browser.execute_script(IN_VIEW))
        assert {last - 1, last} <= set(steps)
        above = browser.find_element(By.CSS_SELECTOR, ".above").text
        if steps[0] > 1:
            assert above.startswith(("↑ step 1 is above", "↑ steps 1 to")), above
            browser.find_element(By.CSS_SELECTOR, ".above").click()
            assert browser.execute_script(IN_VIEW)[:2] == [0, 1]
        assert browser.find_element(By.CSS_SELECTOR, ".above").text == ""


IN_VIEW = """
const box = (name) => document.querySelector(name).getBoundingClientRect();
const covers = getComputedStyle(document.querySelector('nav')).position === 'fixed';
const top = box('.top').bottom;
const floor = Math.min(covers ? box('nav').top : innerHeight, box('.diagram').bottom);
return [...document.querySelectorAll('.band')].filter((band) => {
  const row = band.getBoundingClientRect();
  return row.height > 0 && row.top >= top - 0.2 * row.height && row.bottom <= floor + 1;
}).map((band) => Number(band.dataset.step));
"""


def test_keys_are_named_only_where_there_are_some(browser: webdriver.Chrome, page: str) -> None:
    for width, touch, named in ((1400, False, True), (1400, True, False), (400, False, False)):
        with screen(browser, width, touch=touch):
            assert browser.find_element(By.CSS_SELECTOR, ".keys").is_displayed() == named


def test_the_page_loads_nothing_and_complains_of_nothing(browser: webdriver.Chrome, page: str) -> None:
    press(browser, Keys.END)
    assert complaints(browser) == []
