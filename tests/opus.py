"""A translator laid out as those of Helsinki-NLP are: sentencepiece for each language, and its weights in a pickle."""

import io
import json
from pathlib import Path

import sentencepiece
import torch
import transformers as hf
from safetensors.torch import save_file

from tests.translators import PAIRS


def save_opus(folder: Path, *, safetensors: bool = False) -> hf.MarianMTModel:
    """A tiny random one. With `safetensors` the bot's file stands beside the pickle, as it does in the bot's pull request."""
    folder.mkdir(parents=True, exist_ok=True)
    pieces: dict[str, int] = {"</s>": 0, "<unk>": 1}
    for side, language in enumerate(("source", "target")):
        written = io.BytesIO()
        sentences = iter([pair[side] for pair in PAIRS] * 20)
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=sentences, model_writer=written, vocab_size=60, hard_vocab_limit=False, minloglevel=2
        )
        (folder / f"{language}.spm").write_bytes(written.getvalue())
        reader = sentencepiece.SentencePieceProcessor(model_proto=written.getvalue())
        for index in range(reader.get_piece_size()):
            pieces.setdefault(reader.id_to_piece(index), len(pieces))
    pieces["<pad>"] = len(pieces)
    (folder / "vocab.json").write_text(json.dumps(pieces), encoding="utf-8")
    languages = {"source_lang": "en", "target_lang": "fr", "model_max_length": 512, "tokenizer_class": "MarianTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(languages), encoding="utf-8")
    torch.manual_seed(13)
    pad = pieces["<pad>"]
    config = hf.MarianConfig(
        vocab_size=len(pieces), d_model=30, encoder_layers=2, decoder_layers=2, encoder_attention_heads=3,
        decoder_attention_heads=3, encoder_ffn_dim=11, decoder_ffn_dim=13, max_position_embeddings=61, pad_token_id=pad,
        eos_token_id=0, bos_token_id=None, decoder_start_token_id=pad, forced_eos_token_id=None,
        architectures=["MarianMTModel"],
    )  # fmt: skip
    model = hf.MarianMTModel(config).eval()
    config.save_pretrained(folder)
    (folder / "generation_config.json").write_text(
        json.dumps({"decoder_start_token_id": pad, "eos_token_id": 0, "pad_token_id": pad, "bad_words_ids": [[pad]]})
    )
    weights = {name: value.contiguous().clone() for name, value in model.state_dict().items()}
    torch.save(weights, folder / "pytorch_model.bin")
    if safetensors:
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return model
