"""What holds for every test: shapes are checked, nothing is random, and nothing leaves this machine."""

import gc
import importlib
import ipaddress
import os
import random
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import jaxtyping
import numpy as np
import pytest

from tests import shared, workers

os.environ["HF_HUB_OFFLINE"] = "1"
# What a test expects was computed on a processor; `tests/contract/test_real_card.py` alone computes on a card.
os.environ["ATTNVIZ_DEVICE"] = "cpu"
os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
# What a module imports under jaxtyping's hook is looked for under another name, and compiled anew: large libraries come first.
LIBRARIES = ("beartype", "matplotlib.figure", "pandas", "scipy.stats", "streamlit", "transformers.modeling_utils")

# A busy machine is no failure.
hypothesis.settings.register_profile("attnviz", deadline=None)
hypothesis.settings.load_profile("attnviz")


def pytest_configure(config: pytest.Config) -> None:
    """Check every annotated shape whenever a function of ours is called, before anything of ours is imported."""
    if shared.FOLDER not in os.environ:
        shared.begin()
        config.add_cleanup(shared.end)
        # The process that only hands out tests to workers needs none of the rest, and its workers wait for it.
        if config.getoption("numprocesses", 0):
            workers.copy_one_process(config)
            return
    gc.disable()
    for library in LIBRARIES:
        importlib.import_module(library)
    importlib.import_module("tests.checking").install()


# Fixtures that start a database or a proxy, and folders whose tests need a browser or train models.
OF_THE_GATE, FOLDERS_OF_THE_GATE = {"postgres", "proxy"}, ("tests/browser", "tests/recipes", "recipes")


def is_of_the_gate(item: pytest.Item) -> bool:
    """Say whether a test without a mark is left to `make gate`: it needs a browser, database or proxy, or tests recipes."""
    folder = item.path.relative_to(item.config.rootpath).parent.as_posix()
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    return (
        folder.startswith(FOLDERS_OF_THE_GATE)
        or not OF_THE_GATE.isdisjoint(getattr(item, "fixturenames", ()))
        or any(isinstance(each, str) and each == "postgresql" for each in parameters.values())
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out folders whose tests `make test` does not run: to import what they need takes seconds."""
    leaves_out = config.getoption("markexpr") == "not gate" and collection_path.is_relative_to(config.rootpath)
    return (leaves_out and collection_path.relative_to(config.rootpath).as_posix() in FOLDERS_OF_THE_GATE) or None


# First: pytest's own choice by marks comes after it.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if is_of_the_gate(item):
            item.add_marker("gate")


def pytest_collection_finish() -> None:
    """What is imported stays: no garbage is looked for in it, neither while it comes nor later."""
    gc.freeze()
    # Looked for every 700 objects, garbage took a thirtieth of the time of the tests.
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


def pytest_runtest_setup() -> None:
    importlib.import_module("tests.checking").begin_test()


@pytest.fixture(autouse=True)
def _seeds() -> None:
    random.seed(2017)
    np.random.seed(2017)
    import torch

    # That of the processor alone: `torch.manual_seed` notes the whole stack of calls for each kind of card, a millisecond.
    torch.default_generator.manual_seed(2017)
    # Tiny models lose more by sharing work between threads than they win.
    torch.set_num_threads(1)


@pytest.fixture(scope="session", autouse=True)
def _models_kept() -> Iterator[None]:
    """What one test has loaded is there for the next."""
    from attnviz.models.hub import minilm
    from tests import kept_models

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("attnviz.models.catalog._listed", kept_models.listed)
        patch.setattr(minilm, "load_folder", kept_models.copied(minilm.load_folder))
        yield


@pytest.fixture
def own_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that a test loads belongs to it alone."""
    from tests import kept_models

    monkeypatch.setattr("attnviz.models.catalog._listed", kept_models.find)


@pytest.fixture(scope="session", autouse=True)
def _class_store(tmp_path_factory: pytest.TempPathFactory) -> None:
    os.environ["ATTNVIZ_CLASS_STORE"] = f"sqlite:///{tmp_path_factory.mktemp('classes') / 'classes.sqlite'}"


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a database of PostgreSQL's."""
    from tests.postgres import cluster

    with cluster() as address:
        yield address


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Shapes and types are not checked, as they are not for a user: what is left are the checks in the code itself.

    The checks take half of the time of a test that decodes a lot, and other tests have them for the same functions.
    """
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """A random translator never comes to an end by itself: it writes seven pieces."""
    monkeypatch.setattr("attnviz.models.shipped_translators.TranslationModel.longest", lambda self, n_keys: 7)


def _is_local(address: object) -> bool:
    if not isinstance(address, tuple):
        return True  # a Unix socket is a path
    host = str(address[0])
    if host in ("", "localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback or ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fails the test that opens a connection to anywhere else, even where the code under test swallows the error."""
    tried: list[object] = []

    def guarded(connect: Callable) -> Callable:
        def call(self: socket.socket, address: object) -> object:
            if not _is_local(address):
                tried.append(address)
                raise OSError(f"a test tried to reach {address}")
            return connect(self, address)

        return call

    monkeypatch.setattr(socket.socket, "connect", guarded(socket.socket.connect))
    monkeypatch.setattr(socket.socket, "connect_ex", guarded(socket.socket.connect_ex))
    yield
    assert not tried, f"the test tried to reach {tried}"
