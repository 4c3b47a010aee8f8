"""Words, subwords, true case, tags and vocabularies: from lines to types and back."""
