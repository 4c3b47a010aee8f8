"""The published tables that can be run, and further tables that explain their results."""

from nmtlab.errors import NmtlabError
from nmtlab.experiments.tables.attention_sink import ATTENTION_SINK
from nmtlab.experiments.tables.declaration import Table
from nmtlab.experiments.tables.empty_translations import AMBIGUITY, GLOBAL_BEST, GLOBAL_BEST_TRAINED_OUT
from nmtlab.experiments.tables.length_planning import LENGTH_PLANNING, LENGTH_PLANNING_TRAINED_OUT, UNSEEN_LENGTHS
from nmtlab.experiments.tables.lexical_choice import (
    LEXICAL_CHOICE,
    LEXICON_DROPOUT,
    TABLE_3_4,
    TABLE_3_6,
    TABLE_3_8,
    TABLE_3_10,
)
from nmtlab.experiments.tables.many_languages import (
    MANY_LANGUAGES,
    MANY_LANGUAGES_TRAINED_OUT,
    MANY_LANGUAGES_TUNING,
    ZERO_SHOT,
)
from nmtlab.experiments.tables.normalisation import (
    FIGURE_3_5,
    FIGURE_3_7,
    GRADIENTS,
    TABLE_3_12,
    TABLE_3_13,
    TABLE_3_14,
    TABLE_3_15,
    TABLE_3_16,
    TABLE_3_17,
)
from nmtlab.experiments.tables.out_of_domain import TABLE_3_6_NTREX, TRAINED_OUT_NTREX
from nmtlab.experiments.tables.trained_out import TRAINED_OUT, UNTRAINED_GRADIENTS
from nmtlab.experiments.tables.transfer import (
    CHILD_SIZE,
    FIGURE_3_1,
    RELATED_PARENTS,
    TABLE_3_2,
    TABLE_3_3,
    TRANSFER_TRANSFORMER,
    TRANSFERRED_PARTS,
    TRANSLITERATION,
)

TABLES: tuple[Table, ...] = (
    TABLE_3_2, TABLE_3_3, FIGURE_3_1, RELATED_PARENTS, CHILD_SIZE, TRANSFERRED_PARTS, TRANSLITERATION,
    TRANSFER_TRANSFORMER,
    TABLE_3_4, TABLE_3_6, TABLE_3_8, TABLE_3_10, LEXICAL_CHOICE, LEXICON_DROPOUT, ATTENTION_SINK,
    TABLE_3_12, TABLE_3_13, TRAINED_OUT, TABLE_3_14, TABLE_3_15, TABLE_3_16, TABLE_3_17, FIGURE_3_5, FIGURE_3_7,
    GRADIENTS, UNTRAINED_GRADIENTS, TABLE_3_6_NTREX, TRAINED_OUT_NTREX,
    GLOBAL_BEST, GLOBAL_BEST_TRAINED_OUT, AMBIGUITY, LENGTH_PLANNING, LENGTH_PLANNING_TRAINED_OUT, UNSEEN_LENGTHS,
    MANY_LANGUAGES, MANY_LANGUAGES_TRAINED_OUT, ZERO_SHOT, MANY_LANGUAGES_TUNING,
)  # fmt: skip


def find_table(name: str) -> Table:
    """Return the table with a name.

    Raises:
        NmtlabError: no table has that name.
    """
    for table in TABLES:
        if table.name == name:
            return table
    raise NmtlabError(f"table {name!r}: unknown", f"choose one of {', '.join(table.name for table in TABLES)}")
