"""Translation models, one file per family, behind one interface."""
