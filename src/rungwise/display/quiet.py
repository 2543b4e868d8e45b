"""Nothing at all: errors are raised, and results returned, elsewhere."""

from __future__ import annotations

from typing import ClassVar

from rungwise.display.base import Display


class QuietDisplay(Display):
    """Shows nothing."""

    shows_notices: ClassVar[bool] = False
