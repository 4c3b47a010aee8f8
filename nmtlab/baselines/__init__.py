"""Phrase-based translation through sil-thot and sil-machine, as a run."""
