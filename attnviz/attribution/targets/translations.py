"""A translation, or one of its tokens, as something to ask about: what a model that writes is made to write, given a source."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attnviz.attribution.bind import no_such_output
from attnviz.attribution.targets.texts import baseline_id
from attnviz.core.errors import ModelError
from attnviz.core.trace import Prompt
from attnviz.models.base import AttentionModel
from attnviz.models.bound_target import AttentionSite, BoundTarget, Outcome
from attnviz.models.hub.seq2seq import WritingModel
from attnviz.models.task_prefix import TRANSLATE, prefix_for
from attnviz.models.translate.own import TranslationModel
from attnviz.nn.decoding import END, START, greedy
from attnviz.nn.seq2seq import Seq2Seq

# The unknown mark of our own vocabularies: what their models read where they know no word.
UNKNOWN = 3
Logits = Callable[[Int[Tensor, "batch token"], Int[Tensor, "batch step"]], Float[Tensor, "batch step vocabulary"]]


def translation(model: AttentionModel, prompt: Prompt, place: int | None = None) -> BoundTarget:
    """Bind a model to its whole translation, or to `prompt.target`: the mean logit of its tokens; p is their geometric mean.

    Raises:
        ModelError: the model does not write.
        PromptError: nothing in the text can be read, or the target is too long.
    """
    return _written(model, prompt, None)


def token(model: AttentionModel, prompt: Prompt, place: int | None = None) -> BoundTarget:
    """Bind a model to one token of its translation, or of `prompt.target`.

    Raises:
        ModelError: the model does not write, or not so many tokens.
        PromptError: nothing in the text can be read, or the target is too long.
    """
    return _written(model, prompt, place or 0)


def of_pieces(model: AttentionModel, prompt: Prompt, pieces: Sequence[int]) -> BoundTarget:
    """Bind a model to a translation of exactly these pieces, such as one of several that were found.

    Raises:
        ModelError: the model does not write.
        PromptError: nothing in the text can be read.
    """
    return _written(model, prompt, None, pieces)


def _written(model: AttentionModel, prompt: Prompt, step: int | None, pieces: Sequence[int] = ()) -> BoundTarget:
    if isinstance(model, TranslationModel):
        return _own(model, prompt, step, pieces)
    if isinstance(model, WritingModel):
        return _hub(model, prompt, step, pieces)
    raise no_such_output(model, "translation")


def _own(model: TranslationModel, prompt: Prompt, step: int | None, pieces: Sequence[int]) -> BoundTarget:
    ids, tokens, _ = model.read(prompt.text)
    if not pieces:
        pieces = model.forced(prompt.target) if prompt.target else model.translate(prompt.text)[0].pieces
    recurrent = isinstance(model.model, Seq2Seq)
    n_source, n_steps = len(tokens), len(pieces)
    places = _steps(n_source, n_steps) if recurrent else _layers(n_source, n_steps, (model.card.n_layers, model.card.n_layers))
    return BoundTarget(
        **_common(model, pieces, step, START, lambda source, inputs: model.model(source, inputs)[0]),
        tokens=tokens,
        ids=ids[0],
        embedding=model.model.encoder.tokens.weight,
        baseline_id=UNKNOWN,
        fixed=frozenset(),
        readout=_asking(n_source, n_steps, step),
        sites=places,
        n_positions=n_source + n_steps,
        output_text=lambda ids: _translated(model, ids),
        layered=not recurrent,
        unfreezable=(
            "The gates of an LSTM multiply what the words say, and holding attention fixed leaves them as they are: "
            "choose another way of asking."
            if recurrent
            else ""
        ),
    )


def _translated(model: TranslationModel, ids: Int[Tensor, "one token"]) -> str:
    (pieces,) = greedy(model.speaking(ids), 1, model.longest(ids.shape[1]), ids.device)
    return model.target.decode([piece for piece in pieces if piece != END]).strip()


def _hub(model: WritingModel, prompt: Prompt, step: int | None, pieces: Sequence[int]) -> BoundTarget:
    text = prefix_for(model, TRANSLATE) + prompt.text
    source = model.encode([text])
    if not pieces and prompt.target:
        pieces = model.encode([prompt.target], target=True).inputs["input_ids"]
    elif not pieces:
        pieces = model.translate(text)[0].pieces
    given = model.tensors(source)
    others = {name: value for name, value in given.items() if name != "input_ids"}

    def logits(ids: Int[Tensor, "batch token"], inputs: Int[Tensor, "batch step"]) -> Float[Tensor, "batch step vocabulary"]:
        beside = {name: value.expand(len(ids), -1) for name, value in others.items()}
        with model.computing():
            return model.model(input_ids=ids, decoder_input_ids=inputs, use_cache=False, **beside).logits

    config, n_source, n_steps = model.model.config, len(source), len(pieces)
    depths = [
        next(size for name in names if isinstance(size := getattr(config, name, None), int))
        for names in (
            ("encoder_layers", "num_layers", "num_hidden_layers"),
            ("decoder_layers", "num_decoder_layers", "num_layers"),
        )
    ]
    return BoundTarget(
        **_common(model, pieces, step, model.model.generation_config.decoder_start_token_id, logits),
        tokens=source.tokens,
        ids=given["input_ids"][0],
        embedding=model.model.get_input_embeddings().weight,
        baseline_id=baseline_id(model.tokenizer),
        fixed=frozenset(place for place, each in enumerate(source.tokens) if each.special),
        readout=_asking(n_source, n_steps, step),
        sites=_layers(n_source, n_steps, (depths[0], depths[1])),
        n_positions=n_source + n_steps,
    )


def _common(model: Any, pieces: Sequence[int], step: int | None, start: int, logits: Logits) -> dict[str, Any]:
    if step is not None and step >= len(pieces):
        raise ModelError(f"This translation has {len(pieces)} tokens, 0 to {len(pieces) - 1}; there is no token {step}.")
    steps = list(range(len(pieces))) if step is None else [step]

    def run(ids: Int[Tensor, "batch token"]) -> Outcome:
        inputs = torch.tensor([[start, *pieces[:-1]]], device=ids.device).expand(len(ids), -1)
        scores = logits(ids, inputs)[:, steps]
        chosen = torch.tensor([pieces[each] for each in steps], device=ids.device).expand(len(ids), -1)[..., None]
        score, likely = (each.gather(2, chosen)[..., 0].mean(dim=1) for each in (scores, scores.log_softmax(dim=-1)))
        return Outcome(score, likely)

    target = "the translation" if step is None else f"the word piece “{model.names([pieces[step]])[0]}”"
    return {"run": run, "target": target}


def _asking(n_source: int, n_steps: int, step: int | None) -> dict[int, float]:
    """Which rows write what is asked about: a row's step reads one token and writes the next."""
    return {n_source + step: 1.0} if step is not None else {n_source + each: 1 / n_steps for each in range(n_steps)}


def _layers(n_source: int, n_steps: int, depths: tuple[int, int]) -> list[AttentionSite]:
    source, written = slice(0, n_source), slice(n_source, n_source + n_steps)
    places = [AttentionSite(source, source, "encoder", layer) for layer in range(depths[0])]
    for layer in range(depths[1]):
        places += [AttentionSite(written, written, "decoder", layer), AttentionSite(written, source, "cross", layer)]
    return places


def _steps(n_source: int, n_steps: int) -> list[AttentionSite]:
    return [AttentionSite(slice(n_source + at, n_source + at + 1), slice(0, n_source), "cross", 0) for at in range(n_steps)]
