"""Word links of a text, and the words and attention of aligned pairs."""
