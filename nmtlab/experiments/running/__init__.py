"""Cells made into runs, here or on a cluster, and what that will cost."""
