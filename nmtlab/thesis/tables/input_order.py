"""Table `input-order`: is the order in which a recurrent encoder reads worth as much as attention? (survey 5)

Without attention, a source read from its end has its first words nearest to the first words of the target (Sutskever
et al. 2014). The sequences of the toy task are longer in test than in training.
"""

from nmtlab.grids.declared.declaration import Column, Table
from nmtlab.thesis.tables.lexical_choice import QAA_EN, TU_EN
from nmtlab.thesis.tables.toy_tasks import TOY_TASKS

_COPY = next(row for row in TOY_TASKS.rows if row.name == "copy")


def _column(order: str, reverse: bool, attends: bool) -> Column:
    """Return a system that reads the source in an order, with attention or without."""
    with_or_without = "attention" if attends else "no attention"
    return Column(
        f"{with_or_without}, {order}",
        "tied-small" if attends else "no-attention",
        {"model.reversed_source": reverse, "search.replace_unknown": False},
        label=f"{'with' if attends else 'without'} attention, {order}",
    )


INPUT_ORDER = Table(
    name="input-order",
    title="The order of reading, without attention and with it",
    rows=(_COPY, QAA_EN, TU_EN),
    columns=tuple(
        _column(order, reverse, attends)
        for attends in (False, True)
        for order, reverse in (("forwards", False), ("backwards", True))
    ),
    metrics=("test-bleu", "dev-bleu"),
    baseline="no attention, forwards",
    changes=TOY_TASKS.changes,
    published=False,
)
