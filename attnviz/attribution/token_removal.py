"""Mask words and run the model again: the cost of leaving one out, how faithful methods are, and the report of one text."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from attnviz.analysis.compute import PairShares
from attnviz.analysis.head_view import joined
from attnviz.analysis.matters import (
    AttributionReport,
    Faithfulness,
    MaskedOutput,
    Removals,
    WordRemovals,
    by_word,
    counts_of,
    curve_points,
    kendall_tau,
    most_important_first,
    removed_tokens,
)
from attnviz.analysis.wording import cuts, foreign_notice, join_names, join_notices, unknown_notice
from attnviz.attribution.attention_methods import Mixing, check_layered, recorded, rolled_out
from attnviz.attribution.methods import USUAL, Method, method_named
from attnviz.attribution.recorded_pass import Attention, AttentionTape, Frozen, Stop, curved, same
from attnviz.core.errors import ArgumentError, ModelError, PromptError, TraceError, cancellation_point, described
from attnviz.core.trace import Prompt, Shares, Token
from attnviz.models.base import AttentionModel, Progress, silent
from attnviz.models.capabilities import bind_target, capabilities
from attnviz.models.edit import cosine_distance
from attnviz.models.targets import BoundTarget, Target
from attnviz.nn.attention import Attended

# Tokens that go through a model at once: more are no faster on a processor, and need more memory.
BATCH_TOKENS = 2048
# Of so many words it is computed what the model says without each: those that its output needs most.
STRONGEST = 5


def words(tokens: Sequence[Token], fixed: frozenset[int] = frozenset()) -> tuple[tuple[int, ...], ...]:
    """Group the positions into words; a word with a fixed piece is left out.

    >>> words((Token("un", 0, 2, word=0), Token("do", 2, 4, word=0), Token("it", 5, 7, word=1)))
    ((0, 1), (2,))
    """
    groups: dict[tuple[int, int], list[int]] = {}
    for position, token in enumerate(tokens):
        # A token without a word is one of its own.
        name = (token.segment, token.word) if token.word is not None else (-1, position)
        groups.setdefault(name, []).append(position)
    return tuple(tuple(group) for group in groups.values() if fixed.isdisjoint(group))


def removable_words(bound: BoundTarget) -> tuple[tuple[int, ...], ...]:
    """Group the positions of the words that can be masked.

    Raises:
        ModelError: there is none.
    """
    if groups := words(bound.tokens, bound.fixed):
        return groups
    raise ModelError("There is no word besides the output's own that could be masked: type a longer text.")


def outcomes(bound: BoundTarget, removed: Bool[np.ndarray, "text token"]) -> tuple[Float[np.ndarray, " text"], ...]:
    """Compute the score, and ln p of the target, of texts in which tokens are replaced by the mask token."""
    ids = torch.where(torch.tensor(removed, device=bound.ids.device), bound.baseline_id, bound.ids)
    step = max(1, BATCH_TOKENS // bound.n_positions)
    made = []
    for first in range(0, len(ids), step):
        cancellation_point()
        bound.progress(first / len(ids))
        made.append(bound.outcome(ids[first : first + step]))
    scores, logs = (torch.cat([getattr(each, name) for each in made]) for name in ("score", "log_probability"))
    return scores.double().cpu().numpy(), logs.double().cpu().numpy()


def leave_one_out(bound: BoundTarget) -> np.ndarray:
    """Compute how far the score falls without each word, in equal parts for its pieces (Li et al. 2016, arXiv:1612.08220)."""
    groups = words(bound.tokens, bound.fixed)
    removed = np.zeros((len(groups) + 1, len(bound.tokens)), dtype=bool)
    for row, group in enumerate(groups, 1):
        removed[row, list(group)] = True
    scores, _ = outcomes(bound, removed)
    shares = np.zeros(len(bound.tokens))
    for group, score in zip(groups, scores[1:], strict=True):
        shares[list(group)] = (scores[0] - score) / len(group)
    return shares


def random_shares(bound: BoundTarget) -> np.ndarray:
    """Draw numbers at random, always the same for the same tokens: what every method has to beat."""
    return np.random.default_rng(bound.ids.cpu().numpy()).random(len(bound.tokens))


@dataclass(frozen=True, eq=False)
class MethodShares:
    """The shares of one text by several methods, and how long each took; `refused` says why a method does not apply."""

    shares: Mapping[str, Shares]
    milliseconds: Mapping[str, float]
    refused: Mapping[str, str]


def shares_by_method(
    bound: BoundTarget, methods: Sequence[Method], begin: Callable[[Method], None] = lambda _: None
) -> MethodShares:
    """Compute shares by several methods, calling `begin` before each."""
    shares: dict[str, Shares] = {}
    refused: dict[str, str] = {}
    took: dict[str, float] = {}
    for method in methods:
        begin(method)
        started = time.perf_counter()
        try:
            shares[method.name] = method.compute(bound)
        except (ModelError, TraceError) as error:
            refused[method.name] = str(error)
        took[method.name] = (time.perf_counter() - started) * 1000
    return MethodShares(shares, took, refused)


def faithfulness(bound: BoundTarget, method_shares: MethodShares) -> dict[str, Faithfulness]:
    """Measure how faithful each method is on this text; τ where leaving one word out is among them.

    Raises:
        ModelError: there is no word that can be masked.
    """
    groups = removable_words(bound)
    values_of = {name: by_word(each.values, groups) for name, each in method_shares.shares.items()}
    counts = counts_of(len(groups))
    rows = [np.zeros((1, len(bound.tokens)), dtype=bool)]
    for values in values_of.values():
        rows += removed_tokens(most_important_first(values), groups, len(bound.tokens), counts)
    probabilities = _probabilities(bound, np.concatenate(rows))
    full, by_method = float(probabilities[0]), probabilities[1:].reshape(len(values_of), 2, len(counts))
    left_out, figures = values_of.get("leave-one-out"), {}
    for (name, values), (without, alone) in zip(values_of.items(), by_method, strict=True):
        tau = None if left_out is None else kendall_tau(values, left_out)
        lost, lost_alone = full - float(without.mean()), full - float(alone.mean())
        figures[name] = Faithfulness(lost, lost_alone, tau, method_shares.milliseconds[name])
    return figures


def deletion_curve(bound: BoundTarget, groups: Sequence[tuple[int, ...]], ranked: Sequence[int]) -> Removals:
    """Measure p(output) while words are masked in the order of `ranked`, their places in `groups`, and in the reverse order."""
    places = np.array(ranked, dtype=int)
    gone = curve_points(len(places))
    most, _ = removed_tokens(places, groups, len(bound.tokens), gone)
    least, _ = removed_tokens(places[::-1], groups, len(bound.tokens), gone)
    most_first, least_first = _probabilities(bound, np.concatenate([most, least])).reshape(2, -1).tolist()
    return Removals(tuple(gone), tuple(most_first), tuple(least_first))


def _probabilities(bound: BoundTarget, removed: Bool[np.ndarray, "text token"]) -> Float[np.ndarray, " text"]:
    """Compute p(output) of each text; equal texts are read once."""
    texts, places = np.unique(removed, axis=0, return_inverse=True)
    return np.exp(outcomes(bound, texts)[1])[places.ravel()]


def attribution_report(
    model: AttentionModel,
    prompt: Prompt | str,
    target: str = "",
    names: Sequence[str] = tuple(method.name for method in USUAL),
    progress: Progress = silent,
) -> AttributionReport:
    """Compute shares by the methods of these names, and mask words to test each; `target` as in `attribute`.

    names  where they are not given, all methods but the two slowest

    Raises:
        ArgumentError: the names are no list.
        ModelError: the model has no such output, or no word can be removed.
        PromptError: it cannot read the prompt.
    """
    stage = ""

    def begin(title: str) -> None:
        nonlocal stage
        stage = title
        progress(stage, 0.0)

    if isinstance(names, str) or not isinstance(names, Sequence):
        raise ArgumentError(f"This takes a list of the names of methods, such as ['rollout'], not {described(names)}.")
    prompt = Prompt.of(prompt)
    # The first is the default: on a long text, a second search for it took a fifth of the time.
    offered = capabilities(model).targets(prompt)
    bound = replace(bind_target(model, prompt, target or next(iter(offered))), progress=lambda share: progress(stage, share))
    removable_words(bound)
    made = shares_by_method(bound, [method_named(name) for name in names], lambda each: begin(f"Running “{each.title}”"))
    groups = _groups(bound)
    shares = {name: by_word(each.values, groups) for name, each in made.shares.items()}
    begin(f"Testing {len(made.shares)} methods by masking words")
    figures = faithfulness(bound, made)
    probability = float(bound.outcome(bound.ids[None]).log_probability.exp())
    own = frozenset(place for place, group in enumerate(groups) if not bound.fixed.isdisjoint(group))
    texts = tuple(joined([bound.tokens[place] for place in group]).text for group in groups)
    part = _part(model, prompt, bound)
    return AttributionReport(bound.target, probability, texts, own, shares, figures, made.refused, offered, part)


def _part(model: AttentionModel, prompt: Prompt, bound: BoundTarget) -> str:
    """Say which part of its texts a model has read, and what it does not know of it; nothing where it is all."""
    own = (token for place, token in enumerate(bound.tokens) if place not in bound.fixed)
    said = [*foreign_notice(prompt, model.card.languages), *unknown_notice(own)]
    if bound.part:
        part = f"This passage is read in overlapping windows. What is explained is {bound.part}."
    # Only of as many tokens as it reads can some be missing.
    elif missing := cuts(model.trace(prompt)) if len(bound.tokens) >= model.card.max_tokens else []:
        part = f"{model.card.name} reads {model.card.max_tokens:,} tokens at most: {join_names(missing)}."
    else:
        part = ""
    return " ".join(filter(None, (part, *join_notices([(model.card.name, said)]))))


def deletion(model: AttentionModel, prompt: Prompt, target: str, ranked: Sequence[int]) -> Removals:
    """Measure p(output) while words are masked in the order `ranked` (places in `AttributionReport.words`), and in reverse.

    Raises:
        ModelError: the model has no such output.
        PromptError: it cannot read the prompt.
    """
    bound = bind_target(model, prompt, target)
    return deletion_curve(bound, _groups(bound), ranked)


def word_removals(model: AttentionModel, prompt: Prompt | str, target: str = "", progress: Progress = silent) -> WordRemovals:
    """Run the model again without each word, one word at a time, masked as in `without_words`.

    Raises:
        ModelError: the model has no such output, or no word can be removed.
        PromptError: it cannot read the prompt.
    """
    prompt = Prompt.of(prompt)
    name = target or next(iter(capabilities(model).targets(prompt)))
    bound = replace(
        bind_target(model, prompt, name), progress=lambda share: progress("Running the model without each word", share)
    )
    removable_words(bound)
    groups = _groups(bound)
    removed = np.zeros((len(groups) + 1, len(bound.tokens)), dtype=bool)
    for row, group in enumerate(groups):
        removed[row, list(group)] = bound.fixed.isdisjoint(group)
    # The last is the whole text.
    *without, full = np.exp(outcomes(bound, removed)[1])
    places = sorted((place for place in range(len(groups)) if removed[place].any()), key=without.__getitem__)[:STRONGEST]
    # A translation that was typed is no output of the model's.
    output_text = None if prompt.target else bound.output_text
    texts = [_text(bound, output_text, removed[row]) for row in (*places, len(groups))]
    segments = tuple(bound.tokens[group[0]].segment for group in groups)
    before = MaskedOutput(float(full), texts.pop())
    return WordRemovals(Target.of(name).kind, before, np.array(without), tuple(places), tuple(texts), segments)


def _text(
    bound: BoundTarget, output_text: Callable[[torch.Tensor], str] | None, removed: Bool[np.ndarray, " token"]
) -> str | None:
    """Return what the model says without some tokens; None where its output is no text."""
    ids = torch.where(torch.tensor(removed, device=bound.ids.device), bound.baseline_id, bound.ids)
    with torch.no_grad():
        return output_text(ids[None]) if output_text else None


def without_words(model: AttentionModel, prompt: Prompt | str, target: str, removed: Sequence[int]) -> MaskedOutput:
    """Run the model again with some words masked, named by their places in `AttributionReport.words`.

    Raises:
        ModelError: the model has no such output.
        PromptError: it cannot read the prompt, or the text has no such word.
    """
    prompt = Prompt.of(prompt)
    bound = bind_target(model, prompt, target)
    groups = _groups(bound)
    masked = np.zeros(len(bound.tokens), dtype=bool)
    for place in removed:
        if place not in range(len(groups)):
            last = len(groups) - 1
            raise PromptError(f"The words of this text have the places 0 to {last}: {place!r} is none of them.")
        if bound.fixed.isdisjoint(groups[place]):
            masked[list(groups[place])] = True
    _, logs = outcomes(bound, masked[None])
    return MaskedOutput(float(np.exp(logs[0])), _text(bound, None if prompt.target else bound.output_text, masked))


def _groups(bound: BoundTarget) -> tuple[tuple[int, ...], ...]:
    """Group the typed tokens into words, fixed ones too."""
    special = frozenset(place for place, token in enumerate(bound.tokens) if token.special)
    return words(bound.tokens, special)


MOST_TOKENS = 128


@dataclass(frozen=True)
class Cell:
    """One cell of one head: its row and column among the head's own queries and keys."""

    kind: str
    layer: int
    head: int
    query: int
    key: int


@torch.inference_mode(False)
def why(model: AttentionModel, prompt: Prompt | str, cell: Cell) -> PairShares:
    """Decompose the score of one cell over the tokens that were typed, everything below it held fixed (`Frozen`).

    Raises:
        ModelError: the text is too long, or the queries and keys of this head are not known.
        PromptError: the model cannot read the prompt.
    """
    prompt = Prompt.of(prompt)
    bound = capabilities(model).bind_trace(prompt)
    if len(bound.tokens) > MOST_TOKENS:
        raise ModelError(
            f"A score is decomposed for at most {MOST_TOKENS} tokens, and this text has {len(bound.tokens)}: type less."
        )
    attention: Any = _attended(model, prompt, bound, cell).attention
    width = attention.query.out_features // model.card.n_heads
    own = slice(cell.head * width, (cell.head + 1) * width)
    vectors = bound.embedded()[None].requires_grad_()
    with torch.enable_grad(), Frozen(), _Inputs((attention.query.weight, attention.key.weight)) as inputs:
        bound.outcome_of(vectors)
    sides = []
    for layer, place, read in zip((attention.query, attention.key), (cell.query, cell.key), inputs.read, strict=True):
        if [place < states.shape[1] for states in read] != [True]:
            raise ModelError("This head reads each text on its own, and its scores cannot be decomposed: choose another head.")
        (states,) = read
        with torch.enable_grad():
            (made,) = F.linear(states[:, place], layer.weight[own], layer.bias[own])
        sides.append(_parts(made, vectors))
    values = (attention.scaling or width**-0.5) * sides[0] @ sides[1].T
    return PairShares(bound.tokens, values, float(values.sum()))


def _parts(output: Float[Tensor, " dim"], vectors: Float[Tensor, "one token dim2"]) -> Float[np.ndarray, "giver dim"]:
    """Decompose a vector into what each token contributes, and in the last row the rest."""
    whole = output.detach().double()
    if not output.requires_grad:
        return np.concatenate([np.zeros((vectors.shape[1], len(whole))), whole[None].cpu().numpy()])
    if name := curved(output.sum()):
        raise ModelError(f"This model computes with an operation that cannot be held fixed ({name}): choose another model.")
    columns = []
    for number in output:
        cancellation_point()
        (gradient,) = torch.autograd.grad(number, vectors, retain_graph=True, allow_unused=True)
        # Of a model that can still learn, what a decoder has written itself depends on no token, and yet has a gradient.
        (shares,) = (torch.zeros_like(vectors) if gradient is None else gradient * vectors).sum(dim=-1)
        columns.append(shares)
    given = torch.stack(columns, dim=1).detach().double()
    return torch.cat([given, (whole - given.sum(dim=0))[None]]).cpu().numpy()


@dataclass(eq=False)
class _Inputs(TorchFunctionMode):
    """Record the inputs of some linear layers; GPT-2 multiplies by the matrices of several at once."""

    weights: tuple[Tensor, ...]
    read: tuple[list[Tensor], ...] = field(init=False)

    def __post_init__(self) -> None:
        super().__init__()
        self.read = tuple([] for _ in self.weights)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in (F.linear, torch.addmm):
            states, matrix = args[:2] if func is F.linear else args[1:3]
            for weight, read in zip(self.weights, self.read, strict=True):
                if matrix.data_ptr() <= weight.data_ptr() < matrix.data_ptr() + matrix.nbytes:
                    read.append(states if states.dim() == 3 else states[None])
        return func(*args, **(kwargs or {}))


def _attended(model: AttentionModel, prompt: Prompt, bound: BoundTarget, cell: Cell) -> Attended:
    """Find the module of a head: its W_Q and W_K."""
    kinds = capabilities(model).attended(prompt) if bound.layered else {}
    layers = next((layers for kind, layers in kinds.items() if kind == cell.kind), ())
    if not 0 <= cell.layer < len(layers) or not 0 <= cell.head < model.card.n_heads:
        raise ModelError(
            f"The queries and keys of L{cell.layer}·H{cell.head} of {model.card.name} are not known: choose another head."
        )
    return layers[cell.layer]


# A pass a token and layer: of 400 tokens they would take minutes.


def value_zeroing(bound: BoundTarget) -> np.ndarray:
    """1 − cos(x̃_i, x̃_i without v_j) in each layer, each row summing to 1, followed down from the output (arXiv:2301.12971).

    Raises:
        ModelError: where this model's layers end is not known, or the text is too long.
    """
    if bound.n_positions > MOST_TOKENS:
        raise ModelError(
            f"Value zeroing is computed for at most {MOST_TOKENS} tokens, and this text has {bound.n_positions}: type less."
        )
    check_layered(bound)
    attentions = recorded(bound)
    steps = []
    for index, site in enumerate(bound.sites):
        _check_end(bound, attentions, index)
        n_queries, n_keys = attentions[index].weights.shape[2:]
        changes = np.zeros((n_queries, n_keys))
        size = max(1, BATCH_TOKENS // bound.n_positions)
        for first in range(0, n_keys, size):
            cancellation_point()
            bound.progress((index + first / n_keys) / len(bound.sites))
            keys = range(first, min(first + size, n_keys))
            whole, *others = _states(bound, index, keys).unbind(dim=0)
            for key, other in zip(keys, others, strict=True):
                changes[:, key] = cosine_distance(whole, other).cpu().numpy()
        rows = np.zeros((n_queries, bound.n_positions))
        sums = changes.sum(axis=1, keepdims=True)
        rows[:, site.keys] = np.divide(changes, sums, where=sums > 0, out=np.zeros_like(changes))
        # A position that nothing changes keeps what it is.
        idle = np.flatnonzero(sums[:, 0] <= 0)
        rows[idle, site.queries.start + idle] = 1
        steps.append(Mixing(site, rows))
    return rolled_out(bound, steps)


def _check_end(bound: BoundTarget, attentions: tuple[Attention, ...], index: int) -> None:
    """Check that what is taken for the end of a layer is what enters the next one.

    Raises:
        ModelError: it is not, or the residual connection is not known.
    """
    own, queries = attentions[index], bound.sites[index].queries
    following = zip(attentions[index + 1 :], bound.sites[index + 1 :], strict=True)
    above = next((attention for attention, site in following if site.queries == queries), None)
    if own.residual()[1] is None or own.state is None:
        raise _no_end()
    if above is not None and (above.stream is None or not same(above.stream, own.state)):
        raise _no_end()


def _states(bound: BoundTarget, index: int, keys: range) -> Tensor:
    """Compute the states behind a layer: of the whole text first, then of it without each key's value."""

    def change(place: int, value: Tensor) -> Tensor:
        if place == index:
            value = value.clone()
            for row, key in enumerate(keys, 1):
                value[row, ..., key, :] = 0
        elif place > index:
            raise Stop
        return value

    tape = AttentionTape(change)
    with tape, torch.no_grad(), suppress(Stop):
        bound.run(bound.ids.expand(len(keys) + 1, -1))
    state, mixed = tape.attentions[index].state, tape.attentions[index].mixed
    if state is None or mixed is None:
        raise _no_end()
    return state.reshape(mixed.shape)


def _no_end() -> ModelError:
    return ModelError("Where this model's layers end is not known here: choose another method.")
