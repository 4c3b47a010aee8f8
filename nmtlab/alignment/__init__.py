"""Word alignment, and the translation tables that follow from it, through sil-thot."""
