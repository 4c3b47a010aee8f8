"""From encoded sentences to batches."""
