"""What one should know of a corpus before training on it."""
