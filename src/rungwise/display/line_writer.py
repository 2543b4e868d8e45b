"""Lines to a stream that may be closed by its reader."""

from __future__ import annotations

from typing import TextIO


class LineWriter:
    """Writes lines to a stream until the stream is closed; then it writes nothing.

    Args:
        stream: where to.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lost = False

    def write_line(self, text: str) -> None:
        """Write a line now."""
        if self._lost:
            return
        try:
            try:
                self._stream.write(f"{text}\n")
            except UnicodeEncodeError as error:
                self._stream.write(text.encode(error.encoding, "replace").decode(error.encoding))
                self._stream.write("\n")
            self._stream.flush()
        except (OSError, ValueError):  # a broken pipe, a closed file
            self._lost = True
