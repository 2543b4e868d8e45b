"""Take the pictures of the live page: docs/dashboard/*.png, from a study that is made for them.

    python docs/draw_dashboard.py

Needs Chromium (RUNGWISE_CHROMIUM, or on the path) and the extra dev.
"""

from __future__ import annotations

import math
import os
import random
import shutil
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

import rungwise as rw
from rungwise.dashboard.server import DashboardServer

PLACE = Path(__file__).resolve().parent / "dashboard"
SPACE = {
    "lr": rw.Float(1e-4, 1, log=True),
    "width": rw.Int(4, 256, log=True),
    "dropout": rw.Float(0, 0.6),
    "optimizer": ["sgd", "adam", "lion"],
    "layers": rw.Int(1, 6),
}
COLOURS = 128
"""More make the files three times as large, and cannot be seen."""

PICTURES = (
    ("overview", "light", (1280, 1000)),
    ("ladder", "dark", (1280, 900)),
    ("parameters", "light", (1280, 900)),
    ("overview", "dark", (390, 844)),
)


def train(config: Mapping[str, Any], run: rw.Run) -> None:
    """Curves that cross, as those of a model do; some fail."""
    rng = random.Random(run.seed)  # noqa: S311 - noise
    distance = abs(math.log10(config["lr"]) + 2) ** 1.4 * 0.16
    distance += abs(math.log(config["width"] / 90)) * 0.03 + config["dropout"] * 0.05
    distance += {"sgd": 0.05, "adam": 0.0, "lion": 0.02}[config["optimizer"]]
    speed = 3 + 14 * config["lr"] ** 0.35
    if config["lr"] > 0.8:
        raise FloatingPointError("the loss is NaN after the first batch")
    for epoch in run.resources():
        with run.checkpoint(epoch) as folder:
            (folder / "epoch.txt").write_text(str(epoch))
        noise = rng.gauss(0, 0.03 / (1 + epoch * 0.15))
        run.report(epoch, loss=0.08 + distance + 0.9 * math.exp(-epoch / speed) + noise)


def main() -> None:
    """Make the study and take its pictures."""
    names = ("chromium", "chromium-browser", "google-chrome")
    chromium = os.environ.get("RUNGWISE_CHROMIUM") or next(filter(None, map(shutil.which, names)))
    PLACE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # so that the path which the page shows is short
        study = Path("vision.db")
        rw.tune(
            train, SPACE, metric="loss", goal="min", max_resource=81, trials=120,
            scheduler="pasha", backend="threads:4", show="quiet", study=study,
        )  # fmt: skip
        server = DashboardServer(study, port=0)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with sync_playwright() as play:
            browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            for view, scheme, (width, height) in PICTURES:
                context = browser.new_context(
                    color_scheme=scheme,
                    viewport={"width": width, "height": height},
                    reduced_motion="reduce",
                )
                page = context.new_page()
                page.goto(server.address)
                page.evaluate("place => { location.hash = place }", f"#/vision.db/{view}")
                page.locator("svg path").first.wait_for(state="attached")
                page.wait_for_timeout(6000 if view == "parameters" else 1500)
                kind = "phone" if width < 500 else scheme
                target = PLACE / f"{view}-{kind}.png"
                page.screenshot(path=target)
                Image.open(target).quantize(COLOURS).save(target, optimize=True)
                print(f"{target} ({target.stat().st_size / 1000:.0f} kB)")
                context.close()
            browser.close()
        server.shutdown()
        server.close()


if __name__ == "__main__":
    main()
