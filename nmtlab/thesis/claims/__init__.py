"""What the thesis and the survey claim about their tables, and whether the claims hold here."""
