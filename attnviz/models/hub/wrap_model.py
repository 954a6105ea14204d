"""From a model and its tokenizer to something that traces: what it reads, how much of it, and which way its attention shows."""

import copy
import inspect
import re
import sys
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from transformers import Pipeline, PreTrainedModel, PreTrainedTokenizerBase
from transformers.activations import FastGELUActivation, NewGELUActivation

from attnviz import settings
from attnviz.core.errors import ArgumentError, ModelError, UnsupportedModelError, described, failing_as
from attnviz.core.weights import Kind, WeightStore
from attnviz.models import device, edit
from attnviz.models.base import Architecture, ModelCard
from attnviz.models.hub import attention_readers
from attnviz.models.hub.attention_readers import Reader, Stacks, are_weights_of, quiet_options, reader_for, same_states, takes
from attnviz.models.hub.checkpoint import BUILDING
from attnviz.models.hub.hub_model import TracedModel, body_of, check_pieces, n_pieces, n_written_pieces, start_of, writes
from attnviz.models.hub.single_stack import HubAnswerer, StackModel
from attnviz.text.tokens import encode

PROBE = "One word follows another."
TASKS: dict[Architecture, str] = {
    "encoder": "reads a text, every token seeing every other",
    "decoder": "continues a text, every token seeing those before it",
    "encoder-decoder": "reads a text and writes another",
}
# French as models of many languages mark it.
FRENCH = ("fr", "fra_Latn", "fr_XX")
# As NLLB marks languages, each with its script.
_LANGUAGE = re.compile(r"[a-z]{3}_[A-Z][a-z]{3}")
# As a share of the model's pieces, the most that its tokenizer may have, and the fewest that need no word.
MOST_NAMED, FEWEST_NAMED = 1.05, 0.75
# Under which names a trainer, or another class, holds the model that it is about.
_HOLDERS = ("model", "module", "auto_model", "transformers_model", "base_model")
# Of one without the layer that names what it writes.
BARE: dict[Architecture, str] = {"encoder-decoder": "reads a text with an encoder and with a decoder"}


@dataclass(frozen=True)
class Facts:
    """What is known about a model besides what it is."""

    name: str
    task: str = ""
    revision: str = ""
    licence: str = ""
    languages: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    weights: str = ""


def build(model: Any, tokenizer: Any, facts: Facts, target_tokenizer: Any = None) -> TracedModel:
    """Build an `AttentionModel` around a Hugging Face model that belongs to nobody else.

    `target_tokenizer` names the pieces that a decoder has of its own.

    Raises:
        UnsupportedModelError: its attention cannot be shown, or its tokenizer reads no text.
        ModelError: model and tokenizer do not fit together.
    """
    sentence = f"The files of {facts.name} do not fit together; get them again, or choose another model."
    with failing_as(ModelError, sentence), device.own_types():
        return _build(model, tokenizer, facts, target_tokenizer)


def _build(model: Any, tokenizer: Any, facts: Facts, target_tokenizer: Any) -> TracedModel:
    model.eval()
    device.guard_lookups(model)
    _fuse_activations(model)
    if model.config.is_encoder_decoder and start_of(model) is None:
        raise UnsupportedModelError(f"{facts.name} does not say with which token it starts to write; choose another model.")
    _check_named_pieces(facts.name, model)
    _check_vocabularies(facts.name, n_pieces(model), tokenizer)
    if target_tokenizer is not None:
        _check_vocabularies(f"the decoder of {facts.name}", n_written_pieces(model), target_tokenizer)
    elif model.config.is_encoder_decoder:
        _check_shared_pieces(facts.name, model, tokenizer)
    attention_readers.set_whole_attention(model)
    body = body_of(model)
    # The inputs that a forward pass takes, and hands to the layers below a model's top.
    accepts = frozenset(name for name in inspect.signature(model.forward).parameters if takes(body, name))
    probe = _probe(model, tokenizer, accepts)
    reader, states, stacks = _read(facts.name, model, body, probe)
    _check_shapes(facts.name, stacks, probe)
    if model is not body and "global_attention_mask" in accepts:
        _check_top(facts.name, model, body, probe, states)
    architecture: Architecture = (
        "encoder-decoder" if model.config.is_encoder_decoder else "decoder" if stacks["encoder"].causal else "encoder"
    )
    own: dict[str, Kind] = {"encoder": "decoder" if architecture == "decoder" else "encoder"}
    named = {own.get(kind, kind): stack for kind, stack in stacks.items()}
    shared: dict[str, Any] = {
        "model": model,
        "tokenizer": tokenizer,
        "target_tokenizer": target_tokenizer,
        "reader": reader,
        "accepts": accepts,
        "sizes": {kind: (each.store.n_layers, each.store.n_heads) for kind, each in named.items()},
        "attending": {kind: each.attending for kind, each in named.items() if len(each.attending) < each.store.n_layers},
    }
    writing = _writing(facts.name, model, tokenizer) if writes(model) else {}
    languages = (tokenizer.src_lang, writing["language"]) if "language" in writing else ()
    facts = replace(facts, languages=facts.languages or languages, writes=tuple(writing.get("languages", ())))
    card = _card(model, tokenizer, facts, architecture, stacks["encoder"].store)
    if architecture == "encoder-decoder":
        from attnviz.models.hub.seq2seq import ReadingPair, WritingModel

        return WritingModel(card, **shared, **writing) if writes(model) else ReadingPair(card, **shared)
    if architecture == "decoder" and "ForSequenceClassification" in type(model).__name__:
        # A label is read at the last token of a text, in a batch too: no token stands for padding.
        model.config.get_text_config().pad_token_id = -1
    if reader.records:
        # Others may lay a batch out in a way of their own.
        edit.prepare(body, card.n_layers)
    if architecture == "encoder" and "pair" in card.reads and "ForQuestionAnswering" in type(model).__name__:
        return HubAnswerer(replace(card, reads=(*card.reads, "question")), **shared)
    return StackModel(card, **shared)


def _check_named_pieces(name: str, model: Any) -> None:
    """Stops at a model whose settings name pieces that it does not have.

    Raises:
        ModelError: they do; the message says which.
    """
    if not model.config.is_encoder_decoder:
        return
    known, named = n_written_pieces(model), {"decoder_start_token_id": start_of(model)}
    if writes(model):
        settings = ("forced_bos_token_id", "forced_eos_token_id", "bos_token_id", "eos_token_id", "pad_token_id")
        named |= {setting: getattr(model.generation_config, setting, None) for setting in settings}
    for setting, pieces in named.items():
        for piece in pieces if isinstance(pieces, list) else [pieces]:
            if known is not None and piece is not None and not 0 <= piece < known:
                raise ModelError(
                    f"The settings of {name} name piece number {piece} as its {setting}, and its decoder has {known:,} pieces "
                    "only; correct its generation_config.json, or choose another model."
                )


def _read(name: str, model: Any, body: Any, probe: dict[str, Tensor]) -> tuple[Reader, Tensor, Stacks]:
    """Find a reader, and read the probe. A model under another attention than "eager" is held against itself as it came, and
    against one that is built anew under "eager" around the same weights.

    Raises:
        UnsupportedModelError: no attention shows, or it is another one than the model computes with.
    """
    given = getattr(model.config, "_attn_implementation", None) or "eager"
    if given == "eager":
        reader = reader_for(body, probe)
        return reader, *reader.read(probe)
    sentence = (
        f'{name} attends otherwise under "{given}", as it was loaded, than under "eager", in which attention shows: load it '
        'with attn_implementation="eager".'
    )
    try:
        with failing_as(UnsupportedModelError, sentence), torch.inference_mode():
            own = body(**probe, **quiet_options(body))[0]
    except UnsupportedModelError:
        use_eager(model)
        reader_for(body, probe)  # where it fails under "eager", too, this says why
        raise
    use_eager(model)
    reader = reader_for(body, probe)
    states, stacks = reader.read(probe)
    if not same_states(own, states):
        raise UnsupportedModelError(sentence)
    if (anew := built_anew(model)) is not None:
        use_eager(anew)
        if not are_weights_of(body_of(anew), probe, stacks):
            raise UnsupportedModelError(sentence)
    return reader, states, stacks


def use_eager(model: Any) -> None:
    """Let a model compute attention step by step, also where transformers cannot switch it: such a one reads its config."""
    if model._can_set_attn_implementation():
        model.set_attn_implementation("eager")
    for config in {id(each): each for module in model.modules() if (each := getattr(module, "config", None))}.values():
        config._attn_implementation = "eager"


def built_anew(model: Any) -> Any | None:
    """Build the model of its config under "eager", around the very same tensors; None where modules were changed."""
    try:
        with BUILDING, torch.device("meta"):
            anew = type(model)._from_config(copy.deepcopy(model.config), attn_implementation="eager").eval()
    except Exception:  # whatever its authors' code raises: then nothing is known of it beside the model itself
        return None
    given, modules = dict(model.named_modules()), dict(anew.named_modules())
    if given.keys() != modules.keys():
        return None
    for name, module in modules.items():
        for tensors, others in ((module._parameters, given[name]._parameters), (module._buffers, given[name]._buffers)):
            if tensors.keys() != others.keys():
                return None
            tensors.update(others)
    return anew


def _fuse_activations(model: nn.Module) -> None:
    """Let PyTorch compute GELU's approximation by tanh (GPT-2 and others), which takes the models' own code six steps."""
    for module in model.modules():
        for name, child in module.named_children():
            if isinstance(child, NewGELUActivation | FastGELUActivation):
                setattr(module, name, nn.GELU(approximate="tanh"))


def _card(model: Any, tokenizer: Any, facts: Facts, architecture: Architecture, store: WeightStore) -> ModelCard:
    return ModelCard(
        name=facts.name,
        task=facts.task or _task(model, tokenizer, architecture, facts),
        architecture=architecture,
        n_layers=store.n_layers,
        n_heads=store.n_heads,
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        max_tokens=max_tokens(model, tokenizer),
        device=str(model.device),
        revision=facts.revision,
        reads=(*_reads(model, tokenizer, architecture), *(["language"] if facts.writes else [])),
        languages=facts.languages,
        writes=facts.writes,
        licence=facts.licence,
        sources=facts.sources,
        weights=_weights(model, facts),
    )


def _weights(model: Any, facts: Facts) -> str:
    """Say in which format weights were read, and in which type they are where that is not float32."""
    dtype = str(model.dtype).removeprefix("torch.")
    return facts.weights if dtype == "float32" else ", ".join(filter(None, (f"{dtype} weights", facts.weights)))


def _task(model: Any, tokenizer: Any, architecture: Architecture, facts: Facts) -> str:
    """Say what a model does; also where its tokenizer leaves a part of its pieces without a name, which may be another's."""
    task = (TASKS if writes(model) else TASKS | BARE)[architecture]
    if facts.writes:
        task = f"reads a text in {facts.languages[0]} and writes another in {facts.languages[1]}"
    known, named = n_pieces(model), len(tokenizer)
    if known is None or named > known * FEWEST_NAMED:
        return task
    return f"{task}; its tokenizer has {named:,} pieces and the model {known:,}: see that they belong together"


def wrapped(model: Any, tokenizer: Any = None, target_tokenizer: Any = None) -> TracedModel:
    """Traces a twin of the model: it shares every weight, so training shows, but has modules and settings of its own.

    What others put around a model is taken off: peft's adapters are added to copies of the weights that they change, so their
    further training does not show. The tokenizer has a twin, too, which reads a text that is too long from its beginning,
    whatever the one in hand does. A pipeline of transformers brings its own. Where a decoder has pieces of its own, such as
    GPT-2's behind BERT, `target_tokenizer` names them.

    Raises:
        ArgumentError: this is no Hugging Face model, or no tokenizer.
        UnsupportedModelError: its attention cannot be shown.
    """
    if isinstance(model, Pipeline):
        model, tokenizer = model.model, tokenizer or model.tokenizer
    model = _inside(model)
    if not isinstance(model, PreTrainedModel):
        held = next((name for name in _HOLDERS if isinstance(getattr(model, name, None), nn.Module)), "")
        raise ArgumentError(
            f"wrap takes a Hugging Face model and its tokenizer, not {described(model)}; "
            + (f"give it the one in its .{held}." if held else "build maps of other models with from_weights.")
        )
    for each in (tokenizer, target_tokenizer):
        if not isinstance(each, PreTrainedTokenizerBase) and (each is tokenizer or each is not None):
            raise ArgumentError(
                f"wrap takes the model's tokenizer beside it, such as AutoTokenizer gives, not {described(each)}."
            )
    if target_tokenizer is not None and not model.config.is_encoder_decoder:
        raise ArgumentError(
            "A target_tokenizer is that of a decoder behind an encoder, and this model has one stack: leave it out."
        )
    copied, *words = twin(model), copy.deepcopy(tokenizer), copy.deepcopy(target_tokenizer)
    for each in words:
        if each is not None:
            each.truncation_side = "right"
    return build(copied, words[0], Facts(name=model.config.name_or_path or type(model).__name__), words[1])


def _copied(traced: TracedModel, memo: dict[int, Any]) -> TracedModel:
    """Copy every weight. How attention shows is found anew, for it is known by the very modules."""
    model, tokenizer, target_tokenizer = copy.deepcopy((traced.model, traced.tokenizer, traced.target_tokenizer), memo)
    return replace(build(twin(model), tokenizer, Facts(traced.card.name), target_tokenizer), card=traced.card)


TracedModel.__deepcopy__ = _copied


def _inside(model: Any) -> Any:
    """Take off what torch.compile, parallel training and peft put around a model.

    Raises:
        UnsupportedModelError: an adapter of peft's puts tokens before the text, which no map would show.
    """
    while isinstance(model, nn.Module) and not isinstance(model, PreTrainedModel):
        if (config := getattr(model, "active_peft_config", None)) is not None:
            if config.is_prompt_learning:
                raise UnsupportedModelError(
                    f"The adapter of this model puts {config.num_virtual_tokens} learned vectors before every text "
                    f"({config.peft_type}), which no map shows; wrap the model below it, without the adapter."
                )
            peft_model: Any = model
            model = peft_model.get_base_model()
        elif isinstance(model, nn.DataParallel | nn.parallel.DistributedDataParallel):
            model = model.module
        elif isinstance(compiled := getattr(model, "_orig_mod", None), nn.Module):
            model = compiled
        else:
            break
    return model


def twin(model: Any) -> Any:
    """Copy the modules around the very same tensors: no weight is copied, and neither model sees the other's settings.

    Only where an adapter of peft's changes weights, W + scale · B A of Hu et al. 2021, the changed ones are its own. Nothing
    of it is compiled, for compiled code does not say where it attends.
    """
    adapted = [each for each in model.modules() if _is_adapted(each)]
    own = {id(tensor) for layer in adapted for tensor in (*layer.parameters(), *layer.buffers())}
    tensors = [*model.parameters(), *model.buffers()]
    copied = copy.deepcopy(model, {id(tensor): tensor for tensor in tensors if id(tensor) not in own})
    for name, module in reversed(list(copied.named_modules())):
        forward = vars(module).get("forward")
        if hasattr(forward, "_torchdynamo_orig_callable"):
            del module.forward
        while isinstance(forward, partial) and forward.func.__module__.startswith("attnviz."):
            # A model that attnviz traces already: what looks into its passes, and edits them, is put around it anew.
            module.forward = forward = forward.args[-1]
        if _is_adapted(module):
            module.merge(safe_merge=True)
            copied.set_submodule(name, module.get_base_layer())
        elif isinstance(inner := module._modules.get("_orig_mod"), nn.Module):
            copied.set_submodule(name, inner)
    return copied


def _is_adapted(module: Any) -> bool:
    """Say whether a module is a layer that peft has put around another."""
    layers = sys.modules.get("peft.tuners.tuners_utils")
    return layers is not None and isinstance(module, layers.BaseTunerLayer)


def max_tokens(model: Any, tokenizer: Any) -> int:
    """Return how many tokens the model reads at once: what its tokenizer, its positions and ATTNVIZ_MAX_TOKENS allow."""
    limits = [settings.limit("ATTNVIZ_MAX_TOKENS"), tokenizer.model_max_length]
    config = model.config.get_text_config()
    # Where encoder and decoder have each their own, the least of both: LED reads 16,384 tokens and writes 1,024.
    names = ("max_position_embeddings", "n_positions", "max_encoder_position_embeddings", "max_decoder_position_embeddings")
    limits += [size for name in names if isinstance(size := getattr(config, name, None), int)]
    for name, module in model.named_modules():
        # RoBERTa and its kin count positions from after the padding index: 514 rows are 512 tokens.
        if isinstance(module, nn.Embedding) and "position" in name.rsplit(".", 1)[-1] and module.padding_idx is not None:
            limits.append(module.num_embeddings - module.padding_idx - 1)
    if getattr(config, "attention_type", "") == "block_sparse":
        # From so many tokens on BigBird attends in blocks, of which there is no map.
        limits.append((5 + 2 * config.num_random_blocks) * config.block_size)
    return min(limit for limit in limits if limit > 0)


def _probe(model: Any, tokenizer: Any, accepts: frozenset[str]) -> dict[str, Tensor]:
    if "input_ids" not in accepts:
        raise UnsupportedModelError(f"{model.config.model_type} does not read text; choose a language model.")
    encoded = encode(tokenizer, [PROBE], limit=16)
    check_pieces(n_pieces(model), encoded.inputs["input_ids"])
    inputs = {name: torch.tensor([ids], device=model.device) for name, ids in encoded.inputs.items() if name in accepts}
    if model.config.is_encoder_decoder:
        if "decoder_input_ids" not in accepts:
            raise UnsupportedModelError(
                f"The decoder of a {model.config.model_type} model reads no text; choose another model."
            )
        # One token fewer than the source has: equal lengths would hide a mistaken axis.
        # Any piece will do: a decoder may have fewer than the encoder.
        most = n_written_pieces(model)
        inputs["decoder_input_ids"] = inputs["input_ids"][:, 1:].clamp(max=None if most is None else most - 1, min=0)
    return inputs


def _check_shapes(name: str, stacks: Stacks, probe: dict[str, Tensor]) -> None:
    """Hold the attention against the tokens that were read; one column more is a sink."""
    if "encoder" not in stacks:
        raise UnsupportedModelError(f"The encoder of {name} attends in blocks, which cannot be shown; choose another model.")
    n_source = probe["input_ids"].shape[1]
    n_written = probe.get("decoder_input_ids", probe["input_ids"]).shape[1]
    sizes = {"encoder": (n_source, n_source), "decoder": (n_written, n_written), "cross": (n_written, n_source)}
    for kind, stack in stacks.items():
        n_queries, n_keys = stack.store.shape
        if n_queries != sizes[kind][0] or n_keys - sizes[kind][1] not in (0, 1):
            raise UnsupportedModelError(
                f"In the {kind} attention of {name}, {n_queries} queries look at {n_keys} keys where it reads {sizes[kind][0]} "
                f"and {sizes[kind][1]} tokens, which cannot be shown; choose another model."
            )


def _check_top(name: str, model: Any, body: Any, probe: dict[str, Tensor], states: Tensor) -> None:
    """Hold what the layers give alone against what they give below the top of the model."""
    given: list[Tensor] = []
    sentence = f"{name} gives some tokens global attention, which is not shown yet; wrap the layers below its top, without it."
    hook = body.register_forward_hook(lambda *call: given.append(call[2][0]))
    try:
        with failing_as(UnsupportedModelError, sentence), torch.inference_mode():
            model(**probe)
    finally:
        hook.remove()
    if len(given) != 1 or not same_states(given[0], states):
        raise UnsupportedModelError(sentence)


def _reads(model: Any, tokenizer: Any, architecture: Architecture) -> tuple[str, ...]:
    if architecture == "encoder-decoder" and (writes(model) or model.base_model is model):
        return ("target",)
    # A tokenizer that sets pairs apart adds more special tokens to a pair than to a single text.
    apart = tokenizer.num_special_tokens_to_add(pair=True) > tokenizer.num_special_tokens_to_add(pair=False)
    return ("pair",) if architecture != "decoder" and apart else ()


def _check_vocabularies(name: str, known: int | None, tokenizer: Any) -> None:
    """Stops at a tokenizer that is another model's: some of its pieces would be read as others, and named so.

    Raises:
        ModelError: it has far more pieces than the model, which has so many.
    """
    # A few more may have been added, such as one for padding.
    if known is not None and tokenizer.vocab_size > known * MOST_NAMED:
        raise ModelError(
            f"The tokenizer has {tokenizer.vocab_size:,} pieces and {name} has {known:,}, so they do not belong together: take "
            "the tokenizer that the model was trained with."
        )


def _check_shared_pieces(name: str, model: Any, tokenizer: Any) -> None:
    """Stops where one tokenizer would name the pieces of two vocabularies: those of one side would have wrong names.

    Raises:
        ModelError: encoder and decoder do not have the same pieces, and the tokenizer knows those of one side alone.
    """
    read, written = n_pieces(model), n_pieces(model.get_decoder())
    if read is None or written is None or getattr(tokenizer, "separate_vocabs", False) or hasattr(tokenizer, "tgt_vocab_size"):
        return
    kinds = {getattr(getattr(model.config, side, None), "model_type", "") for side in ("encoder", "decoder")}
    if max(read, written) > min(read, written) * MOST_NAMED or (read != written and len(kinds) > 1):
        raise ModelError(
            f"The encoder of {name} reads {read:,} pieces and its decoder {written:,} others, which this tokenizer cannot "
            "name: give the decoder's tokenizer, too, as wrap(model, tokenizer, target_tokenizer)."
        )


def _writing(name: str, model: Any, tokenizer: Any) -> dict[str, Any]:
    """Collect what writing needs besides the text: a cache that fits, and of many languages all, and the one to write.

    That is the language of the tokenizer's `tgt_lang`, else the one that the model's authors force, else French.

    Raises:
        ModelError: the tokenizer has no mark for the language that it names.
    """
    depths = {getattr(model.config, name, None) for name in ("num_layers", "num_decoder_layers")} - {None}
    # transformers gives T5's decoder a cache as deep as its encoder.
    options: dict[str, Any] = {"writing": {"use_cache": False}} if len(depths) > 1 else {}
    marks = _language_pieces(tokenizer)
    known = {mark: piece for mark, piece in marks.items() if piece < (n_written_pieces(model) or piece + 1)}
    if not known:
        return options
    start = start_of(model)
    starts_with_language = start in marks.values()
    forced = start if starts_with_language else getattr(model.generation_config, "forced_bos_token_id", None)
    named = next((mark for mark, piece in known.items() if piece == forced), None)
    language = tokenizer.tgt_lang or named or next((mark for mark in FRENCH if mark in known), None)
    if not language:
        return options
    if language not in known:
        raise ModelError(
            f"The tokenizer of {name} is to write {language}, for which it has no piece; set its tgt_lang to one of "
            f"its language marks, such as {', '.join(list(known)[:3])}."
        )
    return options | {"languages": known, "language": language, "starts_with_language": starts_with_language}


def _language_pieces(tokenizer: Any) -> dict[str, int]:
    """Find the pieces that stand for languages, by their marks, such as fra_Latn, fr_XX, or fr of M2M-100."""
    if not hasattr(tokenizer, "tgt_lang"):
        return {}
    if known := getattr(tokenizer, "lang_code_to_id", None):
        return dict(known)
    return {mark: tokenizer.convert_tokens_to_ids(mark) for mark in tokenizer.all_special_tokens if _LANGUAGE.fullmatch(mark)}
