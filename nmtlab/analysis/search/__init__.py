"""What search finds, what it misses, and how long translations become."""
