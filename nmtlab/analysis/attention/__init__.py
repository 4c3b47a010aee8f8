"""Where a system looks, and what it says when it is made to look elsewhere."""
