"""Search for translations with any model, only through its interface."""
