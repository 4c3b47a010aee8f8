"""Projections of word vectors and states, and the states of the training text that are nearest to one."""
