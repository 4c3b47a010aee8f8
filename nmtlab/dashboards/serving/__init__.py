"""The server and its kernels."""
