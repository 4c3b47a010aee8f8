"""The command line: a thin layer that only calls. Modules of commands are imported when they are called."""

from nmtlab.cli.main import main

__all__ = ["main"]
