"""A script in any language as a training function; the protocol is described in docs/scripts.md."""

from rungwise.scripts.files import find_script
from rungwise.scripts.reports import ScriptError
from rungwise.scripts.script import Script

__all__ = ["Script", "ScriptError", "find_script"]
