"""Cells made into runs, locally or on a cluster, and estimates of their cost."""
