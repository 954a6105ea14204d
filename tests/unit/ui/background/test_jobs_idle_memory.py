import threading

import pytest

from attnviz import memory
from attnviz.ui.background import jobs
from attnviz.ui.background.jobs import Priority


def test_what_work_leaves_is_cleared_away_once_nobody_works(monkeypatch: pytest.MonkeyPatch):
    cleared, priority = threading.Semaphore(0), Priority()
    monkeypatch.setattr(memory, "give_back", cleared.release)
    with priority.at_work():
        threading.Thread(target=jobs.clear_when_idle, args=(priority, 0.01), daemon=True).start()
        assert not cleared.acquire(timeout=0.2)
    assert cleared.acquire(timeout=30)
    assert not cleared.acquire(timeout=0.2)
    with priority.at_work():
        pass
    assert cleared.acquire(timeout=30)
