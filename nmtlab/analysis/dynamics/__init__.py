"""What happens while a system is trained: losses, gradients, g, and whether it converges."""
