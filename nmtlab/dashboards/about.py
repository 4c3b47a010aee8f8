"""What pages there are, in the order of the index."""

from typing import NamedTuple


class About(NamedTuple):
    """A page.

    Args:
        name: of its module, its notebook and its address.
        title: in a few words.
        question: what it answers.
    """

    name: str
    title: str
    question: str


INDEX = About("index", "nmtlab", "Why do systems for languages with little data translate as they do?")
TABLES = About(
    "tables",
    "Tables",
    "What came out when the tables of the thesis were run again, beside what it printed, and is the difference sure?",
)
NORMS = About(
    "norms",
    "Norms and frequency",
    "Does the length of a word's vector follow its frequency, and does it make frequent words win where a rare one is "
    "right? (thesis Figure 3.2 and 3.2.1)",
)
ATTENTION = About(
    "attention",
    "Attention",
    "Where does each system look while it says a word, and how far is that from the word that it translates? "
    "(thesis Figure 3.3)",
)
DEPTH = About(
    "depth",
    "Depth and g",
    "Does the learned g of ScaleNorm grow with depth, in which sublayers, and how fast? (thesis Figures 3.6 and 3.7)",
)
DYNAMICS = About(
    "dynamics",
    "Training dynamics",
    "Who learns sooner, and whose gradient stays calm? (thesis Figures 3.4 and 3.5)",
)
LEXICON = About(
    "lexicon",
    "Lexicon",
    "What has the lexical module learned of single words, and is it right? (thesis Table 3.9)",
)
SEARCH = About(
    "search",
    "Search",
    "What does a beam keep and drop, what would it find if it missed nothing, and is that nothing at all? (thesis 4.1, "
    "Figure 4.1)",
)
TRANSLATE = About(
    "translate", "Translate", "What do the systems make of your sentence, and how sure are they of each word?"
)
TRAIN = About("train", "Train", "What becomes of a recipe on a corpus? Start a training, watch it, stop it.")

PAGES = (TABLES, NORMS, ATTENTION, DEPTH, DYNAMICS, LEXICON, SEARCH, TRANSLATE, TRAIN)
