"""Measurements and verdicts worked out in another way; each runs alone: `python tests/oracles/NAME.py`."""
