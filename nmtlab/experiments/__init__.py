"""The published tables as grids of runs: declared as data, run here or elsewhere, compared with published values.

table = find_table("table-3.6")
run_grid(cells_of(table, "small"), workspace)
print(Results.collect(table, "small", workspace).summary())
"""
