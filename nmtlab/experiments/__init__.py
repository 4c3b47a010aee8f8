"""The published tables as grids of runs: declared as data, run here or elsewhere, compared with published values.

table = find_table("table-3.6")
run_grid(cells_of(table, "small"), workspace)
print(Results.collect(table, "small", workspace).summary())
"""

from nmtlab.experiments.results.collected import collected_cells, published
from nmtlab.experiments.results.results import Results
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
    "Results",
    "Row",
    "Scale",
    "Setup",
    "System",
    "Table",
    "cells_of",
    "collected_cells",
    "estimate_grid",
    "find_table",
    "in_processes",
    "on_ray",
    "one_by_one",
    "published",
    "run_cell",
    "run_grid",
    "summary",
    "with_published",
]
