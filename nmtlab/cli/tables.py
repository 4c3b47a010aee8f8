"""Tables in the terminal."""

import pandas as pd
from rich.console import Console
from rich.table import Table


def print_table(title: str, columns: list[str], rows: list[list[str]], numbers: set[str]) -> None:
    """Print a table; the columns named in `numbers` are right-aligned."""
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, justify="right" if column in numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    console = Console(highlight=False)
    # A file or a pipe has no width: nothing may be cut off there.
    console.print(table) if console.is_terminal else Console(highlight=False, width=200).print(table)


def print_comparison(comparison: pd.DataFrame, title: str) -> None:
    """Print a paired bootstrap: * for p < 0.05, ** for p < 0.01 against the first system."""
    for metric, rows in comparison.groupby("metric", sort=False):
        cells = [
            [
                row.system,
                f"{row.score:.2f}",
                f"{row.mean:.2f} ± {row.margin:.2f}",
                "" if pd.isna(row.p) else f"{row.difference:+.2f}",
                "" if pd.isna(row.p) else f"{row.p:.3f} {'**' if row.p < 0.01 else '*' if row.p < 0.05 else ''}",
            ]
            for row in rows.itertuples()
        ]
        columns = ["system", str(metric), "bootstrap, 95 %", "difference", "p"]
        print_table(f"{metric} on {title}", columns, cells, set(columns[1:]))
        print(f"  {rows['signature'].iloc[0]}")
    print("  * p < 0.05, ** p < 0.01 against the first system, sacrebleu's paired bootstrap")
