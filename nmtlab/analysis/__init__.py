"""One question per module: runs in, tidy tables out."""
