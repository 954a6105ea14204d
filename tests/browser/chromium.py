"""Finds a Chromium: `python -m tests.browser.chromium` prints its path, or fails."""

import os
import shutil
import sys
from pathlib import Path

# The headless shell draws what Chromium draws, and opens a page with half of the work.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MAC = Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")
MISSING = "Chromium is missing: install it (Debian: apt install chromium; macOS: brew install --cask google-chrome)"


def find() -> str | None:
    """The browser of $CHROMIUM, of the system, or the one that `playwright install chromium` brought."""
    if named := os.environ.get("CHROMIUM"):
        return shutil.which(named)
    if actual := next(filter(None, map(shutil.which, NAMES)), None):
        return actual
    if MAC.exists():
        return str(MAC)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        bundled = Path(playwright.chromium.executable_path)
    return str(bundled) if bundled.exists() else None


if __name__ == "__main__":
    browser = find()
    print(browser or MISSING, file=sys.stdout if browser else sys.stderr)
    sys.exit(browser is None)
