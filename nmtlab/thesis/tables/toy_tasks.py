"""Table `toy-tasks`: what recurrent systems learn without attention and with it, by the length of the sequence.

Many test sequences are longer than any that is trained on.
"""

from typing import get_args

from nmtlab.grids.declared.declaration import Changes, Column, Row, Setup, Table
from nmtlab.grids.declared.whole_corpora import ToyCorpus
from nmtlab.text.toys import Task

INITIAL = Column("no attention", "no-attention", label="without attention")
EVERY_STEP = Column("no attention, every step", "no-attention", {"model.context": "every-step"})
ATTENTION = Column("attention", "tied-small", {"search.replace_unknown": False}, label="with attention")


def _row(task: Task) -> Row:
    tiny = ToyCorpus(f"tiny-toy-{task}", task, 20, (4, 8), (4, 12), train=500, dev=30, test=30)
    whole = ToyCorpus(f"toy-{task}", task)
    return Row(task, {"tiny": Setup(tiny), "small": Setup(whole), "thesis": Setup(whole)}, note=f" ({task})")


_SETTINGS: Changes = {
    "model.d_model": 128, "training.learning_rate": 0.002, "training.validate_every": 200,
    "training.max_evaluations": 20, "training.patience": 20,
}  # fmt: skip

TOY_TASKS = Table(
    name="toy-tasks",
    title="Toy tasks without attention and with it",
    rows=tuple(_row(task) for task in get_args(Task)),
    columns=(INITIAL, EVERY_STEP, ATTENTION),
    metrics=("test-bleu", "dev-bleu"),
    baseline=INITIAL.name,
    changes={
        "tiny": {"model.d_model": 32, "training.validate_every": 20, "training.max_evaluations": 2},
        "small": _SETTINGS,
        "thesis": _SETTINGS,
    },
    published=False,
)  # fmt: skip
