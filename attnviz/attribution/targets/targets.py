"""What can be asked about the output that a model gives a prompt, by the names of `Target`, with a label for each."""

from typing import Any

import torch

from attnviz.attribution.bind import default_target
from attnviz.core.trace import Prompt
from attnviz.models.base import AttentionModel
from attnviz.models.hub.encoder import TracedModel
from attnviz.models.hub.seq2seq import WritingModel
from attnviz.models.task_prefix import TRANSLATE, prefix_for
from attnviz.models.translate.own import TranslationModel
from attnviz.text.sentences import Sentences

# A list that is longer helps nobody.
MOST = 200
_LABELS = {
    "answer": "The answer", "similarity": "How alike the two texts are", "next": "The next token", "masked": "The masked token",
}  # fmt: skip


def targets(model: AttentionModel, prompt: Prompt) -> dict[str, str]:
    """List what can be asked about, what the model is there for first.

    Raises:
        PromptError: the model cannot read the prompt.
    """
    kind = default_target(model, prompt).kind
    if kind == "translation":
        return {"translation": "The whole translation"} | _numbered("token", _pieces(model, prompt))
    if kind == "sentence":
        spans = Sentences.of(prompt.text).spans
        sentences = [prompt.text[start:end].strip() for start, end in spans]
        return {"sentence": "The sentence that is kept first"} | _numbered("sentence", sentences)
    inner: Any = getattr(model, "model", None)
    if kind == "label":
        names = inner.config.id2label
        return {"label": "The likeliest label"} | _numbered("label", [str(names.get(at, at)) for at in range(len(names))])
    labels = {kind: _LABELS[kind]}
    if isinstance(model, TracedModel) and kind == "masked" and prompt.pair:
        labels["similarity"] = _LABELS["similarity"]
    return labels


def _numbered(kind: str, names: list[str]) -> dict[str, str]:
    return {f"{kind}:{place}": f"{place + 1} · {name}" for place, name in enumerate(names[:MOST])}


def _pieces(model: AttentionModel, prompt: Prompt) -> list[str]:
    if isinstance(model, TranslationModel):
        pieces = model.forced(prompt.target) if prompt.target else model.translate(prompt.text)[0].pieces
        return list(model.names(pieces))
    if not isinstance(model, WritingModel):
        return []
    with torch.no_grad():
        text = prefix_for(model, TRANSLATE) + prompt.text
        if prompt.target:
            given: Any = model.encode([prompt.target], target=True).inputs["input_ids"]
        else:
            given = model.translate(text)[0].pieces
    return list(model.names(given))
