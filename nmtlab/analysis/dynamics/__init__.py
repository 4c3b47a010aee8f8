"""What happens during training: losses, gradients, g, and convergence."""
