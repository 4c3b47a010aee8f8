"""A training's folder: written atomically, read lazily, one writer at a time."""
