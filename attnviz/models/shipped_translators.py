"""The translators that travel with attnviz, each as an `AttentionModel`.

A row of an LSTM's map is the token that its step writes, `</s>` last: attention decides it before the token is known. A row of
the Transformer's maps is the token that its step reads, `<s>` first, as in every Transformer here.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Float, Int
from tokenizers import Tokenizer
from torch import Tensor

from attnviz.core.edits import NO_EDITS, Edits
from attnviz.core.errors import PromptError
from attnviz.core.trace import AttentionMap, AttentionTrace, DenseWeights, Kind, Prompt, Token
from attnviz.models import device
from attnviz.models.base import DecodingStep, ModelCard, Progress, SearchTree, Translation
from attnviz.models.device import to_host
from attnviz.models.edit import EditPoints, Scorer, edited, log_probability
from attnviz.models.shipped_models import SavedModel
from attnviz.models.targets import BoundTarget
from attnviz.models.translation import WrittenText, decoding_steps, encoded_tokens, piece_name, search_tree, written_tokens
from attnviz.models.write_on import WritesFromSource
from attnviz.nn.apply_edits import current as current_edits
from attnviz.nn.attention import Attended
from attnviz.nn.decoding import END, START, Beam, Decoder, RereadingDecoder, beam_search, greedy, resume
from attnviz.nn.encoder import BlockConfig
from attnviz.nn.lstm_translator import RecurrentConfig, Seq2Seq, Seq2SeqConfig
from attnviz.nn.transformer_translator import Translator, TranslatorConfig

# The unknown mark of our own vocabularies: what their models read where they know no word.
UNKNOWN = 3
# Padding, the start mark and the unknown mark: they are read, never written.
UNWRITABLE = (0, START, UNKNOWN)
_ENDED = Token("</s>", 0, 0, special=True)
_BEGUN = Token("<s>", 0, 0, special=True)
_GATES = (
    "The gates of an LSTM multiply what the words say, and holding attention fixed leaves them as they are: choose another "
    "method."
)


@dataclass(frozen=True, eq=False)
class TranslationModel(WritesFromSource):
    """One translator of its own kind, with the subwords of both languages.

    Raises:
        PromptError: nothing in a text can be read, or a target is longer than the model writes.
    """

    card: ModelCard
    model: Seq2Seq | Translator
    source: Tokenizer
    target: Tokenizer
    shows_writing = True

    def trace(self, prompt: Prompt | str, edits: Edits | str = NO_EDITS) -> AttentionTrace:
        """Trace the translation, or `prompt.target` where it is given, with the edits, and the attention of every head."""
        prompt = self.prompt(prompt)
        with edited(self, prompt, Edits.of(edits)):
            return self.steps(prompt)[0]

    def edit_points(self) -> EditPoints:
        """Say which attentions there are to edit."""
        attentions = self.model.attentions
        sizes: dict[Kind, tuple[int, int]] = {kind: (len(layers), self.card.n_heads) for kind, layers in attentions.items()}
        return EditPoints(sizes, {id(layer): kind for kind, layers in attentions.items() for layer in layers}, writes=True)

    def scorer(self, prompt: Prompt) -> Scorer:
        """Prepare to score ln p of `prompt.target`, or of what the model writes by itself."""
        read, _, _ = self.read(prompt.text)
        pieces = self.pieces_of(prompt)
        inputs, labels = (torch.tensor([ids], device=read.device) for ids in ((START, *pieces[:-1]), pieces))

        def forward(n_rows: int) -> Tensor:
            return log_probability(self.model(read.expand(n_rows, -1), inputs.expand(n_rows, -1))[0], labels)

        return Scorer(self, "nats", len(pieces), forward, read.shape[1] + len(pieces))

    def _bind(self, prompt: Prompt, pieces: Sequence[int], step: int | None) -> BoundTarget:
        (ids, tokens, _), pieces = self.read(prompt.text), pieces or self.pieces_of(prompt)
        written = WrittenText(tokens, ids[0], pieces, START, lambda source, inputs: self.model(source, inputs)[0])
        recurrent = self.model.row_is_written
        return written.bind(
            step,
            self.names,
            embedding=self.model.encoder.tokens.weight,
            baseline_id=UNKNOWN,
            fixed=frozenset(),
            sites=written.step_sites() if recurrent else written.layer_sites(self.card.n_layers, self.card.n_layers),
            output_text=lambda ids: self._text(self._greedy(ids)),
            layered=not recurrent,
            unfreezable=_GATES if recurrent else "",
        )

    def attended(self, prompt: Prompt, pieces: Sequence[int] = ()) -> Mapping[Kind, Sequence[Attended]]:
        """Return what each attention reads while the model writes these pieces, or those of `trace`."""
        read, _, _ = self.read(prompt.text)
        inputs = torch.tensor([[START, *(pieces or self.pieces_of(prompt))[:-1]]], device=read.device)
        with device.own_types(), torch.inference_mode():
            return self.model.attended(read, inputs)

    def untrained(self, seed: int) -> "TranslationModel":
        """Make the same model with the weights that its modules begin with."""
        fresh = copy.deepcopy(self.model)
        with device.seeded(seed):
            for module in fresh.modules():
                if callable(reset := getattr(module, "reset_parameters", None) or getattr(module, "_reset_parameters", None)):
                    reset()
        return replace(self, model=fresh.eval())

    def steps(self, prompt: Prompt | str) -> tuple[AttentionTrace, tuple[DecodingStep, ...]]:
        """Trace the prompt, and tell how likely the model found every token that is written."""
        prompt = self.prompt(prompt)
        if prompt.target:
            written = encoded_tokens(self.target.encode(prompt.target), prompt.target)
            return self._followed(prompt, self.forced(prompt.target), (prompt.target, written))
        return self.follow(prompt, self.pieces_of(prompt))

    @device.own_types()
    def pieces_of(self, prompt: Prompt) -> tuple[int, ...]:
        """Return the pieces of what is written: of `prompt.target`, or of what the model writes by itself."""
        if prompt.target:
            return self.forced(prompt.target)
        read, _, _ = self.read(prompt.text)
        return self._greedy(read)

    def follow(self, prompt: Prompt, pieces: Sequence[int]) -> tuple[AttentionTrace, tuple[DecodingStep, ...]]:
        """Do as `steps`, of exactly these pieces, such as one of several translations that were found."""
        output = self._text(pieces)
        return self._followed(prompt, pieces, (output, written_tokens(self.target, pieces, output)))

    def _followed(
        self, prompt: Prompt, pieces: Sequence[int], output: tuple[str, tuple[Token, ...]]
    ) -> tuple[AttentionTrace, tuple[DecodingStep, ...]]:
        text, written = output
        read, keys, cut = self.read(prompt.text)
        inputs = torch.tensor([[START, *pieces[:-1]]], device=read.device)
        with device.own_types(), torch.inference_mode():
            scores, attention = self.model(read, inputs)
        # An end mark is a row too, unless the limit came before it.
        rows = (*written, _ENDED) if pieces[-1] == END else written
        maps = self._maps(attention, rows, (_BEGUN, *rows[:-1]), keys)
        trace = AttentionTrace(self.card.name, prompt, maps, text, cut, revision=self.card.revision, edits=current_edits())
        return trace, decoding_steps(scores[0], tuple(zip(rows, pieces, strict=True)), self.names)

    def translate(self, text: str, beam: Beam | None = None, prefix: Sequence[int] = ()) -> tuple[Translation, ...]:
        """Find the translations that begin with the pieces of `prefix`, best first: one without a beam."""
        return self.search(text, beam or Beam(width=1), prefix)[0]

    @device.own_types()
    def search(self, text: str, beam: Beam, prefix: Sequence[int] = ()) -> tuple[tuple[Translation, ...], SearchTree]:
        """Translate, and return the tree that the search walked after the prefix."""
        read, _, _ = self.read(text)
        decoder, given = resume(self.speaking(read), prefix, read.device) if prefix else (self.speaking(read), 0.0)
        longest = max(1, self.longest(read.shape[1]) - len(prefix))
        result = beam_search(decoder, replace(beam, longest=longest), read.device, UNWRITABLE)
        found = [((*prefix, *row.tokens), given + row.log_probability) for row in result.hypotheses]
        return tuple(Translation(self._text(pieces), pieces, likely) for pieces, likely in found), search_tree(
            self.target, result
        )

    @property
    def begun(self) -> tuple[int, ...]:
        """The mark that the decoder reads first."""
        return (START,)

    @property
    def never_written(self) -> tuple[int, ...]:
        """What is no text."""
        return UNWRITABLE

    @property
    def most_written(self) -> int:
        """Pieces that the decoder reads at most."""
        return self.card.max_tokens

    def known_pieces(self, names: Sequence[str]) -> tuple[int, ...]:
        """Look up pieces by their names, of what can be written."""
        return self.pieces(names)

    def next_scores(self, prompt: Prompt) -> Callable[[Sequence[int]], Float[Tensor, " vocabulary"]]:
        """Read a source, and return what scores the piece behind some pieces of the decoder."""
        read, _, _ = self.read(prompt.text)

        def score(pieces: Sequence[int]) -> Float[Tensor, " vocabulary"]:
            with device.own_types(), torch.inference_mode():
                return self.model(read, torch.tensor([list(pieces)], device=read.device))[0][0, -1]

        return score

    def reread(self, prompt: Prompt, pieces: Sequence[int]) -> tuple[AttentionTrace, Float[Tensor, "step vocabulary"]]:
        """Trace a pass in which the decoder reads these pieces, the last one too."""
        read, keys, cut = self.read(prompt.text)
        with device.own_types(), torch.inference_mode():
            scores, attention = self.model(read, torch.tensor([list(pieces)], device=read.device))
        output = self.spell(pieces)
        rows = (_BEGUN, *written_tokens(self.target, pieces[1:], output), *([_ENDED] if END in pieces else []))
        facts: dict[str, Any] = {"revision": self.card.revision, "edits": current_edits()}
        return AttentionTrace(self.card.name, prompt, self._maps(attention, rows, rows, keys), output, cut, **facts), scores[0]

    def spell(self, pieces: Sequence[int]) -> str:
        """Spell pieces as text."""
        return self._text([piece for piece in pieces if piece != START])

    def spell_alone(self, piece: int) -> str:
        """Spell one piece, a space before it included."""
        return piece_name(self.target, piece).replace("▁", " ")

    @property
    def closed(self) -> frozenset[str]:
        """The names of what cannot be written."""
        return frozenset(self.names(UNWRITABLE))

    def ended(self, pieces: Sequence[int]) -> bool:
        """Say whether the end mark is among the pieces."""
        return END in pieces

    def speaking(self, source: Int[Tensor, "batch key"]) -> Decoder:
        """Sentences that have been read and wait to be translated."""
        if current_edits():
            # Row by row as in the trace of what it writes: with a cache, no step would know its place.
            return RereadingDecoder(self.model.forward, source, source[:, :0])
        return self.model.begin(source)

    def _greedy(self, read: Int[Tensor, "one key"]) -> tuple[int, ...]:
        return greedy(self.speaking(read), 1, self.longest(read.shape[1]), read.device, UNWRITABLE)[0]

    def longest(self, n_keys: int) -> int:
        """Limit how many tokens a source of `n_keys` may become; what is longer is a model that repeats itself."""
        return min(self.card.max_tokens - 1, 3 * n_keys + 10)

    def read(self, text: str) -> tuple[Int[Tensor, "one key"], tuple[Token, ...], int | None]:
        """Tokenize a text: its ids, its tokens, and where it was cut to fit."""
        encoding = self.source.encode(text)
        if not encoding.ids:
            raise PromptError(f"{self.card.name} finds nothing to read in this text: type a word.")
        ids = encoding.ids[: self.card.max_tokens]
        tokens = encoded_tokens(encoding, text)[: len(ids)]
        cut = tokens[-1].end if len(ids) < len(encoding.ids) else None
        return torch.tensor([ids], device=next(self.model.parameters()).device), tokens, cut

    def forced(self, target: str) -> tuple[int, ...]:
        ids = self.target.encode(target).ids
        most = self.card.max_tokens - 1
        if not 0 < len(ids) <= most:
            raise PromptError(f"{self.card.name} writes at most {most} tokens, and this target has {len(ids)}: type less.")
        return (*ids, END)

    def _text(self, pieces: Sequence[int]) -> str:
        return self.target.decode([piece for piece in pieces if piece != END]).strip()

    def _maps(
        self, attention: Any, rows: tuple[Token, ...], inputs: tuple[Token, ...], keys: tuple[Token, ...]
    ) -> tuple[AttentionMap, ...]:
        own = rows if self.model.row_is_written else inputs
        axes: dict[Kind, tuple[tuple[Token, ...], tuple[Token, ...]]] = {
            "encoder": (keys, keys),
            "decoder": (own, own),
            "cross": (own, keys),
        }
        return tuple(
            AttentionMap(kind, *axes[kind], DenseWeights(tuple(to_host([layer[0] for layer in layers]))), kind == "decoder")
            for kind, layers in self.model.weights_by_kind(attention).items()
        )

    def pieces(self, names: Sequence[str]) -> tuple[int, ...]:
        """Pieces of the target's vocabulary by their names, such as those of `DecodingStep.alternatives`."""
        numbers = [self.target.token_to_id(name) for name in names]
        for name, piece in zip(names, numbers, strict=True):
            if piece is None or piece in UNWRITABLE:
                raise PromptError(f"{self.card.name} has no piece {name!r} to go on from: choose one of its alternatives.")
        return tuple(piece for piece in numbers if piece is not None)

    def names(self, pieces: Sequence[int]) -> tuple[str, ...]:
        """Name pieces as the vocabulary does: the reverse of `pieces`."""
        return tuple(piece_name(self.target, piece) for piece in pieces)


# Each language has its own subwords.
SOURCE, TARGET = "source.json", "target.json"
MAX_TOKENS = 128


def translator(saved: SavedModel, progress: Progress) -> TranslationModel:
    """Build a translator with its weights and the tokenizers of both languages.

    Raises:
        ValueError, KeyError, RuntimeError, …: the folder is damaged.
    """
    model = untrained_translator(saved.config)
    model.load_state_dict(saved.weights)
    source, target = (Tokenizer.from_file(str(saved.folder / name)) for name in (SOURCE, TARGET))
    across = model.attentions["cross"]
    # Attention without heads is one head.
    layers, heads = len(across), getattr(across[0], "n_heads", 1)
    where = device.choose()
    model.eval().requires_grad_(False).float().to(where)
    card = ModelCard(
        **saved.about,
        architecture="encoder-decoder",
        n_layers=layers,
        n_heads=heads,
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        max_tokens=MAX_TOKENS,
        device=str(where),
        reads=("target",),
        languages=tuple(saved.config["card"]["languages"]),
        supervised_head=_supervised_head(saved.config, layers, heads),
    )
    return TranslationModel(card, model, source, target)


def untrained_translator(config: dict[str, Any]) -> Seq2Seq | Translator:
    """Build the model that a configuration describes, with weights not yet loaded."""
    values: dict[str, Any] = dict(config["model"])
    if config["kind"] == "transformer":
        values["block"] = BlockConfig(**values["block"])
        return Translator(TranslatorConfig(**values))
    values["recurrent"] = RecurrentConfig(**values["recurrent"])
    return Seq2Seq(Seq2SeqConfig(**values))


def _supervised_head(config: dict[str, Any], n_layers: int, n_heads: int) -> tuple[int, int] | None:
    """Read the layer and head that the recipe says were trained to align."""
    if not (named := config.get("recipe", {}).get("supervised_head")):
        return None
    layer, head = int(named["layer"]), int(named["head"])
    if not (0 <= layer < n_layers and 0 <= head < n_heads):
        raise ValueError(f"there is no head L{layer}·H{head}")
    return layer, head
