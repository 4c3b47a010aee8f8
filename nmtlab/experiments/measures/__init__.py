"""What is measured of a cell: a number of a run and a corpus."""
