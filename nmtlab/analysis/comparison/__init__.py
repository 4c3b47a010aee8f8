"""Where do translations of the same text differ, and which are better? By words, sentences, n-grams and lengths."""
