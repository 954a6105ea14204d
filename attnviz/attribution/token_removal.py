"""Mask words and run the model again: the cost of leaving one out, how faithful methods are, and the report of one text."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float

from attnviz.analysis.matters.faithfulness import (
    AttributionReport,
    Faithfulness,
    MaskedOutput,
    Removals,
    by_word,
    counts_of,
    curve_points,
    kendall_tau,
    most_important_first,
    removed_tokens,
)
from attnviz.analysis.matters.word_removal import WordRemovals
from attnviz.attribution.methods import Method, method_named
from attnviz.core.cancellation import cancellation_point
from attnviz.core.errors import ModelError, TraceError
from attnviz.core.shares import Shares
from attnviz.core.trace import Prompt, Token
from attnviz.models.base import AttentionModel, Progress, silent
from attnviz.models.capabilities import bind_target, capabilities
from attnviz.models.targets import BoundTarget, Target

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


def faithfulness(bound: BoundTarget, made: MethodShares) -> dict[str, Faithfulness]:
    """Measure how faithful each method is on this text; τ where leaving one word out is among them.

    Raises:
        ModelError: there is no word that can be masked.
    """
    groups = removable_words(bound)
    values_of = {name: by_word(each.values, groups) for name, each in made.shares.items()}
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
        figures[name] = Faithfulness(lost, lost_alone, tau, made.milliseconds[name])
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
    prompt: Prompt,
    target: str,
    names: Sequence[str],
    progress: Progress = silent,
) -> AttributionReport:
    """Compute shares by the methods of these names, and mask words to test each; `target` as in `attribute`.

    Raises:
        ModelError: the model has no such output, or no word can be removed.
        PromptError: it cannot read the prompt.
    """
    stage = ""

    def begin(title: str) -> None:
        nonlocal stage
        stage = title
        progress(stage, 0.0)

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
    texts = tuple("".join(bound.tokens[place].text for place in group) for group in groups)
    return AttributionReport(bound.target, probability, texts, own, shares, figures, made.refused, offered, bound.part)


def deletion(model: AttentionModel, prompt: Prompt, target: str, ranked: Sequence[int]) -> Removals:
    """Measure p(output) while words are masked in the order `ranked` (places in `AttributionReport.words`), and in reverse.

    Raises:
        ModelError: the model has no such output.
        PromptError: it cannot read the prompt.
    """
    bound = bind_target(model, prompt, target)
    return deletion_curve(bound, _groups(bound), ranked)


def word_removals(model: AttentionModel, prompt: Prompt, target: str = "", progress: Progress = silent) -> WordRemovals:
    """Run the model again without each word, one word at a time, masked as in `without_words`.

    Raises:
        ModelError: the model has no such output, or no word can be removed.
        PromptError: it cannot read the prompt.
    """
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
    """What the model says without some tokens; None where its output is no text."""
    ids = torch.where(torch.tensor(removed, device=bound.ids.device), bound.baseline_id, bound.ids)
    with torch.no_grad():
        return output_text(ids[None]) if output_text else None


def without_words(model: AttentionModel, prompt: Prompt, target: str, removed: Sequence[int]) -> MaskedOutput:
    """Run the model again with some words masked, named by their places in `AttributionReport.words`.

    Raises:
        ModelError: the model has no such output.
        PromptError: it cannot read the prompt.
    """
    bound = bind_target(model, prompt, target)
    groups = _groups(bound)
    masked = np.zeros(len(bound.tokens), dtype=bool)
    for place in removed:
        if place < len(groups) and bound.fixed.isdisjoint(groups[place]):
            masked[list(groups[place])] = True
    _, logs = outcomes(bound, masked[None])
    return MaskedOutput(float(np.exp(logs[0])), _text(bound, None if prompt.target else bound.output_text, masked))


def _groups(bound: BoundTarget) -> tuple[tuple[int, ...], ...]:
    """Group the typed tokens into words, fixed ones too."""
    special = frozenset(place for place, token in enumerate(bound.tokens) if token.special)
    return words(bound.tokens, special)
