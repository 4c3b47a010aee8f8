"""Search for translations, with any model, through its interface alone."""
