"""A pass of an invented model with edits: which call, which rows and which head they change, and what stays to the last bit."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from attnviz.core.edits import NO_EDITS, Edits, HeadPatched
from attnviz.core.errors import EditError
from attnviz.core.weights import Kind
from attnviz.nn.apply_edits import AttentionCall, Intervention, changed, changed_one, current, intervening, running

HEADS, DIM = 3, 2
SIZES: dict[Kind, tuple[int, int]] = {"encoder": (2, HEADS), "decoder": (2, HEADS), "cross": (2, HEADS)}


class Call:
    """One attention as a model computes it."""

    def __init__(self, queries: int, keys: int, *, batch: int = 1, sink: bool = False) -> None:
        dice = torch.Generator().manual_seed(queries * 10 + keys)
        self.scores = torch.randn(batch, HEADS, queries, keys + sink, generator=dice)
        self.value = torch.randn(batch, HEADS, keys, DIM, generator=dice)
        self.weights = self.scores.softmax(dim=-1)

    def made(self, **changes: Any) -> AttentionCall:
        output = self.weights[..., : self.value.shape[2]] @ self.value
        call = AttentionCall(output, lambda some: self.scores[:, some], lambda some: self.value[:, some], self.weights)
        return replace(call, **changes)

    def without(self, head: int, cells: Sequence[tuple[int, int]], text: int | slice = slice(None)) -> torch.Tensor:
        """The weights where some links of a head are cut."""
        scores = self.scores.clone()
        for query, key in cells:
            scores[text, head, query, key] = -torch.inf
        return scores.softmax(dim=-1)


def passes(edits: str | Sequence[str], **options: Any) -> Intervention:
    rows = (edits,) if isinstance(edits, str) else edits
    return Intervention(tuple(map(Edits.parse, rows)), options.pop("sizes", SIZES), options.pop("places", {}), **options)


def holds(call: Call, made: tuple[torch.Tensor, Any], want: torch.Tensor) -> None:
    """Check output and weights; rows whose weights are the same are so to the last bit."""
    output, weights = made
    value = call.value
    torch.testing.assert_close(weights, want)
    torch.testing.assert_close(output, want[..., : value.shape[2]] @ value)
    same = (want == call.weights).all(dim=-1)
    assert torch.equal(output[same], call.made().output[same])
    assert torch.equal(weights[same], call.weights[same])


def test_an_edit_changes_the_call_of_its_layer_in_every_pass() -> None:
    now, call = passes("e1.2c1.3"), Call(4, 5)
    for _ in range(2):
        given = call.made()
        assert now.change("encoder", given) == (given.output, given.weights)
        holds(call, now.change("encoder", call.made()), call.without(2, [(1, 3)]))
        heads, weights = now.changed["encoder", 1]
        assert heads == (2,)
        torch.testing.assert_close(weights, call.without(2, [(1, 3)])[:1, [2]])
        assert now.change("decoder", given)[0] is given.output
    now.change("encoder", call.made())
    now.rows = (NO_EDITS,)
    now._plans = [{}]
    now.change("encoder", call.made())
    assert now.changed == {}


def test_a_head_at_zero_gives_nothing_and_others_stay() -> None:
    now, call = passes("c0.1z,c0.0c2.4"), Call(3, 5)
    want = call.without(0, [(2, 4)])
    want[:, 1] = 0
    holds(call, now.change("cross", call.made()), want)
    heads, weights = now.changed["cross", 0]
    assert set(heads) == {0, 1}
    torch.testing.assert_close(weights, want[:1, list(heads)])
    now = passes("c0.1z")
    output, weights = now.change("cross", call.made(weights=None))
    assert weights is None
    assert not output[:, 1].any()
    assert torch.equal(output[:, 0], call.made().output[:, 0])
    assert now.changed["cross", 0][1].shape == (1, 1, 3, 5)
    assert not now.changed["cross", 0][1].any()


def test_an_edit_that_changes_nothing_is_no_change() -> None:
    call = Call(3, 5)
    weight = float(call.weights[0, 1, 2, 4])
    now = passes(f"e0.1w2.4-{weight!r}")
    output, weights = now.change("encoder", call.made())
    assert torch.equal(output, call.made().output)
    assert torch.equal(weights, call.weights)
    assert now.changed == {}


def test_each_text_of_a_batch_has_its_edits_and_one_for_all_is_of_all() -> None:
    call = Call(3, 4, batch=2)
    now = passes(("e0.0c1.2", "e0.2c0.3"))
    want = call.without(0, [(1, 2)], 0)
    want[1, 2] = call.without(2, [(0, 3)])[1, 2]
    holds(call, now.change("encoder", call.made()), want)
    assert now.changed["encoder", 0][0] == (0,)
    holds(call, passes("e0.0c1.2").change("encoder", call.made()), call.without(0, [(1, 2)]))
    second = passes(("", "e0.2c0.3"))
    holds(call, second.change("encoder", call.made()), call.without(2, [(0, 3)], 1))
    assert second.changed == {}


def test_a_decoder_that_keeps_its_keys_is_edited_where_it_stands_in_its_text() -> None:
    own, across = Call(2, 7), Call(2, 5)
    now = passes("d0.1c6.2,c0.0c5.3,e0.0c0.1")
    # Queries 5 and 6 of seven; across, the same two.
    holds(own, now.change("decoder", own.made()), own.without(1, [(1, 2)]))
    holds(across, now.change("cross", across.made()), across.without(0, [(0, 3)]))
    holds(across, now.change("encoder", across.made()), across.without(0, [(0, 1)]))
    again = passes("d0.1c6.2")
    holds(own, again.change("decoder", own.made(start=6)), own.without(1, [(0, 2)]))


def test_a_text_that_is_read_in_two_has_its_places_in_the_whole() -> None:
    first, second = Call(4, 4), Call(3, 3)
    now = passes("e1.0c5.6,e1.0c1.2", shifts=(0, 4))
    for call, cells in ((first, [(1, 2)]), (second, [(1, 2)])) * 2:
        now.change("encoder", call.made())
        holds(call, now.change("encoder", call.made()), call.without(0, cells))
    across = passes("c0.0c1.2", shifts=(4,))
    holds(first, across.change("cross", first.made()), first.without(0, [(1, 2)]))


@pytest.mark.parametrize(
    ("options", "calls"),
    [
        ({"numbers": {"encoder": (1, 3)}, "sizes": {"encoder": (4, HEADS)}}, 2),
        ({"first": 2, "sizes": {"encoder": (5, HEADS)}}, 2),
        ({"first": 2, "numbers": {"encoder": (0, 2, 3)}, "sizes": {"encoder": (4, HEADS)}}, 2),
        ({"sizes": {"encoder": (4, HEADS)}}, 4),
    ],
)
def test_calls_are_counted_from_the_first_layer_that_attends(options: dict[str, Any], calls: int) -> None:
    now, call = passes("e3.0c1.2", **options), Call(3, 4)
    for _ in range(calls - 1):
        assert torch.equal(now.change("encoder", call.made())[0], call.made().output)
    holds(call, now.change("encoder", call.made()), call.without(0, [(1, 2)]))


def test_where_the_output_are_the_weights_they_are_changed() -> None:
    call = Call(3, 4)
    now = passes("e0.1c2.0")
    output, weights = now.change("encoder", AttentionCall(call.weights, lambda some: call.scores[:, some]))
    torch.testing.assert_close(output, call.without(1, [(2, 0)]))
    assert weights is None


def test_a_sink_takes_no_part_in_an_even_spread() -> None:
    call = Call(3, 4, sink=True)
    output, weights = passes("e0.1u").change("encoder", call.made())
    torch.testing.assert_close(weights[0, 1], torch.tensor([[0.25] * 4 + [0]] * 3))
    torch.testing.assert_close(output[0, 1], call.value[0, 1].mean(dim=0).expand(3, -1))


def test_a_decoder_that_goes_step_by_step_takes_the_mean_over_its_steps() -> None:
    whole, now = Call(4, 5), passes("c0.1m", writes=True, sizes={"cross": (1, HEADS)})
    for _ in range(2):
        for step in range(4):
            part = whole.made()
            scores = whole.scores[:, :, [step]]
            call = replace(
                part, output=part.output[:, :, [step]], scores=lambda some, scores=scores: scores[:, some],
                weights=whole.weights[:, :, [step]], start=step,
            )  # fmt: skip
            _, weights = now.change("cross", call)
            torch.testing.assert_close(weights[0, 1, 0], whole.weights[0, 1, : step + 1].mean(dim=0))
            assert torch.equal(weights[0, [0, 2]], whole.weights[0, [0, 2]][:, [step]])


def test_a_head_is_patched_with_its_own_pattern_of_the_text() -> None:
    call, pattern = Call(3, 3), np.random.default_rng(1).dirichlet(np.ones(3), 3)
    edits = Edits((HeadPatched("encoder", 0, 1, "abc"),))
    now = Intervention(
        (edits,), SIZES, {}, patterns={("encoder", 0, 1, "abc"): pattern, ("encoder", 0, 2, "abc"): pattern[::-1]}
    )
    want = call.weights.clone()
    want[0, 1] = torch.tensor(pattern)
    holds(call, now.change("encoder", call.made()), want)
    # A part of a text that is read in parts has its part of a pattern; a whole text has all of it.
    longer = {("encoder", 0, 1, "abc"): np.eye(5)}
    part = Intervention((edits,), SIZES, {}, patterns=longer, shifts=(2,))
    want[0, 1] = torch.eye(3)
    holds(call, part.change("encoder", call.made()), want)
    with pytest.raises(EditError, match="L0·H1 cannot be patched"):
        Intervention((edits,), SIZES, {}, patterns=longer).change("encoder", call.made())


def test_edits_are_of_one_context_and_of_modules_that_have_a_place() -> None:
    module, call = torch.nn.Identity(), Call(3, 4)
    computed, value = (call.made().output[:, 0], call.weights[:, 0]), call.value[:, 0]

    def one(start: int = 0) -> tuple[Any, Any]:
        return changed_one(module, computed, lambda: call.scores[:, 0], value, start)

    assert (running(), current()) == (None, NO_EDITS)
    assert one() is computed
    now = passes("e0.0c1.2", places={id(module): "encoder"})
    with intervening(now) as inside:
        assert inside is running() is now
        assert current() == Edits.parse("e0.0c1.2")
        given = call.made()
        assert changed(torch.nn.Identity(), given) == (given.output, given.weights)
        holds(call, changed(module, given), call.without(0, [(1, 2)]))
        now.change("encoder", given)
        output, weights = one()
        torch.testing.assert_close(weights, call.without(0, [(1, 2)])[:, 0])
        torch.testing.assert_close(output, weights @ value)
    assert running() is None
