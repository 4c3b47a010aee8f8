"""What search finds, what it misses, and how long its translations are."""
