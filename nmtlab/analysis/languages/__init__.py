"""Related languages: what they share, what moves when a child learns, what a relative gives."""
