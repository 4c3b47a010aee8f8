"""Access to a run: its model, its texts, translations and scores, checks, and stored answers."""
