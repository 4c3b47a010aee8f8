"""How sure is a system of each token of a translation, and what are the alternatives?"""

import pandas as pd
import torch

from nmtlab.analysis.access.opened import RunOrSystem, forced_states, opened, scored_ids
from nmtlab.search.top import stable_topk
from nmtlab.text.segmentation.vocabulary import EOS, SPECIALS, UNK


def token_probabilities(system: RunOrSystem, source: str, target: str, top: int = 3) -> pd.DataFrame:
    """Return the probability of each token of a translation, given those before it, and the likeliest tokens there.

    Args:
        system: a run, or a translator.
        source: the source sentence.
        target: a translation, the system's or any other.
        top: number of likeliest tokens to list.

    Returns:
        A row for each token, ending in EOS unless the system plans lengths: `position`, from 0; `piece`, as written;
        `unknown`, whether the token is UNK to the system; `count` in the training text of the target language;
        `probability`; `rank` among all tokens, from 1; `likeliest`, the `top` likeliest tokens as text with their
        probabilities.

    Raises:
        RunError: a phrase-based run, or one without weights.
    """
    translator = opened(system)
    model, pipeline = translator.model, translator.pipeline
    ids = scored_ids(model, pipeline.target_ids(target))
    with torch.inference_mode():
        logits = model.output(forced_states(model, [pipeline.source_ids(source)], [ids])).double()
        columns = model.output_index(torch.tensor(ids, device=logits.device))
        probabilities = logits.softmax(-1)
        of_target = probabilities.gather(1, columns[:, None])
        values, best = stable_topk(probabilities, min(top, logits.shape[1]))
    vocabulary = pipeline.target.vocabulary
    words = [vocabulary.tokens(row) for row in model.output_ids[best].tolist()]
    return pd.DataFrame(
        {
            "position": range(len(ids)),
            "piece": [*pipeline.target.tokenizer.split(target), SPECIALS[EOS]][: len(ids)],
            "unknown": [number == UNK for number in ids],
            "count": pipeline.target.counts[ids],
            "probability": of_target[:, 0].tolist(),
            "rank": (1 + (probabilities > of_target).sum(1)).tolist(),
            "likeliest": [
                ", ".join(f"{word} {value:.2f}" for word, value in zip(row, chances, strict=True))
                for row, chances in zip(words, values.tolist(), strict=True)
            ],
        }
    )
