"""Pages of controls and figures over runs: in Voila, or in a notebook with one call."""
