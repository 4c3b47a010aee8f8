"""One question a module: runs in, tidy tables out."""
