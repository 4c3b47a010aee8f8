"""Other systems, measured on nmtlab's data, size and batches."""
