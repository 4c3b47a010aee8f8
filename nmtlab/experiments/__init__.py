"""The published tables as grids of runs: declared as data, run here or elsewhere, compared with published values.

table = find_table("table-3.6")
run_grid(cells_of(table, "small"), workspace)
print(summary(results(table, "small", workspace), table))
"""

from nmtlab.experiments.results.collected import published, results
from nmtlab.experiments.results.summary import summary, with_published
from nmtlab.experiments.running.cells import Cell, cells_of, run_cell
from nmtlab.experiments.running.engines import Engine, in_processes, one_by_one
from nmtlab.experiments.running.estimate import estimate_grid
from nmtlab.experiments.running.grid import run_grid
from nmtlab.experiments.running.ray_engine import on_ray
from nmtlab.experiments.tables.declaration import SCALES, Row, Scale, Setup, System, Table
from nmtlab.experiments.tables.listing import TABLES, find_table

__all__ = [
    "SCALES",
    "TABLES",
    "Cell",
    "Engine",
    "Row",
    "Scale",
    "Setup",
    "System",
    "Table",
    "cells_of",
    "estimate_grid",
    "find_table",
    "in_processes",
    "on_ray",
    "one_by_one",
    "published",
    "results",
    "run_cell",
    "run_grid",
    "summary",
    "with_published",
]
