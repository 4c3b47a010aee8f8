"""What stored tables show, a question a module: what is computed from their cells, its figure, and the view of both."""
