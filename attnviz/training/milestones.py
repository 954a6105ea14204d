"""Whether a toy model learned where to look before it learned what to answer."""

from dataclasses import dataclass

# From here on a model is told to know where to look (alignment error rate), and what to write (share of sources).
HALF_ALIGNED, HALF_RIGHT = 0.25, 0.5
# Steps between two measurements: steps decide what is measured, not who looks, nor how fast the model trains.
EVERY = 5


@dataclass
class Milestones:
    """The first of the measured steps at which a model aligned, and at which it answered; None: not yet, or nobody knows."""

    aligned: int | None = None
    answered: int | None = None

    def asks(self, step: int) -> bool:
        """Check whether a measurement at that step could tell something new."""
        return step % EVERY == 0 and None in (self.aligned, self.answered)

    def note(self, step: int, *, error: float, accuracy: float) -> None:
        """Take in what was measured: the alignment error rate of the best head, and the share of right answers, 0 to 1."""
        if self.aligned is None and error <= HALF_ALIGNED:
            self.aligned = step
        if self.answered is None and accuracy >= HALF_RIGHT:
            self.answered = step

    @property
    def sentence(self) -> str:
        """Say the order in one sentence; empty while one of the two has not come.

        Both are known to within `EVERY` steps, and measured on a sample: what lies no further apart than twice that is too
        close to tell.

        >>> Milestones(40, 65).sentence
        'First it learned where to look: three links in four were right by step 40, every second answer by step 65.'
        >>> Milestones(65, 55).sentence
        'Which came first is too close to tell: three links in four were right by step 65, every second answer by step 55.'
        """
        if self.aligned is None or self.answered is None:
            return ""
        links = f"three links in four were right by step {self.aligned:,}"
        answers = f"every second answer by step {self.answered:,}"
        if abs(self.aligned - self.answered) <= 2 * EVERY:
            return f"Which came first is too close to tell: {links}, {answers}."
        learned_first = self.aligned < self.answered
        return (
            f"{'First it learned where to look' if learned_first else 'Where to look did not come first'}: {links}, {answers}."
        )
