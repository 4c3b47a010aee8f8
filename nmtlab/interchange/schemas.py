"""Schemas of the JSON in a model's folder, as far as it is read; other fields are ignored."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

_Id = Annotated[int, Field(strict=True, ge=0, lt=2**31)]
_Number = Annotated[int, Field(ge=1, lt=2**31)]
_Text = Annotated[str, Field(max_length=1000)]  # a limit also refuses what is not Unicode

Ids = Annotated[dict[_Text, _Id], Field(max_length=1_000_000)]
"""`vocab.json`, `target_vocab.json`, `added_tokens.json`: types with their ids."""


class _Json(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)


class Kind(_Json):
    """What `config.json` of any model says of its kind."""

    model_type: _Text = "unknown"
    architectures: list[_Text] | None = None
    name: Annotated[str, Field(max_length=1 << 20)] | None = Field(None, alias="_name_or_path")


class Generation(_Json):
    """`generation_config.json`; older folders have its fields in `config.json`."""

    num_beams: _Number | None = None
    length_penalty: Annotated[float, Field(allow_inf_nan=False)] | None = None
    bad_words_ids: list[list[_Id]] | None = None


class Config(Kind, Generation):
    """`config.json` of a model that can be imported."""

    d_model: _Number
    encoder_layers: _Number
    decoder_layers: _Number
    encoder_ffn_dim: _Number
    decoder_ffn_dim: _Number
    encoder_attention_heads: _Number
    decoder_attention_heads: _Number
    activation_function: _Text = ""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.1
    share_encoder_decoder_embeddings: bool = True
    pad_token_id: _Id
    decoder_start_token_id: _Id
    eos_token_id: _Id


class Token(_Json):
    """A token that a tokenizer has besides those of its model."""

    content: _Text


class NumberedToken(Token):
    """The same, with its id."""

    id: _Id


Tokens = list[_Text | Token]


class SpecialTokens(_Json):
    """`special_tokens_map.json`."""

    additional_special_tokens: Tokens | None = None
    extra_special_tokens: Tokens | dict[str, Any] | None = None


class TokenizerConfig(SpecialTokens):
    """`tokenizer_config.json`; the keys of `added_tokens_decoder` are ids."""

    source_lang: _Text | None = None
    target_lang: _Text | None = None
    legacy_behaviour: bool = False
    added_tokens_decoder: dict[Annotated[str, Field(pattern=r"^[0-9]{1,9}$")], Token] = {}


class Tokenizer(_Json):
    """`tokenizer.json`."""

    added_tokens: list[NumberedToken] = []


class _Bpe(_Json):
    type: Literal["BPE"]
    vocab: Annotated[dict[Annotated[str, Field(max_length=128)], _Id], Field(max_length=1_000_000)]
    merges: list[str | Annotated[list[str], Field(min_length=2, max_length=2)]]
    unk_token: Literal["<unk>"]
    fuse_unk: Literal[True]
    byte_fallback: Literal[False] = False
    ignore_merges: Literal[False] = False
    dropout: None = None
    continuing_subword_prefix: Literal[""] | None = None
    end_of_word_suffix: Literal[""] | None = None


class _Normaliser(_Json):
    type: str
    precompiled_charsmap: Annotated[str, Field(pattern=r"^[A-Za-z0-9+/]*=*$")] = ""


class _Normalisers(_Json):
    type: Literal["Sequence"]
    normalizers: Annotated[list[_Normaliser], Field(min_length=1)]


class _Metaspace(_Json):
    type: Literal["Metaspace"]
    replacement: Literal["▁"]
    prepend_scheme: Literal["always"]
    split: Literal[True] = True


class BpeTokenizer(Tokenizer):
    """`tokenizer.json` of byte-pair encoding as NLLB has it."""

    model: _Bpe
    normalizer: _Normalisers
    pre_tokenizer: _Metaspace
