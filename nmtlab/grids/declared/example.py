"""A person's grid to begin with, as a file."""

EXAMPLE = """\
# A question of your own as a grid of trainings. Run it with:  nmtlab grid my-question.toml
title = "What do word vectors of a fixed norm gain in 400 updates, from how much text?"
seeds = [1, 2, 3]                    # every system is trained once with each; fewer than three decide nothing
metrics = ["test-bleu", "test-chrf"]
baseline = "tied"                    # the others are compared with it
changes = { training.validate_every = 100, training.max_evaluations = 4 }   # to every recipe below

[[system]]                           # a column; repeat it for further ones
name = "tied"
recipe = "tied-small"                # see 'nmtlab recipes list'; or the path of a file, from this file's folder

[[system]]
name = "fixnorm"
recipe = "tied-small"
changes = { model.fixnorm = true }   # see 'nmtlab recipes show tied-small'

[[text]]                             # rows: one for each size
artificial = "qaa"                   # an artificial language; or  corpus = "NAME"  or  corpus = "./folder"
sizes = [1000, 4000]                 # the first so many training pairs; "all" for the whole of a corpus

# A system can also name a parent or a base that it starts from, or a teacher that it learns from: see the book.
"""
"""Two recipes, two sizes, three seeds on an artificial language: minutes on two cores."""
