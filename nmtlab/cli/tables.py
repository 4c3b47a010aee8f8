"""Tables in the terminal."""

import io
from collections.abc import Collection, Sequence
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from pandas import DataFrame


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    numbers: Collection[str],
    notes: Sequence[str] = (),
) -> None:
    """Print a table and the lines under it; the columns named in `numbers` are right-aligned."""
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, justify="right" if column in numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    console = Console(highlight=False)
    # A file or a pipe has no width: nothing may be cut off there.
    console.print(table) if console.is_terminal else Console(highlight=False, width=200).print(table)
    print("".join(f"{note}\n" for note in notes), end="")


def printed(*table: Any) -> str:
    """Return what `print_table` prints, without blanks at the ends of lines."""
    with redirect_stdout(io.StringIO()) as page:
        print_table(*table)
    return "".join(f"{line.rstrip()}\n" for line in page.getvalue().splitlines())


def print_frame(title: str, frame: "DataFrame", shown: Sequence[tuple[str, str, str]]) -> None:
    """Print columns of a frame.

    Args:
        title: of the table.
        frame: with the columns.
        shown: for each column its title, its name in the frame and the format of its values, where `{}` is text and
            anything else a number; NaN is left empty.
    """
    cells = [["" if value != value else form.format(value) for value in frame[name]] for _, name, form in shown]
    numbers = {column for column, _, form in shown if form != "{}"}
    print_table(title, [column for column, _, _ in shown], [list(row) for row in zip(*cells, strict=True)], numbers)
