"""What tests share: hand-made models, small corpora, packed runs."""
