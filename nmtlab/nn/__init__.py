"""Building blocks of models; their arguments are plain numbers and tensors."""
