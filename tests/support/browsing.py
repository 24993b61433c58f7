"""Debian's Chromium, without a window and without the network."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from typing import Any
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


WIDTHS = {1400: 900, 800: 900, 400: 860}
"""The width of each screen that pages are looked at, with its height."""


@contextmanager
def screen(
    browser: webdriver.Chrome, width: int, scheme: str = "light", touch: bool | None = None
) -> Iterator[webdriver.Chrome]:
    """Yield the browser with a screen of that width and colour scheme; a narrow one is a phone's."""
    phone = width < 600 if touch is None else touch
    size = {"width": width, "height": WIDTHS[width], "deviceScaleFactor": 1, "mobile": phone}
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": phone, "maxTouchPoints": 1})
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        yield browser
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def beyond(browser: webdriver.Chrome, width: int) -> int:
    """Return how many pixels the page is wider than a screen of that width.

    A phone widens its window to a page that is too wide, so the window's own width says nothing.
    """
    wide: int = browser.execute_script("return document.documentElement.scrollWidth")
    return max(0, wide - width)


def collisions(browser: webdriver.Chrome) -> list[Any]:
    """Return the words in the drawings in view that other words or an arrow cross, or that are cut off."""
    return list(browser.execute_script(COLLISIONS))


COLLISIONS = """
const seen = (part) => part.getClientRects().length > 0;
const found = [];
for (const box of document.querySelectorAll('.diagram')) {
  if (!seen(box)) continue;
  if (box.scrollWidth > box.clientWidth) found.push(['cut off', box.scrollWidth - box.clientWidth]);
}
for (const svg of document.querySelectorAll('.diagram svg')) {
  if (!seen(svg)) continue;
  const edge = svg.getBoundingClientRect();
  const words = [...svg.querySelectorAll('text')].map(
    (text) => ({ text: text.textContent, box: text.getBoundingClientRect() }));
  for (const { text, box } of words) {
    if (box.right > edge.right + 1 || box.left < edge.left - 1) found.push(['cut off', text]);
  }
  const apart = (a, b) => a.right <= b.left || b.right <= a.left
    || a.bottom <= b.top + 2 || b.bottom <= a.top + 2;
  words.forEach((a, i) => words.slice(i + 1).forEach((b) => {
    if (!apart(a.box, b.box)) found.push([a.text, b.text]);
  }));
  for (const way of svg.querySelectorAll('path.way')) {
    const place = way.getScreenCTM(), struck = new Set();
    for (let at = 0; at <= way.getTotalLength(); at += 2) {
      const { x, y } = way.getPointAtLength(at).matrixTransform(place);
      for (const { text, box } of words) {
        if (x > box.left + 1 && x < box.right - 1 && y > box.top + 2 && y < box.bottom - 2) struck.add(text);
      }
    }
    for (const text of struck) found.push([way.parentNode.querySelector('title').textContent, text]);
  }
}
return found;
"""
