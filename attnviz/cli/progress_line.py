"""How far a command is, on stderr."""

import sys
import time


class ProgressLine:
    """Print progress on stderr: in a terminal one line that changes; elsewhere a line at once, and one every ten seconds."""

    SECONDS = 10.0

    def __init__(self) -> None:
        self._again = 0.0

    def __call__(self, stage: str, fraction: float | None) -> None:
        """Print a stage, and how far it is where that is known."""
        if fraction is None:
            print(stage, file=sys.stderr, flush=True)
        elif sys.stderr.isatty():
            print(f"\r{stage} {fraction:4.0%}", end="\n" if fraction >= 1 else "", file=sys.stderr, flush=True)
        elif time.monotonic() >= self._again:
            print(f"{stage} {fraction:.0%}", file=sys.stderr, flush=True)
            self._again = time.monotonic() + self.SECONDS


progress_line = ProgressLine()
