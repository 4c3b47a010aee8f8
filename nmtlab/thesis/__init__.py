"""The thesis as grids: its tables, published values and claims, and what the results show.

table = find_table("table-3.6")
run_grid(cells_of(table, "small"), workspace)
print(Results.collect(table, "small", workspace).summary())
"""
