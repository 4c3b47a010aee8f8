"""Text as people have it: corpora, importers, segmentation, vocabularies, batches."""
