"""Text and its preparation: corpora, importers, segmentation, vocabularies, batches."""
