"""The command line: thin, it reads arguments, calls the library and prints."""

from rungwise.cli.main import main

__all__ = ["main"]
