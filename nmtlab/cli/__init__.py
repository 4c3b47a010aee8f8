"""The command line: thin, it only calls. Heavy imports are made inside the commands, so that --help is quick."""

from nmtlab.cli.main import main

__all__ = ["main"]
