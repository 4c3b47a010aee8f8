"""Importers of corpora: one module per kind of input; all of them call `build`."""
