"""What a grid is: rows with their texts, columns with their systems, metrics and seeds, as data."""
