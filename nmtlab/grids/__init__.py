"""Grids: systems by texts by seeds, declared as data, run here or on a cluster, collected, compared and judged."""
