"""What a system attends to, and what it generates when its attention is moved."""
