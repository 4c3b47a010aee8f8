"""Tables in the terminal."""

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
