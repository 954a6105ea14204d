"""How far a command is, on stderr."""

import sys
import time


class ProgressLine:
    """Print progress on stderr: in a terminal one line that changes; elsewhere a line at once, and one every ten seconds."""

    SECONDS = 10.0

    def __init__(self) -> None:
        self._again = 0.0
        self._width = 0  # of the line that a terminal shows and that is not ended

    def __call__(self, stage: str, fraction: float | None) -> None:
        """Print a stage, and how far it is where that is known."""
        if fraction is None:
            self.end()
            print(stage, file=sys.stderr, flush=True)
        elif sys.stderr.isatty():
            line = f"{stage} {fraction:4.0%}"
            print(f"\r{line:<{self._width}}", end="", file=sys.stderr, flush=True)
            self._width = len(line)
            if fraction >= 1:
                self.end()
        elif time.monotonic() >= self._again:
            print(f"{stage} {fraction:.0%}", file=sys.stderr, flush=True)
            self._again = time.monotonic() + self.SECONDS

    def end(self) -> None:
        """End the line that changes, where there is one: what comes next begins a line of its own."""
        if self._width:
            self._width = 0
            print(file=sys.stderr, flush=True)


progress_line = ProgressLine()
