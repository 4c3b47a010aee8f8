"""The published tables, and further tables that explain their results."""
