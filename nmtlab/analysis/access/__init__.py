"""Asking a run a question: opening it, checking it, its texts, translations and scores, and answers that are kept."""
