"""What every figure shares: the theme, colour schemes, marks and views."""
