"""N-gram language models, through sil-thot."""

from nmtlab.language_model.learning import learn_language_model, tune_language_model
from nmtlab.language_model.model import NgramModel

__all__ = ["NgramModel", "learn_language_model", "tune_language_model"]
