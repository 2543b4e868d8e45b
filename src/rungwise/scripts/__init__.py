"""A script in any language as a training function; the protocol is told in docs/scripts.md."""

from rungwise.scripts.files import script_of
from rungwise.scripts.reports import ScriptError
from rungwise.scripts.script import Script

__all__ = ["Script", "ScriptError", "script_of"]
