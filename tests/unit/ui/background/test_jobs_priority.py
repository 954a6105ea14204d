import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from attnviz.ui.background.jobs import Priority


@pytest.fixture
def elsewhere():
    """Calls a function in a thread that has been there all along."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        yield pool.submit


def test_who_waits_goes_on_as_soon_as_the_last_is_done(elsewhere: Callable[..., Future[bool]]):
    priority = Priority()
    begun, end = threading.Event(), threading.Event()

    def work() -> None:
        with priority.at_work():
            begun.set()
            end.wait(30)

    assert priority.give_way(0.0)
    with priority.at_work():
        threading.Thread(target=work).start()
        assert begun.wait(30)
        waiting = elsewhere(priority.give_way, 30.0)
    time.sleep(0.1)
    assert not waiting.done()
    end.set()
    assert waiting.result(5)


def test_nobody_waits_for_ever_or_for_oneself(elsewhere: Callable[..., Future[bool]]):
    priority = Priority()
    with priority.at_work():
        assert priority.give_way(30.0)
        assert elsewhere(priority.give_way, 0.05).result(10) is False


def test_a_page_counts_until_it_is_drawn_and_a_failed_one_too():
    priority = Priority()
    begun = time.monotonic()
    with pytest.raises(ZeroDivisionError), priority.at_work(drawing=0.2):
        raise ZeroDivisionError
    assert priority.give_way(0.05) is False
    assert priority.give_way(30.0)
    assert time.monotonic() - begun >= 0.2
