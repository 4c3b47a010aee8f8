"""The measures of a cell: each is a number of a run on a corpus."""
