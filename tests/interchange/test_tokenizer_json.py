"""NLLB as transformers 5 saves it, with tokenizer.json alone: text is cut as there."""

import json
from pathlib import Path

import pytest
from support.foreign_models import subwords, write_json

from nmtlab.errors import RunError
from nmtlab.interchange.folder import ModelFolder
from nmtlab.interchange.tokenizer_json import FAIRSEQ, model_of_tokenizer
from nmtlab.interchange.vocabularies import m2m_text

transformers = pytest.importorskip("transformers", reason="needs transformers, which the test extra installs")

LANGUAGES = ("deu_Latn", "eng_Latn", "kas_Deva")
LINES = [
    "ein hund sieht eine katze, die nicht da war", "das größere haus ist rot und alt", "der Hund hat einen Ball",
    "Zwei Männer gehen über die Straße", "eine alte Frau wartet auf den Bus", "Kinder spielen im Wasser", "don't - 5 €",
]  # fmt: skip
TEXTS = [
    *LINES, "", "zwei  Leerzeichen\tund mehr", "ﬁne … don´t ½ ℃", "hund \u200b hund", "x\u3000y\u00a0!", "漢字漢 a漢z",
    "naïve “curly” – 🐈‍⬛", "ŁÓDŹ größer",
]  # fmt: skip


@pytest.fixture
def saved(tmp_path) -> tuple[Path, bytes]:
    """A folder that transformers has saved, and the SentencePiece model that it leaves out."""
    model = subwords(LINES * 9, 150, kind="bpe")
    (tmp_path / "before").mkdir()
    (tmp_path / "before/sentencepiece.bpe.model").write_bytes(model)
    tokenizer = transformers.NllbTokenizer.from_pretrained(
        tmp_path / "before", src_lang="deu_Latn", additional_special_tokens=list(LANGUAGES)
    )
    folder = tmp_path / "saved"
    tokenizer.save_pretrained(folder)
    assert not (folder / "sentencepiece.bpe.model").exists()
    sizes = {
        f"{side}_{kind}": 2 for side in ("encoder", "decoder") for kind in ("layers", "ffn_dim", "attention_heads")
    }
    special = {"pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2}
    write_json(folder / "config.json", {"model_type": "m2m_100", "d_model": 16, **sizes, **special})
    return folder, model


def test_its_ids_are_those_of_transformers(saved):
    folder, model = saved
    there = transformers.AutoTokenizer.from_pretrained(folder)
    languages = (("deu_Latn",), ("eng_Latn", "kas_Deva"))
    alone = m2m_text(ModelFolder(folder), languages, joint=True)
    (folder / "sentencepiece.bpe.model").write_bytes(model)
    with_model = m2m_text(ModelFolder(folder), languages, joint=True)
    for text in TEXTS:
        ours = alone.pipeline.source_ids(text)
        assert ours == with_model.pipeline.source_ids(text)
        if text:
            assert alone.rows[0][ours].tolist() == there(text).input_ids


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("model", lambda model: model | {"merges": model["merges"][:-1]}),
        ("model", lambda model: model | {"merges": model["merges"][::-1]}),
        ("model", lambda model: model | {"vocab": model["vocab"] | {"new": 9999}}),
        ("model", lambda model: model | {"byte_fallback": True}),
        ("model", lambda model: {"type": "Unigram"}),
        ("normalizer", lambda normalizer: {"type": "Lowercase"}),
        ("normalizer", lambda normalizer: normalizer | {"normalizers": normalizer["normalizers"] * 2}),
        ("normalizer", lambda normalizer: normalizer | {"normalizers": [{"type": "Precompiled"}]}),
        ("pre_tokenizer", lambda pre_tokenizer: pre_tokenizer | {"prepend_scheme": "never"}),
    ],
)
def test_a_tokenizer_that_cuts_in_another_way_is_refused_with_the_file_to_copy(saved, part, change):
    path = saved[0] / "tokenizer.json"
    tokenizer = json.loads(path.read_text(encoding="utf-8"))
    write_json(path, tokenizer | {part: change(tokenizer[part])})
    with pytest.raises(RunError, match=r"tokenizer.json: .*; copy sentencepiece.bpe.model into the folder"):
        model_of_tokenizer(ModelFolder(saved[0]))


def test_a_table_of_characters_that_is_damaged_is_refused(saved):
    path = saved[0] / "tokenizer.json"
    tokenizer = json.loads(path.read_text(encoding="utf-8"))
    for table in ("AAA", "AAAA", "////" * 9):
        tokenizer["normalizer"]["normalizers"][0]["precompiled_charsmap"] = table
        write_json(path, tokenizer)
        with pytest.raises(RunError, match=r"copy sentencepiece\.bpe\.model into the folder"):
            model_of_tokenizer(ModelFolder(saved[0]))


def test_types_that_do_not_begin_as_nllbs_are_refused(saved):
    path = saved[0] / "tokenizer.json"
    tokenizer = json.loads(path.read_text(encoding="utf-8"))
    vocabulary = tokenizer["model"]["vocab"]
    vocabulary[FAIRSEQ[0]], vocabulary[FAIRSEQ[1]] = 1, 0
    write_json(path, tokenizer)
    with pytest.raises(RunError, match="that no SentencePiece model has"):
        model_of_tokenizer(ModelFolder(saved[0]))
