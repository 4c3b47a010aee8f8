"""What was measured, beside what was published."""
