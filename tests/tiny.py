"""Tiny random models of every family, and tiny tokenizers for them. Every size is a different prime where the model allows."""

import io
import json
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import torch
import transformers as hf
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

VOCABULARY = 97
WORDS = [
    "the", "a", "cat", "dog", "sat", "on", "mat", "it", "was", "too", "tired", "ran", "because", "to", "street", "animal",
    "and", "of", "in", "by", "##s", "##ing", "##ed", ".", ",", "!", "?", "'",
]  # fmt: skip
ENCODER, DECODER, SEQ2SEQ = "encoder", "decoder", "encoder-decoder"


@dataclass(frozen=True)
class Family:
    """How to make a tiny model of a family; `recorded`: whether it calls the attention function."""

    name: str
    architecture: str
    config: Callable[[], Any]
    recorded: bool = True

    def __str__(self) -> str:
        return self.name

    def model(self) -> Any:
        """A random model whose attention is far from uniform, so that a wrong weight is seen."""
        torch.manual_seed(len(self.name))
        kind = hf.AutoModelForSeq2SeqLM if self.architecture == SEQ2SEQ else hf.AutoModel
        model = kind.from_config(self.config(), attn_implementation="eager").eval()
        with torch.no_grad():
            for parameter in model.parameters():
                if not parameter.requires_grad:
                    continue  # sinusoidal positions are computed, not saved
                if parameter.dim() >= 2:
                    parameter.normal_(0, 1.2 * parameter.shape[-1] ** -0.5)
                else:
                    parameter.add_(torch.randn_like(parameter) * 0.1)
        return model

    def save(self, folder: Path) -> Any:
        """The model and a tokenizer for it, in a folder as the hub would have it."""
        model = self.model()
        model.save_pretrained(folder)
        tokenizer(self.architecture).save_pretrained(folder)
        return model


def tokenizer(architecture: str = ENCODER, **options: Any) -> hf.PreTrainedTokenizerFast:
    """WordPiece over a handful of words, with the special tokens that such a model has."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    letters = [prefix + chr(code) for prefix in ("", "##") for code in range(ord("a"), ord("z") + 1)]
    vocabulary = {word: index for index, word in enumerate([*special, *WORDS, *letters][:VOCABULARY])}
    inner = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    inner.normalizer = normalizers.BertNormalizer(lowercase=True)
    inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    marks = [("[CLS]", 2), ("[SEP]", 3)]
    if architecture == ENCODER:
        pair = "[CLS] $A [SEP] $B:1 [SEP]:1"
        inner.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair=pair, special_tokens=marks)
    elif architecture == SEQ2SEQ:
        inner.post_processor = processors.TemplateProcessing(single="$A [SEP]", pair="$A $B [SEP]", special_tokens=marks)
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "eos_token": "[SEP]"}
    if architecture == ENCODER:
        names |= {"cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}
        options.setdefault("model_input_names", ["input_ids", "token_type_ids", "attention_mask"])
    else:
        options.setdefault("model_input_names", ["input_ids", "attention_mask"])
    return hf.PreTrainedTokenizerFast(tokenizer_object=inner, **names, **options)


_IDS: dict[str, Any] = {"vocab_size": VOCABULARY, "pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
_BERT: dict[str, Any] = {**_IDS, "hidden_size": 15, "num_attention_heads": 3, "num_hidden_layers": 2, "intermediate_size": 11,
         "max_position_embeddings": 61, "type_vocab_size": 2}  # fmt: skip
_ROBERTA: dict[str, Any] = {**_BERT, "pad_token_id": 1}
_LLAMA: dict[str, Any] = {**_IDS, "hidden_size": 24, "num_attention_heads": 6, "num_key_value_heads": 2, "num_hidden_layers": 2,
          "intermediate_size": 13, "max_position_embeddings": 61, "head_dim": 4}  # fmt: skip
BART: dict[str, Any] = {**_IDS, "d_model": 15, "encoder_layers": 2, "decoder_layers": 3, "encoder_attention_heads": 3,
         "decoder_attention_heads": 5, "encoder_ffn_dim": 11, "decoder_ffn_dim": 13, "max_position_embeddings": 61,
         "decoder_start_token_id": 2, "forced_eos_token_id": None}  # fmt: skip
_T5: dict[str, Any] = {**_IDS, "decoder_start_token_id": 0}
_WINDOW: dict[str, Any] = {**_LLAMA, "sliding_window": 3}
_GEMMA: dict[str, Any] = {**_WINDOW, "query_pre_attn_scalar": 7, "layer_types": ["sliding_attention", "full_attention"]}
_OSS: dict[str, Any] = {
    **_WINDOW,
    "intermediate_size": 16,  # in sixteen bits, experts are multiplied in groups of sixteen bytes
    "num_local_experts": 3,
    "num_experts_per_tok": 2,
    "layer_types": ["sliding_attention", "full_attention"],
}
_DEBERTA: dict[str, Any] = {**_BERT, "relative_attention": True, "position_buckets": 5, "pos_att_type": ["p2c", "c2p"],
            "max_relative_positions": 17, "norm_rel_ebd": "layer_norm", "share_att_key": True}  # fmt: skip

FAMILIES = (
    Family("bert", ENCODER, lambda: hf.BertConfig(**_BERT)),
    Family("roberta", ENCODER, lambda: hf.RobertaConfig(**_ROBERTA)),
    Family("xlm-roberta", ENCODER, lambda: hf.XLMRobertaConfig(**_ROBERTA)),
    Family("camembert", ENCODER, lambda: hf.CamembertConfig(**_ROBERTA)),
    Family("electra", ENCODER, lambda: hf.ElectraConfig(**_BERT, embedding_size=7)),
    Family("distilbert", ENCODER, lambda: hf.DistilBertConfig(
        vocab_size=VOCABULARY, dim=15, n_heads=3, n_layers=2, hidden_dim=11, max_position_embeddings=61)),
    Family("albert", ENCODER, lambda: hf.AlbertConfig(**_BERT, embedding_size=7)),
    Family("modernbert", ENCODER, lambda: hf.ModernBertConfig(
        **{**_BERT, "hidden_size": 12, "num_hidden_layers": 3, "global_attn_every_n_layers": 2, "reference_compile": False},
        cls_token_id=2, sep_token_id=3, local_attention=4)),
    Family("mpnet", ENCODER, lambda: hf.MPNetConfig(**_ROBERTA), recorded=False),
    Family("deberta-v2", ENCODER, lambda: hf.DebertaV2Config(**_DEBERTA), recorded=False),
    Family("xlnet", ENCODER, lambda: hf.XLNetConfig(
        vocab_size=VOCABULARY, d_model=18, n_layer=2, n_head=3, d_inner=11, pad_token_id=0), recorded=False),
    Family("gpt2", DECODER, lambda: hf.GPT2Config(**_IDS, n_positions=61, n_embd=15, n_layer=2, n_head=3)),
    Family("gpt-neox", DECODER, lambda: hf.GPTNeoXConfig(**{**_BERT, "hidden_size": 24, "rotary_pct": 0.5})),
    Family("opt", DECODER, lambda: hf.OPTConfig(
        **_IDS, hidden_size=15, num_attention_heads=3, num_hidden_layers=2, ffn_dim=11, max_position_embeddings=61,
        word_embed_proj_dim=15)),
    Family("llama", DECODER, lambda: hf.LlamaConfig(**_LLAMA)),
    Family("mistral", DECODER, lambda: hf.MistralConfig(**_WINDOW)),
    Family("qwen3", DECODER, lambda: hf.Qwen3Config(**_LLAMA)),
    Family("gemma2", DECODER, lambda: hf.Gemma2Config(**_GEMMA, attn_logit_softcapping=1.5)),
    Family("gemma3", DECODER, lambda: hf.Gemma3TextConfig(**_GEMMA)),
    Family("phi3", DECODER, lambda: hf.Phi3Config(**{**_LLAMA, "original_max_position_embeddings": 61})),
    Family("gpt-oss", DECODER, lambda: hf.GptOssConfig(**_OSS)),
    Family("bloom", DECODER, lambda: hf.BloomConfig(**_IDS, hidden_size=15, n_layer=2, n_head=3), recorded=False),
    Family("falcon", DECODER, lambda: hf.FalconConfig(
        **_IDS, hidden_size=24, num_hidden_layers=2, num_attention_heads=6, num_kv_heads=2, new_decoder_architecture=True),
        recorded=False),
    Family("bart", SEQ2SEQ, lambda: hf.BartConfig(**BART)),
    Family("marian", SEQ2SEQ, lambda: hf.MarianConfig(**{**BART, "d_model": 30})),
    Family("m2m-100", SEQ2SEQ, lambda: hf.M2M100Config(**{**BART, "d_model": 30})),
    Family("pegasus", SEQ2SEQ, lambda: hf.PegasusConfig(**{**BART, "d_model": 30})),
    Family("t5", SEQ2SEQ, lambda: hf.T5Config(
        **_T5, d_model=17, d_kv=5, d_ff=11, num_layers=2, num_decoder_layers=3, num_heads=3,
        relative_attention_num_buckets=7, relative_attention_max_distance=11)),
)  # fmt: skip
GPTJ = Family("gptj", DECODER, lambda: hf.GPTJConfig(
    **_IDS, n_positions=61, n_embd=24, n_layer=2, n_head=3, rotary_dim=4), recorded=False)  # fmt: skip
# More decoders that normalize by root mean squares: before what they add, behind it, or both; with a factor; beside an MLP.
ROOT_MEAN_SQUARES = (
    *(family for family in FAMILIES if family.name in {"llama", "mistral", "qwen3", "gemma2", "gemma3", "phi3"}),
    Family("qwen2", DECODER, lambda: hf.Qwen2Config(**_LLAMA)),
    Family("gemma", DECODER, lambda: hf.GemmaConfig(**_LLAMA)),
    Family("granite", DECODER, lambda: hf.GraniteConfig(
        **_LLAMA, residual_multiplier=0.3, attention_multiplier=0.4, embedding_multiplier=3.0, logits_scaling=2.0)),
    Family("olmo2", DECODER, lambda: hf.Olmo2Config(**_LLAMA)),
    Family("olmo3", DECODER, lambda: hf.Olmo3Config(**_WINDOW)),
    Family("glm4", DECODER, lambda: hf.Glm4Config(**_LLAMA)),
    Family("exaone4", DECODER, lambda: hf.Exaone4Config(**_WINDOW)),
    Family("smollm3", DECODER, lambda: hf.SmolLM3Config(**_LLAMA)),
    Family("helium", DECODER, lambda: hf.HeliumConfig(**_LLAMA)),
)  # fmt: skip
FAMILY = {family.name: family for family in FAMILIES}
# One family of each kind of attention: learned and rotary positions, grouped heads, sinks, a bias of positions, one that
# computes its attention itself, and encoder-decoders.
KINDS = ("bert", "mpnet", "gpt2", "llama", "gpt-oss", "bart", "t5")


def some_now(families: Iterable[Family]) -> list[Any]:
    """List families as parameters of a test, which the gate asks of all, and `make test` of one of each kind."""
    return [family if family.name in KINDS else pytest.param(family, marks=pytest.mark.gate) for family in families]


def first_now(cases: Iterable[Any], n: int = 1) -> list[Any]:
    """List the parameters of a test, of which `make test` takes the first `n` and the gate all."""
    return [
        case if at < n else pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.gate)
        for at, case in enumerate(cases)
    ]


def save_writer(folder: Path, name: str) -> str:
    """Save a decoder of a family with what says the next word, and return the folder's name."""
    torch.manual_seed(0)
    hf.AutoModelForCausalLM.from_config(FAMILY[name].config()).save_pretrained(folder)
    tokenizer(DECODER).save_pretrained(folder)
    return str(folder)


def hybrid() -> Any:
    """Make a MiniMax: attention in layers 0 and 2, linear attention in layer 1."""
    config = hf.MiniMaxConfig(
        vocab_size=VOCABULARY, hidden_size=24, num_hidden_layers=3, num_attention_heads=6, num_key_value_heads=2,
        head_dim=4, intermediate_size=12, num_local_experts=3, block_size=5, tie_word_embeddings=True,
        layer_types=["full_attention", "linear_attention", "full_attention"],
    )  # fmt: skip
    torch.manual_seed(11)
    model = hf.MiniMaxModel(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 2:
                parameter.normal_(0, 1.2 * parameter.shape[-1] ** -0.5)
    return model


def of_many_languages(kind: type[Any], source: str, target: str | None) -> Any:
    """A tokenizer of that class, which has a mark for each language."""
    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)]
    marks, words = ["<s>", "<pad>", "</s>", "<unk>"], [*("▁" + word for word in WORDS if word.isalpha()), "▁", *letters]
    if kind is hf.M2M100Tokenizer:
        return _of_sentencepiece(source, target)
    if kind is hf.NllbTokenizer:
        return kind({piece: number for number, piece in enumerate([*marks, *words])}, [], src_lang=source, tgt_lang=target)
    return kind([*((mark, 0.0) for mark in marks), *((word, -4.0) for word in words)], src_lang=source, tgt_lang=target)


def _of_sentencepiece(source: str, target: str | None) -> hf.M2M100Tokenizer:
    written, sentences = io.BytesIO(), iter([" ".join(word for word in WORDS if word.isalpha())] * 20)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=sentences, model_writer=written, vocab_size=60, hard_vocab_limit=False, minloglevel=2
    )
    reader = sentencepiece.SentencePieceProcessor(model_proto=written.getvalue())
    pieces = dict.fromkeys(["<s>", "<pad>", "</s>", "<unk>", *map(reader.id_to_piece, range(reader.get_piece_size()))])
    # A copy of the tokenizer reads them again.
    folder = Path(tempfile.mkdtemp(prefix="m2m-"))
    vocabulary, model = folder / "vocab.json", folder / "sentencepiece.bpe.model"
    vocabulary.write_text(json.dumps({piece: number for number, piece in enumerate(pieces)}), encoding="utf-8")
    model.write_bytes(written.getvalue())
    return hf.M2M100Tokenizer(str(vocabulary), str(model), src_lang=source, tgt_lang=target)


def of_so_many_pieces(kind: type[Any], config: type[Any], tokenizer: Any, **settings: Any) -> Any:
    torch.manual_seed(0)
    sizes = {
        "d_model": 30,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "encoder_attention_heads": 3,
        "decoder_attention_heads": 5,
    }
    ids = {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2, "forced_eos_token_id": None}
    given = sizes | ids | {"encoder_ffn_dim": 11, "decoder_ffn_dim": 13, "max_position_embeddings": 61} | settings
    # M2M-100's tokenizer does not count its languages.
    most = max([len(tokenizer) - 1, *getattr(tokenizer, "lang_code_to_id", {}).values()])
    return kind(config(vocab_size=most + 1, **given)).eval()


NLLB = (hf.NllbTokenizer, hf.M2M100ForConditionalGeneration, hf.M2M100Config, "eng_Latn")
MBART_50 = (hf.MBart50Tokenizer, hf.MBartForConditionalGeneration, hf.MBartConfig, "en_XX")
M2M_100 = (hf.M2M100Tokenizer, hf.M2M100ForConditionalGeneration, hf.M2M100Config, "en")
