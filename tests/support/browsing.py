"""Debian's Chromium, without a window and without the network."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from urllib.parse import urldefrag

from selenium import webdriver
from selenium.webdriver.support.ui import WebDriverWait

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1366,768",
)


@contextmanager
def chromium(profile: Path) -> Iterator[webdriver.Chrome]:
    """Yield a browser with its own profile folder, and with logs of its console and its requests."""
    options = webdriver.ChromeOptions()
    binary, driver = which("chromium"), which("chromedriver")
    assert binary and driver, "make browser installs Chromium and its driver"
    options.binary_location = binary
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options, webdriver.ChromeService(driver))
    yield browser
    browser.quit()


def complaints(browser: webdriver.Chrome) -> list[object]:
    """Return the messages on the page's console, and the addresses of everything that the page loaded."""
    loaded = browser.execute_script("return performance.getEntriesByType('resource').map((e) => e.name)")
    return [*browser.get_log("browser"), *loaded]


def await_fragment(browser: webdriver.Chrome, fragment: str) -> None:
    """Wait until the address ends in that fragment, or has none: the browser updates it after the page."""
    WebDriverWait(browser, 10).until(
        lambda browser: urldefrag(browser.current_url).fragment == fragment,
        f"the address does not come to end in #{fragment}",
    )
