"""Word alignment and lexical translation tables, through sil-thot."""

from nmtlab.alignment.aligner import AlignmentModel, Link, WordAligner, translation_table
from nmtlab.alignment.table import LexicalTable

__all__ = ["AlignmentModel", "LexicalTable", "Link", "WordAligner", "translation_table"]
