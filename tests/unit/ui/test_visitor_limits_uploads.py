"""What a server keeps of the files that visitors send."""

from types import SimpleNamespace

import pytest
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

from attnviz.core.errors import PromptError
from attnviz.ui.visitor_limits import Bounded, check_file


def record(name: str, size: int) -> UploadedFileRec:
    return UploadedFileRec(file_id=name, name=name, type="", data=b"x" * size)


def test_a_visit_keeps_its_last_file_and_all_visits_no_more_than_the_bound():
    manager = MemoryUploadedFileManager("/upload")
    add = Bounded(manager, 100).add_file
    for number in range(20):
        add("one", record(f"file {number}", 60))
    assert [each.name for each in manager.get_files("one", [f"file {number}" for number in range(20)])] == ["file 19"]
    add("two", record("other", 40))
    assert manager.get_files("one", ["file 19"])
    add("three", record("third", 50))
    assert not manager.get_files("one", ["file 19"])
    assert [each.name for each in manager.get_files("two", ["other"])] == ["other"]


def test_a_visit_that_stays_away_has_its_file_no_longer():
    manager, here = MemoryUploadedFileManager("/upload"), {"here", "back"}
    bounded = Bounded(manager, 100)
    for name in ("here", "back", "away"):
        bounded.add_file(name, record(name, 10))
    for away in ("back", "", ""):
        bounded.let_go(lambda name, away=away: name in here - {away})
        if away:
            assert manager.get_files("away", ["away"])
    assert [name for name in ("here", "back", "away") if manager.get_files(name, [name])] == ["here", "back"]
    bounded.add_file("away", record("away", 10))
    assert manager.get_files("away", ["away"])


def test_a_file_that_is_too_large_is_refused_where_it_is_received():
    check_file(SimpleNamespace(name="x.attn", size=2**20), 2**20)
    with pytest.raises(PromptError, match=r"x.attn has 1.0 MB, and at most 1 MB"):
        check_file(SimpleNamespace(name="x.attn", size=2**20 + 1), 2**20)
