"""Do trainings on a GPU score as those on a CPU did? Test or dev BLEU of the systems that were trained on both.

    python tests/oracles/devices.py

The trainings on two CPU cores stand in the tables of an earlier commit, so this needs a checkout with its history.
"""

import io
import subprocess
from pathlib import Path

import pandas as pd

EARLIER, GPU, SEEDS, ROOT = "0570e8c", "NVIDIA H100", 3, Path(__file__).parents[2]
SCORES = {"dev BLEU", "test BLEU", "dev-bleu", "tokenized-test-bleu"}
"""As the earlier commit calls them, and by their keys."""

ROWS = {
    "table-3.12": "de-en", "table-3.13": "sk-en", "table-3.14": "gl-en", "table-3.15": "de-en", "table-3.17": "gl-en",
    "figure-3.7": "de-en",
}  # fmt: skip


def main() -> None:
    systems = pd.concat([compared(table, row) for table, row in ROWS.items()])
    print(systems.round(2).to_string(index=False))
    difference = systems["gpu"] - systems["cpu"]
    expected = ((systems["cpu_variance"] + systems["gpu_variance"]).mean() / 3) ** 0.5
    print(f"{len(systems)} systems, three seeds on each: the means differ by {(difference**2).mean() ** 0.5:.2f} BLEU")
    print(f"(root mean square; {difference.mean():+.2f} on average), where the seeds alone explain {expected:.2f}")


def compared(table: str, row: str) -> pd.DataFrame:
    """Return mean and variance of three seeds on each, of a row's systems."""
    path, now = f"data/results/{table}.small.csv", ROOT / f"data/evidence/results/{table}.small.csv.xz"
    earlier = subprocess.check_output(["git", "-C", ROOT, "show", f"{EARLIER}:{path}"], text=True)
    cpu, gpu = (scores(pd.read_csv(text), row) for text in (io.StringIO(earlier), now))
    gpu = gpu[gpu["machine"].str.startswith(GPU)]
    about = {}
    for name, some in (("cpu", cpu), ("gpu", gpu)):
        values = (
            some.groupby("column", sort=False)
            .filter(lambda of_one: len(of_one) == SEEDS)
            .groupby("column", sort=False)["value"]
        )
        about |= {name: values.mean(), f"{name}_variance": values.var()}
    return pd.DataFrame(about).dropna().reset_index(names="system").assign(table=table)


def scores(cells: pd.DataFrame, row: str) -> pd.DataFrame:
    return cells[(cells["row"] == row) & cells["metric"].isin(SCORES) & cells["value"].notna()]


if __name__ == "__main__":
    main()
