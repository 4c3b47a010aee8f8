"""Whole translation models, one file a family, behind one interface."""
