"""The page with its data, as one file that opens without a network."""

from __future__ import annotations

import base64
import hashlib
import json
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any

from rungwise._version import __version__
from rungwise.dashboard import details
from rungwise.dashboard.bundle import bundle
from rungwise.dashboard.feed import Feed
from rungwise.dashboard.files import list_files, write_data
from rungwise.errors import InvalidArgumentError
from rungwise.storage.opening import is_study
from rungwise.tuning.follower import Fold
from rungwise.views import StudyView

DETAILED = 60
"""Of how many trials the report has everything: the best, and the last that failed."""

FEWEST = 4
"""At how many trials the importance of parameters is computed."""

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src {script_hash}; \
style-src {style_hash}; img-src data: blob:; base-uri 'none'; form-action 'none'">
<title>{title}</title>
<link rel="icon" href="data:image/svg+xml;base64,{icon}">
<style>{style}</style>
</head>
<body>
<script id="session" type="application/json">{session}</script>
<script id="data" type="application/json">{data}</script>
<div id="app"></div>
<script type="module">{script}</script>
</body>
</html>
"""


def write_report(study: Path, target: Path) -> int:
    """Write the report of a study; its size in bytes.

    Args:
        study: the study file.
        target: the file to write.
    """
    if not is_study(study):
        rule = "it is no study file" if study.exists() else "there is no such file"
        raise InvalidArgumentError("study", str(study), rule)
    text = make_report(study)
    target.write_text(text, encoding="utf-8")
    return len(text.encode())


def make_report(study: Path) -> str:
    """The report as text."""
    feed = Feed(study.resolve())
    feed.look()
    if feed.problem:
        raise InvalidArgumentError("study", str(study), feed.problem)
    files = {name: content.decode() for name, content in list_files().items()}
    script = bundle(files, "app.js")
    style = files["page.css"] + files["views.css"]
    session = {
        "version": __version__,
        "single": study.name,
        "place": study.name,
        "proof": "",
        "live": False,
        "made": datetime.now(timezone.utc).isoformat(timespec="seconds"),
    }
    return _PAGE.format(
        title=f"{_escape(study.name)} · rungwise",
        icon=base64.b64encode(files["favicon.svg"].encode()).decode(),
        style=style,
        style_hash=_hash(style),
        script=script,
        script_hash=_hash(script),
        session=write_data(session),
        data=write_data(_collect(feed)),
    )


def _collect(feed: Feed) -> dict[str, Any]:
    _, text = feed.write(0)
    return {
        "snapshot": json.loads(text),
        "studies": [feed.summarise()],
        "details": feed.read(partial(_list_details, feed.path)) or {},
        "importance": feed.read(_list_importances) or {},
    }


def _list_details(path: Path, view: StudyView, fold: Fold) -> dict[str, Any]:
    """Everything about some trials."""
    chosen = [row.trial for row in view.leaderboard(DETAILED // 2)]
    chosen += [one["trial"] for one in fold.failures[-DETAILED // 2 :]]
    written = {number: details.write_trial(view, fold, number) for number in chosen}
    found = {number: document for number, document in written.items() if document is not None}
    jobs = {number: [job["job"] for job in found[number]["jobs"]] for number in found}
    files = details.write_all_files(path, jobs)
    return {str(number): {**document, **files[number]} for number, document in found.items()}


def _list_importances(view: StudyView, _: Fold) -> dict[str, Any]:
    """The importance of parameters at every rung that enough trials have reached."""
    found = {}
    for level in view.levels:
        if sum(resource >= level for resource in view.reached) >= FEWEST:
            find = partial(details.find_comparable, view, level)
            found[str(level)] = details.write_importance(find)
    return found


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def _escape(text: str) -> str:
    for sign, code in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        text = text.replace(sign, code)
    return text
