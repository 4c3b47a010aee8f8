"""The frame of every page: choosers, links, selection, address and messages."""
