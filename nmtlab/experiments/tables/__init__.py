"""The published tables, declared as data: rows, systems, corpora and measures."""
