"""Small modules that models are built from; arguments are plain numbers and tensors."""
