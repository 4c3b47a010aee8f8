"""The command line: a thin layer that only calls. Commands do heavy imports themselves, so that --help is fast."""

from nmtlab.cli.main import main

__all__ = ["main"]
