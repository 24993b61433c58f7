"""The pictures in docs/pictures, taken again: `PYTHONPATH=tests python -m support.pictures docs/pictures`."""

from __future__ import annotations

import sys
import tempfile
from itertools import product
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from support.browsing import chromium, screen
from support.exploring import served

TRACE = Path("docs/traces/bookkeeper-4.13.no-divergence.json")


def explore(folder: Path, browser: webdriver.Chrome, address: str) -> None:
    """Take pictures of the counterexample of 4.13 at step 11, with the solver's answer about the loss."""
    for width, scheme in product((1400, 400), ("light", "dark")):
        with screen(browser, width, scheme):
            browser.get("about:blank")
            browser.get(address)
            wait = WebDriverWait(browser, 120)
            wait.until(lambda b: "step 11" in b.find_element(By.ID, "place").text)
            browser.find_element(By.ID, "goal").send_keys("no-divergence", Keys.ENTER)
            wait.until(lambda b: b.find_elements(By.CSS_SELECTOR, "#answer .over"))
            browser.execute_script("document.activeElement.blur(); window.scrollTo(0, 0)")
            browser.save_screenshot(str(folder / f"explore-{width}-{scheme}.png"))


def main(folder: Path) -> None:
    """Take every picture."""
    with (
        tempfile.TemporaryDirectory() as profile,
        chromium(Path(profile)) as browser,
        served("bookkeeper-4.13", "--trace", str(TRACE), "--step", "11") as (address, _),
    ):
        explore(folder, browser, address)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
