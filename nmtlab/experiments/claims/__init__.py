"""What the seeds claim of their tables, and how the claims fared here."""
