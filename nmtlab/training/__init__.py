"""Learn a model into a run."""
