"""Training in the background: begun, paused, continued, stopped, waiting in line; nothing is left when nobody looks."""

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from attnviz.models.toy_config import ToyConfig, ToyRecipe
from attnviz.training import background_run
from attnviz.training.background_run import History, Line, LiveRun
from attnviz.training.toy_training import Training

ENDLESS = ToyRecipe(ToyConfig("copy", "scaled", dim=11), steps=100_000, batch=2)
SHORT = ToyRecipe(ToyConfig("copy", "scaled", dim=11), steps=5, batch=2)


@pytest.fixture
def line():
    yield Line(places=2)
    until(lambda: threads() == 0)


def threads() -> int:
    return sum(thread.name == "attnviz-training" for thread in threading.enumerate())


def until(holds: Callable[[], bool], *watched: LiveRun, seconds: float = 240) -> None:
    started = time.monotonic()
    while not holds():
        assert time.monotonic() - started < seconds
        for run in watched:
            run.watched()
        time.sleep(0.01)


def begun(line: Line, recipe: ToyRecipe = ENDLESS) -> LiveRun:
    run = LiveRun(Training(recipe), line)
    run.begin()
    return run


def test_a_run_ends_by_itself_and_is_what_the_same_steps_give_without_a_thread(line):
    run = begun(line, SHORT)
    until(lambda: run.state == "finished", run)
    alone = Training(SHORT)
    while not alone.ended:
        alone.step()
    assert [run.frames[0].step, run.frames[-1].step] == [0, 5]
    assert all(torch.equal(value, run.frames[-1].weights[name]) for name, value in alone.look().weights.items())
    np.testing.assert_array_equal(run.frames[-1].alignments[0], alone.look().alignments[0])


def test_pause_holds_and_continue_goes_on(line):
    run = begun(line)
    until(lambda: run.step > 1, run)
    run.pause()
    assert (run.state, threads()) == ("paused", 0)
    step = run.step
    assert run.frames[-1].step == step
    run.begin()
    until(lambda: run.step > step + 1, run)
    run.stop()
    assert (run.state, threads()) == ("stopped", 0)


def test_the_third_waits_and_a_pause_lets_it_in(line):
    one, two = begun(line), begun(line)
    until(lambda: one.step > 0 and two.step > 0, one, two)
    three, four = begun(line), begun(line)
    until(lambda: four.state == "waiting" and line.ahead(four) == 1, one, two, three, four)
    assert (three.step, four.step, line.ahead(three)) == (0, 0, 0)
    one.pause()
    until(lambda: three.step > 0, two, three, four)
    assert four.state == "waiting"
    one.begin()
    until(lambda: line.ahead(one) == 1, one, two, three, four)
    for run in (one, four, two, three):
        run.stop()
    assert threads() == 0


def test_a_run_that_nobody_watches_ends_and_gives_its_place_away(line, monkeypatch):
    monkeypatch.setattr(background_run, "PATIENCE_SECONDS", 0.5)
    runs = [begun(line) for _ in range(4)]
    until(lambda: threads() == 0)
    assert [run.state for run in runs] == ["left"] * 4
    again = begun(line)
    until(lambda: again.step > 0, again)
    again.stop()


@pytest.mark.gate
def test_after_twenty_runs_no_thread_is_left(line, monkeypatch):
    monkeypatch.setattr(background_run, "PATIENCE_SECONDS", 0.3)
    before = threading.active_count()
    for number in range(20):
        run = begun(line)
        until(lambda run=run: run.active, run)
        (run.stop, run.pause, lambda: None)[number % 3]()
    until(lambda: threads() == 0)
    assert threading.active_count() == before


def test_no_step_is_taken_until_others_are_done(line, monkeypatch):
    monkeypatch.setattr(background_run, "MOST_COURTESY_SECONDS", 1000.0)
    done = threading.Event()
    run = LiveRun(Training(ENDLESS), line, done.wait)
    run.begin()
    until(lambda: run.state == "training", run)
    time.sleep(0.2)
    assert run.step == 0
    done.set()
    until(lambda: run.step > 1, run)
    done.clear()
    run.stop()
    assert threads() == 0


def test_half_of_the_time_is_a_runs_own_however_busy_others_are(line, monkeypatch):
    """On a clock that only a step and a wait move: a step takes a tenth of a second."""
    now, begun_at = [0.0], []

    def wait(seconds: float) -> bool:
        now[0] += seconds
        return False

    training = Training(replace(ENDLESS, steps=20))
    taken = training.step
    monkeypatch.setattr(background_run, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=wait))
    monkeypatch.setattr(background_run, "MOST_COURTESY_SECONDS", 0.5)
    monkeypatch.setattr(background_run, "PATIENCE_SECONDS", 1000)
    monkeypatch.setattr(training, "step", lambda: begun_at.append(now[0]) or wait(0.1) or taken())
    run = LiveRun(training, line, wait)
    run.begin()
    until(lambda: run.state == "finished", run)
    waits = np.diff([0.0, *begun_at])
    assert (waits > 0.4).sum() == 4
    assert waits[waits > 0.4].sum() == pytest.approx(now[0] / 2, rel=0.1)


def test_a_slow_pace_holds_every_step_back(line):
    run = LiveRun(Training(SHORT), line)
    run.slowly = 0.2
    run.begin()
    until(lambda: run.state == "finished", run)
    assert run.seconds >= 5 * 0.2


def test_what_goes_wrong_is_kept_for_the_page(line, monkeypatch):
    run = LiveRun(Training(ENDLESS), line)
    monkeypatch.setattr(run.training, "step", lambda: 1 / 0)
    run.begin()
    until(lambda: run.state == "failed", run)
    assert isinstance(run.failure, ZeroDivisionError)
    run.begin()
    assert run.state == "failed"


@pytest.mark.parametrize("n", [1, 2, 7, 48, 49, 200, 1111])
def test_kept_frames_are_bounded_even_and_have_the_first_and_the_last(n):
    history = History(most=48)
    for number in range(n):
        history.add(number)
    assert len(history.frames) == n if n < 48 else 24 <= len(history.frames) <= 48
    assert (history.frames[0], history.frames[-1]) == (0, n - 1)
    steps = np.diff(history.frames[:-1])
    assert len(set(steps.tolist())) <= 1
