"""A study as one file that can be moved: the study file, complete, with checkpoints and outputs."""

from __future__ import annotations

import os
import tarfile
import tempfile
from pathlib import Path

from rungwise.checkpoints.folder import WRITING
from rungwise.storage.sqlite import SqliteLog
from rungwise.storage.study_file import study_folder


def write_archive(study: str | os.PathLike[str], output: str | os.PathLike[str]) -> int:
    """Write a tar file with a study; how many files are in it.

    The study may be running: the archive holds it as it was at one moment.

    Args:
        study: the study file.
        output: the tar file; it is complete, or not there.
    """
    path, target = Path(study).resolve(), Path(output)
    folder = study_folder(path)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".rungwise-") as scratch:
        whole, draft = Path(scratch, path.name), Path(scratch, "archive.tar")
        with SqliteLog(path, mode="read") as log:
            log.copy_to(whole)
        count = 1
        with tarfile.open(draft, "w") as archive:
            archive.add(whole, path.name)
            for place, folders, names in os.walk(folder):
                # What is being written just now is no checkpoint yet.
                folders[:] = sorted(name for name in folders if not name.startswith(WRITING))
                for name in sorted(names):
                    file = Path(place, name)
                    try:
                        archive.add(file, str(Path(folder.name, file.relative_to(folder))))
                    except FileNotFoundError:  # removed meanwhile
                        continue
                    count += 1
        draft.replace(target)
    return count
