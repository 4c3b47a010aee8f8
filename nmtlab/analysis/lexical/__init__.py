"""How a system chooses its words: their vectors, the terms of their logits, lexicons, rare and unknown words."""
