"""A browser, if there is one, to see that a page is drawn."""

import shutil

import pytest

BROWSER = next(
    (
        found
        for name in ("chromium", "chromium-browser", "google-chrome")
        if (found := shutil.which(name))
    ),
    None,
)

needs_browser = pytest.mark.skipif(BROWSER is None, reason="no browser is installed")
