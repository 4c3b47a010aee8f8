"""The pages, in the order of the index."""

from typing import NamedTuple


class About(NamedTuple):
    """A page.

    Args:
        name: name of the module, the notebook and the address.
        title: title in a few words.
        question: the question that the page answers.
    """

    name: str
    title: str
    question: str


INDEX = About("index", "nmtlab", "Why do low-resource translation systems behave as they do?")
TABLES = About(
    "tables",
    "Tables",
    "How do reproduced tables of the thesis compare with the published ones, and which differences are significant?",
)
NORMS = About(
    "norms",
    "Norms and frequency",
    "Does the norm of a word's vector follow its frequency, and does it make frequent words win where a rare one is "
    "right? (thesis Figure 3.2 and 3.2.1)",
)
ATTENTION = About(
    "attention",
    "Attention",
    "Where does each system attend as it generates a word, and how far is that from the source word it translates? "
    "(thesis Figure 3.3) Which source words does its choice depend on?",
)
DEPTH = About(
    "depth",
    "Depth and g",
    "Does the learned g of ScaleNorm grow with depth, in which sublayers, and how fast? (thesis Figures 3.6 and 3.7)",
)
DYNAMICS = About(
    "dynamics",
    "Training dynamics",
    "Which systems learn faster, and whose gradient norms stay stable? (thesis Figures 3.4 and 3.5)",
)
LEXICON = About(
    "lexicon",
    "Lexicon",
    "Which word translations has the lexical module learned, and are they correct? (thesis Table 3.9)",
)
LANGUAGES = About(
    "languages",
    "Related languages",
    "What does a parent in a related language give its child: which vectors are shared, how far do they move, and what "
    "is a relative worth? (thesis 3.1) How do many languages share one model? (thesis 4.2)",
)
SEARCH = About(
    "search",
    "Search",
    "Which hypotheses does a beam keep and drop, what does exact search find, and is the global best empty? "
    "(thesis 4.1, Figure 4.1)",
)
EFFICIENCY = About(
    "efficiency",
    "Efficiency",
    "Which engine, precision and beam give the best translations for their time, memory or size?",
)
TRANSLATE = About(
    "translate", "Translate", "How do the systems translate your sentence, and how confident are they in each token?"
)
COMPARE = About(
    "compare",
    "Compare",
    "Which system translates a text better, which sentences and words does it win or lose, and what do its errors look "
    "like?",
)
TRAIN = About("train", "Train", "How does a recipe train on a corpus? Start, watch and stop a training.")

PAGES = (TABLES, COMPARE, NORMS, ATTENTION, DEPTH, DYNAMICS, LEXICON, LANGUAGES, SEARCH, EFFICIENCY, TRANSLATE, TRAIN)
