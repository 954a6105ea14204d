"""What heads of a decoder are known to do: the scores of the papers, whether they hold, and sentences that say so."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from attnviz.analysis.heads.measures import induction
from attnviz.analysis.heads.verdict import MARGIN, holm, one_sided_p
from attnviz.analysis.whatif_comparison import bootstrap
from attnviz.analysis.wording import Part, Sentence, head_name, whole_percent
from attnviz.core.why import Tabled

# A random sequence is this long, and stands twice in its text.
PERIOD = 25
ROLES = ("previous token", "duplicate token", "induction", "name mover", "sink")
ROLE_LABELS = {
    "previous token": "Previous token", "duplicate token": "Duplicate token", "induction": "Induction",
    "name mover": "Name mover", "sink": "Sink",
}  # fmt: skip
# What a head does, and of what its score is the mean.
ROLE_HABITS = {
    "previous token": ("looks at the token before", "of its weight on random tokens goes there"),
    "duplicate token": ("looks at the same token, where it stood before", "of its weight on a repetition goes there"),
    "induction": ("looks at what followed the same token before", "of its weight on a repetition goes there"),
    "name mover": ("looks at the name that a sentence asks for, and copies it", "of its weight, where it copies"),
    "sink": ("rests on the first token", "of its weight on random tokens goes there"),
}
# A head that does something less often than this is not named after it, as in an atlas.
LEAST_SCORE = 0.3


def random_scores(weights: Float[np.ndarray, "head query key"], start: int) -> Float[np.ndarray, "role head"]:
    """Score heads on random tokens that stand twice behind `start` special ones: all roles but the name mover, which is 0.

    - previous token, a_{i, i-1}; duplicate token, a_{i, i-n} in the second half (Wang et al. 2023, section 3, where they hold
      heads of these names on random tokens that are repeated)
    - induction, a_{i, i-n+1} in the second half: prefix matching (Olsson et al. 2022, "Head activation evaluators")
    - sink, a_{i, 0} (Xiao et al. 2023, section 3)

    >>> twice = np.zeros((1, 6, 6))
    >>> twice[0, range(3, 6), range(1, 4)] = 1
    >>> random_scores(twice, 0)[:, 0].tolist()
    [0.0, 0.0, 1.0, 0.0, 0.0]
    """
    own, period = weights[:, start:, start:], (weights.shape[1] - start) // 2
    rows = np.arange(1, own.shape[1])
    second = np.arange(period, own.shape[1])
    return np.stack([
        own[:, rows, rows - 1].mean(axis=1), own[:, second, second - period].mean(axis=1), induction(own, period),
        np.zeros(len(weights)), weights[:, 1:, 0].mean(axis=1),
    ])  # fmt: skip


@dataclass(frozen=True, eq=False)
class HeadRoles(Tabled):
    """What every head of a model scores in each role, over texts.

    scores     of each text; NaN where it does not ask for the role
    untrained  means of the same model with random weights; None where that cannot be had
    copies     the copy score: how often what a head writes of a name is that name (Wang et al. 2023, section 3.1)
    """

    model: str
    scores: Float[np.ndarray, "text role layer head"]
    untrained: Float[np.ndarray, "role layer head"] | None
    copies: Float[np.ndarray, "layer head"]

    @cached_property
    def means(self) -> Float[np.ndarray, "role layer head"]:
        return np.nanmean(self.scores, axis=0)

    @cached_property
    def intervals(self) -> tuple[Float[np.ndarray, "role layer head"], Float[np.ndarray, "role layer head"]]:
        """Between which each mean lies in 95 of 100 samples of texts."""
        asked = ~np.isnan(self.scores)
        ends = [
            bootstrap(np.nan_to_num(self.scores[:, role]), asked[:, role, 0, 0].astype(float)) for role in range(len(ROLES))
        ]
        low, high = np.stack(ends, axis=1)
        return low, high

    @property
    def rivals(self) -> Float[np.ndarray, " role"]:
        """What each role has to beat: 0.3, and by five points the best head of the model untrained."""
        untrained = np.zeros(len(ROLES)) if self.untrained is None else self.untrained.max(axis=(1, 2)) + MARGIN
        return np.maximum(untrained, LEAST_SCORE)

    @cached_property
    def holds(self) -> Bool[np.ndarray, "role layer head"]:
        """Which head has which role: its score is above that of its rivals, with Holm over all heads × roles."""
        asked = (~np.isnan(self.scores[:, :, 0, 0])).astype(float)
        differences = np.nan_to_num(self.scores - self.rivals[:, None, None])
        p_values = np.stack([one_sided_p(differences[:, role], asked[:, role]) for role in range(len(ROLES))])
        return holm(p_values.ravel()).reshape(p_values.shape)

    def of(self, layer: int, head: int) -> list[str]:
        """List the roles of a head, the one of the highest score first."""
        means = self.means[:, layer, head]
        return [ROLES[role] for role in np.argsort(-means) if self.holds[role, layer, head]]

    columns = ("role", "layer", "head", "score", "low", "high", "copies", "to_beat", "holds")

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """Every role of every head."""
        means, (low, high), holds, rivals = self.means, self.intervals, self.holds, self.rivals
        return [
            (
                ROLES[place[0]], *place[1:], *(float(each[place]) for each in (means, low, high)),
                float(self.copies[place[1:]]), float(rivals[place[0]]), bool(holds[place]),
            )
            for place in np.ndindex(means.shape)
        ]  # fmt: skip


def describe_role(roles: HeadRoles, role: str, layer: int, head: int) -> Sentence:
    """Say what a head scores in a role, and whether that holds."""
    number, place = ROLES.index(role), (ROLES.index(role), layer, head)
    habit, share = ROLE_HABITS[role]
    low, high = (whole_percent(float(end[place])) for end in roles.intervals)
    verdict = "Holds" if roles.holds[place] else "Does not hold"
    copies = f"; it copies {whole_percent(float(roles.copies[layer, head]))} of names" if role == "name mover" else ""
    rest = f": {whole_percent(float(roles.means[place]))} {share} ({low} to {high}; to beat: "
    return (
        Part(f"{verdict}: {head_name(layer, head)} {habit}", True),
        Part(f"{rest}{whole_percent(float(roles.rivals[number]))}){copies}."),
    )


def describe_holders(roles: HeadRoles) -> Sentence:
    """Say how many heads have each role."""
    counts = roles.holds.sum(axis=(1, 2))
    named = [f"{ROLE_LABELS[role].lower()} {count}" for role, count in zip(ROLES, counts.tolist(), strict=True)]
    return (Part(f"Of {roles.means[0].size} heads: {', '.join(named)}."),)


def role_lines(roles: HeadRoles, most: int) -> Sequence[str]:
    """Write the heads of each role as lines for a terminal, the highest score first."""
    lines = []
    for number, role in enumerate(ROLES):
        order = np.argsort(-roles.means[number], axis=None)[:most].tolist()
        lines.append(f"{ROLE_LABELS[role]}: to beat {whole_percent(float(roles.rivals[number]))}")
        for layer, head in (divmod(place, roles.means.shape[2]) for place in order):
            low, high = (whole_percent(float(end[number, layer, head])) for end in roles.intervals)
            verdict = "holds" if roles.holds[number, layer, head] else "does not hold"
            score = whole_percent(float(roles.means[number, layer, head]))
            lines.append(f"  {head_name(layer, head):>8}  {score} ({low} to {high})  {verdict}")
    return lines
