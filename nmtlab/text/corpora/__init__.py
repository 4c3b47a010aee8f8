"""Parallel corpora: files of lines, cleaning, splitting, sampling and joining."""
