"""What models declare: one of somebody's own nothing, in one sentence each; and a new kind of model needs nobody's help."""

import numpy as np
import pytest
import torch

import attnviz
from attnviz import AttentionTrace, Edits, Prompt
from attnviz.attribution.methods import METHODS
from attnviz.core.errors import EditError, ModelError, PromptError
from attnviz.models.base import DecodingOptions, ModelCard
from attnviz.models.capabilities import Capabilities, bind_target, capabilities
from attnviz.models.targets import AttentionSite, BoundTarget, Outcome, Target, target_labels
from attnviz.models.tasks import answers, draft, read, summarize
from attnviz.models.whatif import head_costs

CARD = ModelCard("mine", "reads", "encoder", 1, 1, 7, 61, "cpu")
TOKENS = ["it", "was", "red"]


class Own:
    """A model of somebody's own: a card and a trace."""

    card = CARD

    def trace(self, prompt: Prompt | str) -> AttentionTrace:
        return attnviz.from_weights(np.full((3, 3), 1 / 3), TOKENS, model="mine", kind="encoder")


@pytest.mark.parametrize(
    ("ask", "error", "words"),
    [
        (lambda model: draft(model, Prompt("it was red"), DecodingOptions()), PromptError, "mine does not translate"),
        (lambda model: answers(model, Prompt("it was red", question="what?")), ModelError, "mine was not trained to answer"),
        (lambda model: read(model, Prompt("it was red")), ModelError, "mine is no encoder and no decoder by itself"),
        (lambda model: summarize(model, Prompt("it was red"), Edits.parse("e0.0z")), EditError, "mine cannot be edited"),
        (lambda model: head_costs(model, "it was red"), EditError, "mine cannot be edited"),
        (lambda model: bind_target(model, Prompt("it was red")), ModelError, "mine has no likeness of two texts"),
        (lambda model: capabilities(model).bind_trace(Prompt("it was red")), ModelError, "How mine computes is not known"),
    ],
)
def test_a_model_that_declares_nothing_says_what_it_cannot_do(ask, error, words):
    with pytest.raises(error, match=words) as caught:
        ask(Own())
    assert str(caught.value).endswith(".")


def test_a_model_that_declares_nothing_can_be_read_all_the_same():
    assert summarize(Own(), Prompt("it was red")).encoder.n_layers == 1
    declared = capabilities(Own())
    assert [index for index, _ in declared.trace_all(["it was red", "it was red"])] == [0, 1]
    assert (declared.attended(Prompt("a")), declared.untrained(1), declared.task_prefix("summarization")) == ({}, None, "")
    assert capabilities(Own()).targets(Prompt("it was red")) == {"similarity": "How alike the two texts are"}


class Sum(Capabilities):
    """A kind of model that is new here: its output is the sum of what its tokens' vectors hold."""

    card = CARD
    table = torch.tensor([[0.0], [2.0], [3.0], [5.0]])

    def default_target(self, prompt: Prompt) -> Target:
        return Target("label")

    def targets(self, prompt: Prompt) -> dict[str, str]:
        return target_labels("label")

    def bind_target(self, prompt: Prompt, target: Target) -> BoundTarget:
        def run(ids: torch.Tensor) -> Outcome:
            score = torch.nn.functional.embedding(ids, self.table).sum(dim=(1, 2))
            return Outcome(score, score)

        tokens, whole = Own().trace(prompt).encoder.keys, slice(0, 3)
        sites = [AttentionSite(whole, whole)]
        return BoundTarget("the sum", tokens, torch.tensor([1, 2, 3]), self.table, 0, frozenset(), {0: 1.0}, run, sites, 3)


def test_methods_explain_a_new_kind_of_model_that_only_its_own_module_knows():
    model = Sum()
    assert capabilities(model).targets(Prompt("it was red")) == {"label": "The likeliest label"}
    bound = bind_target(model, Prompt("it was red"))
    for name in ("gradient-input", "integrated-gradients", "leave-one-out"):
        np.testing.assert_allclose(METHODS[name].compute(bound).values, [2, 3, 5], atol=1e-5)
