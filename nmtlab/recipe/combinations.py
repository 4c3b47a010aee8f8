"""Which settings of different sections do not go together, and what to do then.

Each check returns a problem and its remedy, separated by a semicolon; nothing if the settings fit.
"""

from collections.abc import Mapping

from nmtlab.recipe.rnn import RnnSettings
from nmtlab.recipe.sections import Sections


def problem_of(recipe: Sections) -> str:
    """Return the first problem of settings that are valid section by section; empty if there is none."""
    return next((problem for check in _CHECKS if (problem := check(recipe))), "")


def _corpus_problem(recipe: Sections) -> str:
    if recipe.corpus.vocabulary_only:
        return "corpus.vocabulary_only is true, but the first corpus is trained on; leave it out"
    if not recipe.model.neural and any(one.rotation for one in recipe.corpora):
        return "rotation is of neural training, which has epochs; leave it out"
    return ""


def _search_problem(recipe: Sections) -> str:
    search, model, bins = recipe.search, recipe.model, recipe.text.length_bins
    for field, off in (("replace_unknown", "false"), ("coverage", "0")):
        if getattr(search, field) and not model.attends:
            return f"search.{field} needs attention, which the model does not have; set it to {off}"
    if search.attention_temperature != 1 and not (model.neural and model.attends):
        return "search.attention_temperature is of attention, which the model does not have; set it to 1"
    if search.int8 and not model.clips:
        return "search.int8 rounds clipped inputs, but model.clip_inputs is 0; set it to false"
    if search.block_ngrams and (not model.neural or model.plans_length):
        return "search.block_ngrams is of neural models that plan no lengths; set it to 0"
    if search.length_bin >= bins:
        choice = f"choose from 0 to {bins - 1}" if bins else "leave it out"
        return f"search.length_bin is {search.length_bin}, but text.length_bins is {bins}; {choice}"
    return ""


def _text_problem(recipe: Sections) -> str:
    text, model = recipe.text, recipe.model
    if not model.neural:
        if text.max_target_tokens:
            return "text.max_target_tokens limits neural training alone; set it to 0, or use text.max_words"
        if alone := _first_set(
            {field: getattr(text, field) for field in ("length_bins", "reversed_target", "annotate")}
        ):
            return f"text.{alone} is for neural models alone; leave it out"
    if model.copies and not text.joint:
        return (
            "model.copy_head copies source types, which then need target ids; set text.joint to true, or leave it out"
        )
    if text.target_tag in ("decoder", "own") and model.family != "transformer":
        return (
            f"text.target_tag {text.target_tag!r} gives the tag to a Transformer's decoder, which this model does not "
            "have; choose 'source'"
        )
    return ""


def _low_rank_problem(recipe: Sections) -> str:
    if recipe.model.neural and recipe.model.low_rank and not recipe.transfer.continued:
        return (
            "model.lora_rank changes weights that are there already and needs a run to go on from; name it with "
            "--from, or set it to 0"
        )
    if recipe.model.neural and recipe.model.halves_base and recipe.machine.precision != "bf16":
        return (
            "model.lora_base 'bf16' saves no memory with machine.precision 'fp32', which copies each matrix; "
            "set machine.precision to 'bf16'"
        )
    return ""


def _one_table_problem(recipe: Sections) -> str:
    one_table = recipe.text.joint and getattr(recipe.model, "shared_embeddings", False)
    if one_table and recipe.transfer.source_embedding != recipe.transfer.target_embedding:
        return (
            "transfer.source_embedding and transfer.target_embedding differ, but the model has one table for both; "
            "set model.shared_embeddings=false, or give both the same value"
        )
    return ""


def _going_on_problem(recipe: Sections) -> str:
    transfer, training = recipe.transfer, recipe.training
    holding = {
        "transfer.anchor": transfer.anchor != "none", "transfer.tune_out": transfer.tune_out > 0,
        "transfer.keep_zeros": transfer.keep_zeros,
    }  # fmt: skip
    needed = holding | {"transfer.keep_optimiser": transfer.keep_optimiser}
    if transfer.anchor == "none" and transfer.anchor_weight != type(transfer).model_fields["anchor_weight"].default:
        return "transfer.anchor_weight is set, but transfer.anchor is none; choose an anchor, or leave out both"
    added = next((field for field in ("add_letters", "add_tag") if getattr(transfer, field)), "")
    needed["training.teacher_weight"] = bool(added and training.teacher_weight)
    for field in (field for field, is_set in needed.items() if is_set):
        if not transfer.continued:
            return f"{field} needs a run to go on from; name it with --from, and in a file set transfer.continued, too"
        if added:
            return f"{field} knows nothing of what transfer.{added} adds; add that first, and go on from that run"
        if recipe.model.neural and recipe.model.low_rank:
            return f"{field} is of a parent's weights, which model.lora_rank leaves as they are; leave out one of them"
    if (holds := _first_set(holding)) and "tune" not in transfer.uses:
        return f"{holds} holds what is trained of the parent, which is nothing; leave it out, or tune some part"
    if transfer.keep_zeros and transfer.keep_optimiser:
        return "transfer.keep_zeros: a kept optimiser moves what was 0; set transfer.keep_optimiser=false"
    if training.teacher and not training.teacher_weight:
        return "training.teacher is named, but training.teacher_weight is 0; set it to 0.01, or leave out the teacher"
    if training.teacher_temperature != 1 and not training.teacher_weight:
        return "training.teacher_temperature is set, but training.teacher_weight is 0; set it to 0.5, or leave out both"
    if training.teacher_weight and not (training.teacher or transfer.continued):
        return "training.teacher_weight needs a teacher; name a run with training.teacher, or with --from"
    return ""


def _sources_problem(recipe: Sections) -> str:
    trained = recipe.trained_corpora
    if not any(corpus.also_sources for corpus in trained):
        return ""
    field, model = "corpus.also_sources", recipe.model
    sources = {(corpus.source, *corpus.also_sources) for corpus in trained}
    if len(sources) > 1 and all(corpus.source for corpus in trained):
        return f"{field}: every corpus needs the same sources, in the same order; give each its source and also_sources"
    if not model.combines_sources:
        return f"{field} needs a model that combines sources; set model.family to rnn or transformer"
    if not model.attends:
        return f"{field} are attended to, but model.attention is 'none'; set another attention"
    if model.plans_length:
        return f"{field}: model.plan_length is of one source; set it to false"
    if model.lexical_table:
        return f"{field}: model.lexicon 'table' is of one source; set it to 'none' or 'module'"
    if isinstance(model, RnnSettings) and model.lexical_module and model.combine != "joint":
        return "model.lexicon 'module' reads what one attention weighs; set model.combine to 'joint'"
    if model.mixes_experts and recipe.teacher:
        return "model.combine 'mixture': the experts learn from the text; set training.teacher_weight to 0"
    if isinstance(model, RnnSettings) and model.combine == "flat" and model.attention == "additive":
        return "model.combine 'flat' needs a product as its score; set model.attention to 'general'"
    of_one = {
        "text.annotate": recipe.text.annotate, "text.length_bins": recipe.text.length_bins,
        "model.copy_head": model.copies, "model.grammar": model.selects_heads,
        "training.guided_attention": recipe.training.guided_attention,
    }  # fmt: skip
    if other := _first_set(of_one):
        return f"{field}: {other} is of one source; leave one of them out"
    if recipe.transfer.parent or recipe.transfer.continued:
        return f"{field}: a run of several sources starts from no other; leave out the parent"
    return ""


def _first_set(fields: Mapping[str, object]) -> str:
    """Return the name of the first field that is set; empty if none is."""
    return next((name for name, is_set in fields.items() if is_set), "")


def _blank_problem(recipe: Sections) -> str:
    trained = recipe.trained_corpora
    if not any(corpus.blank_source for corpus in trained):
        return ""
    field = "corpus.blank_source"
    if not recipe.model.neural:
        return f"{field} is for neural models alone; leave it out"
    learns_types = not (recipe.text.joint or recipe.transfer.continued)
    if learns_types and all(corpus.blank_source for corpus in trained):
        return f"{field} leaves no text to learn source types from; set text.joint to true"
    if len({corpus.target for corpus in trained if corpus.target}) > 1 and recipe.text.target_tag == "source":
        return f"{field}: a blank sentence cannot name one of several target languages; leave the others out"
    reading = {
        "text.annotate": recipe.text.annotate, "text.length_bins": recipe.text.length_bins,
        "model.copy_head": recipe.model.copies, "model.lexicon 'table'": recipe.model.lexical_table,
        "training.guided_attention": recipe.training.guided_attention,
    }  # fmt: skip
    if other := _first_set(reading):
        return f"{field}: {other} reads source words; leave one of them out"
    return ""


def _context_problem(recipe: Sections) -> str:
    if not recipe.text.context:
        return ""
    if not recipe.model.neural:
        return "text.context is for neural models alone; leave it out"
    of_sentences = {
        "corpus.also_sources": any(corpus.also_sources for corpus in recipe.corpora),
        "model.lexicon 'table'": recipe.model.lexical_table, "model.grammar": recipe.model.selects_heads,
        "model.plan_length": recipe.model.plans_length, "model.copy_head": recipe.model.copies,
        "training.guided_attention": recipe.training.guided_attention,
    }  # fmt: skip
    if other := _first_set(of_sentences):
        return f"text.context: {other} is of a sentence alone; leave one of them out"
    return ""


def _drawn_problem(recipe: Sections) -> str:
    if recipe.training.segmentations == 1:
        return ""
    if not recipe.model.neural or recipe.text.segmentation not in ("bpe", "unigram"):
        return "training.segmentations draws subwords of bpe or unigram for a neural model; leave it out"
    if recipe.text.annotate:
        return "training.segmentations draws no pieces beside suggestions; leave it or text.annotate out"
    return ""


def _risk_problem(recipe: Sections) -> str:
    if recipe.training.risk == "none":
        if recipe.training.risk_form != "expected" or recipe.training.risk_reference:
            return "training.risk_form and risk_reference are of a risk, and training.risk is none; set it to a score"
        return ""
    if not recipe.transfer.continued:
        return (
            "training.risk needs a parent to continue, as the samples of an untrained model are noise; name a run with "
            "--from, and in a file set transfer.continued, too"
        )
    if recipe.model.plans_length:
        return "training.risk samples translations, but not their lengths, which this model plans; set it to none"
    if not recipe.model.neural:
        return "training.risk samples translations, which a phrase-based system cannot; set it to none"
    if recipe.machine.compile:
        return "training.risk samples translations, which is not compiled; set machine.compile=false"
    if recipe.training.risk == "hit-gleu" and not recipe.text.annotate:
        return "training.risk = 'hit-gleu' counts suggestions, and text.annotate is 0; set it to gleu"
    if recipe.training.risk_form == "expected" and recipe.training.risk_samples == 1:
        return "training.risk_samples = 1 has no other sample to be compared with; set it to 2 or more"
    if recipe.training.risk_form == "self-critical" and recipe.training.risk_reference:
        return "training.risk_reference is no sample, and a self-critical risk is of samples alone; set it to false"
    return ""


def _guided_problem(recipe: Sections) -> str:
    if not recipe.training.guided_attention:
        return ""
    if not recipe.model.neural or not recipe.model.attends:
        return "training.guided_attention guides attention, which this model does not have; set it to 0"
    if recipe.training.risk != "none":
        return "training.guided_attention is of the text's own targets, and a risk of samples; leave out one of them"
    if recipe.machine.compile:
        return "training.guided_attention records attention, which is not compiled; set machine.compile=false"
    return ""


_CHECKS = (
    _corpus_problem, _search_problem, _text_problem, _low_rank_problem, _going_on_problem, _risk_problem,
    _guided_problem, _sources_problem, _blank_problem, _context_problem, _drawn_problem, _one_table_problem,
)  # fmt: skip
