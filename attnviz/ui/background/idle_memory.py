"""When nobody is at work, what work has left in memory is given back to the system."""

import threading
import time
from functools import cache
from typing import Never

from attnviz import memory
from attnviz.ui.background.priority import PRIORITY, Priority

# When nobody has worked for so long, what was left behind is cleared away: a page that is being drawn would wait for that.
IDLE_SECONDS = 10.0


@cache
def watch_for_idle_time() -> None:
    """Begins to watch, once a process."""
    threading.Thread(target=clear_when_idle, args=(PRIORITY,), name="attnviz-idle", daemon=True).start()


def clear_when_idle(priority: Priority, seconds: float = IDLE_SECONDS) -> Never:
    """Gives back what work has left behind, each time that nobody has worked for a while since."""
    seen = cleared = priority.ended
    while True:
        time.sleep(seconds)
        before, seen = seen, priority.ended
        if seen is not None and seen == before and seen != cleared:
            memory.give_back()
            cleared = seen
