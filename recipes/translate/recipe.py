"""One recipe a model: everything that decides its weights, in one frozen value that is saved beside them."""

import dataclasses
import difflib
import json
from dataclasses import dataclass, field
from typing import Any

from attnviz.core.errors import ModelNotFoundError
from attnviz.nn.encoder import BlockConfig
from attnviz.nn.lstm_translator import Alignment, RecurrentConfig, Seq2Seq, Seq2SeqConfig
from attnviz.nn.transformer_translator import Translator, TranslatorConfig
from recipes.schedule import Schedule
from recipes.translate.bpe import Language
from recipes.translate.joined import Joined
from recipes.translate.supervised_head import SupervisedHead


@dataclass(frozen=True)
class Corpus:
    """`name`.train.tsv.gz and `name`.dev.tsv.gz, and how they are cut into pieces; longer texts are left out."""

    name: str = "tatoeba-en-fr"
    languages: tuple[Language, Language] = ("en", "fr")
    n_pieces: tuple[int, int] = (6000, 6000)
    longest: int = 40


@dataclass(frozen=True)
class LSTMSpec:
    """Describe an LSTM encoder-decoder; its vocabularies are those of its corpus."""

    attention: Alignment
    recurrent: RecurrentConfig

    def untrained_model(self, source_vocabulary: int, target_vocabulary: int) -> Seq2Seq:
        """Build the model, not yet trained."""
        return Seq2Seq(Seq2SeqConfig(source_vocabulary, target_vocabulary, self.attention, self.recurrent))


@dataclass(frozen=True)
class TransformerSpec:
    """Describe a Transformer of `n_layers` blocks on either side; its vocabularies are those of its corpus."""

    n_layers: int
    block: BlockConfig

    def untrained_model(self, source_vocabulary: int, target_vocabulary: int) -> Translator:
        """Build the model, not yet trained."""
        return Translator(TranslatorConfig(source_vocabulary, target_vocabulary, self.n_layers, self.block))


# What every model that learned from the sentences of Tatoeba is bad at.
_FRENCH = (
    "Long sentences: the mean training sentence has six words, and 99.7% have at most sixteen.",
    "Anything but everyday English: it has read no news, no science, no parliament, and every tenth pair is about Tom.",
    "Who is meant: English you is tu or vous, and the training data have both for the same sentences.",
)
_GERMAN = (
    "Long sentences: the mean training sentence has seven words, and 99.4% have at most sixteen.",
    "Anything but everyday English: it has read no news, no science, no parliament, and every fourth pair is about Tom.",
    "Who is meant: English you is du, ihr or Sie, and the training data have all of them for the same sentences.",
)
_SUPERVISED = (
    "Alignments out of its domain: what the supervised head learned on six words, it does worse on thirty.",
    "Alignments of the other heads: nothing told them where to look, and most look at several things at once.",
)


@dataclass(frozen=True)
class Recipe:
    """What a model is, what it reads, and how it is trained.

    For its card: `about`, `paper`, and `weak`, what it is bad at. `supervised_head` is the head of a Transformer that
    learns to align; `joined` says how some sentences are read in a row.
    """

    name: str
    about: str
    paper: str
    model: LSTMSpec | TransformerSpec
    corpus: Corpus = Corpus()
    schedule: Schedule = field(default_factory=Schedule)
    supervised_head: SupervisedHead | None = None
    joined: Joined | None = None
    weak: tuple[str, ...] = (
        *_FRENCH,
        "Alignments of small words: articles, ne and pas, and the full stop often look at the content word beside them, for "
        "nothing told this attention where to look.",
    )

    def as_json(self) -> str:
        """Write the recipe as it is saved beside the weights."""
        return json.dumps(dataclasses.asdict(self), indent=2, ensure_ascii=False) + "\n"


_BOTH = RecurrentConfig(dim=192, hidden=256)
_FORWARD = RecurrentConfig(dim=192, hidden=256, bidirectional=False)
_BLOCK = BlockConfig(dim=256, n_heads=4, hidden=1024, norm="before", dropout=0.1)
_TO_GERMAN = Corpus("tatoeba-en-de", ("en", "de"))
_TRANSFORMER_TO_GERMAN = Recipe(
    "transformer-en-de",
    "a Transformer, attention and nothing else",
    "https://arxiv.org/abs/1706.03762",
    TransformerSpec(3, _BLOCK),
    corpus=_TO_GERMAN,
    schedule=Schedule(epochs=12, learning_rate=1e-3, warmup=2000, restarts=(10,), patience=5),
    supervised_head=SupervisedHead(layer=1, head=0, since=8),
    joined=Joined(since=10),
    weak=(*_GERMAN, *_SUPERVISED),
)
RECIPES = {
    recipe.name: recipe
    for recipe in (
        Recipe(
            "bahdanau-en-fr",
            "LSTMs with additive attention, the first of all attentions",
            "https://arxiv.org/abs/1409.0473",
            LSTMSpec("additive", _BOTH),
            # Good enough to ship after its first seven epochs, better after five more; the last three are for long sentences.
            schedule=Schedule(epochs=15, restarts=(7, 12), patience=5),
            joined=Joined(since=12),
        ),
        Recipe(
            "bilstm-en-fr",
            "a bidirectional LSTM with scaled dot-product attention",
            "https://arxiv.org/abs/1508.04025",
            LSTMSpec("scaled", _BOTH),
            schedule=Schedule(epochs=10, restarts=(6,), patience=5),
        ),
        Recipe(
            "dot-lstm-en-fr",
            "a one-directional LSTM with dot-product attention",
            "https://arxiv.org/abs/1508.04025",
            LSTMSpec("dot", _FORWARD),
            schedule=Schedule(epochs=10, restarts=(4,), patience=5),
        ),
        Recipe(
            "transformer-en-fr",
            "a Transformer, attention and nothing else",
            "https://arxiv.org/abs/1706.03762",
            TransformerSpec(3, _BLOCK),
            schedule=Schedule(epochs=12, learning_rate=1e-3, warmup=2000, restarts=(10,), patience=5),
            # The middle layer of three, as Garg et al. 2019 found best (the penultimate of six).
            supervised_head=SupervisedHead(layer=1, head=0, since=8),
            joined=Joined(since=10),
            weak=(*_FRENCH, *_SUPERVISED),
        ),
        Recipe(
            "bahdanau-en-de",
            "LSTMs with additive attention, the first of all attentions",
            "https://arxiv.org/abs/1409.0473",
            LSTMSpec("additive", _BOTH),
            corpus=_TO_GERMAN,
            schedule=Schedule(epochs=15, restarts=(7, 12), patience=5),
            joined=Joined(since=7),
            weak=(
                *_GERMAN,
                "Clauses within clauses: of “The bridge that my grandfather built was washed away” it makes wrong German.",
            ),
        ),
        _TRANSFORMER_TO_GERMAN,
        dataclasses.replace(
            _TRANSFORMER_TO_GERMAN,
            name="transformer-en-de-unsupervised",
            about="transformer-en-de without its supervised head: what that head costs",
            supervised_head=None,
            weak=(*_GERMAN, _SUPERVISED[1]),
        ),
    )
}


def recipe(name: str, **changes: Any) -> Recipe:
    """Look up a recipe by its name, with some values of its schedule replaced.

    Raises:
        ModelNotFoundError: there is none; the message has the nearest names.
    """
    if name not in RECIPES:
        near = difflib.get_close_matches(name, RECIPES, n=1, cutoff=0.4)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(RECIPES)}"
        raise ModelNotFoundError(f"there is no recipe {name!r}; {hint}")
    known = RECIPES[name]
    return dataclasses.replace(known, schedule=dataclasses.replace(known.schedule, **changes))
