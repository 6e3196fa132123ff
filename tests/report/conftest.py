from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """The Chromium of the system, without a window."""
    found = [path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))]
    assert found, "these tests need Chromium; on Debian: apt install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found[0], args=["--no-sandbox"])
        yield browser
        browser.close()
