"""Noise in training text: what may be wrong with it, added to a clean one."""
