"""Text of other forms made into corpora: a module for each kind of input, and `build`, where they all end."""
