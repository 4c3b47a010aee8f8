"""Measured values beside published ones."""
