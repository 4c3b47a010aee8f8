"""Training of neural models into runs."""
