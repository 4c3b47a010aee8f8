"""One question per module: runs in, tidy tables out.

Unless a function says otherwise, its arguments mean the same in every module:

- `run`: a trained run that meets the `needs` of the analysis; `system`: one, or a translator, whose weights are then
  loaded once for many questions, and in comparisons, with `than`, the name of one; `model`: in evaluation mode;
- `corpus`: in the run's languages, which set its direction; `split`: train, dev or test; `part`: a split, of an
  analysis that reads the training text, too (see `Analysis`); `sample`: number of sentences to draw
  (`nmtlab.text.corpora.sample`), all if not given; `source`, `sentence`: plain text;
- `search`: search settings, the recipe's if not given; `machine`: where to compute, the recipe's settings if not given;
- `on_progress`: called with the number of sentences just done.

All raise `CorpusError` for a split or languages that a corpus does not have, and `RunError` for a run that lacks what
is needed, such as weights.
"""
