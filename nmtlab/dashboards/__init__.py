"""Interactive pages over runs, served by Voila or opened in a notebook with one call."""
