"""Models of other programs as runs; nothing above this room knows a foreign format."""
