"""The seeds' tables, declared as data: rows, systems, corpora and what is measured."""
