"""What does each source token contribute to each target token? Erasure and gradients, beside attention."""
