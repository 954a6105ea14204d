"""Lessons that teachers send: whose stay when there are too many."""

from attnviz.lessons.lesson_file import read_lesson
from attnviz.lessons.library import SentLessons, shipped_lessons


def test_files_of_one_visitor_push_out_nobody_elses() -> None:
    kept, own = SentLessons(5), read_lesson(shipped_lessons()["what-is-it"])
    kept.keep("teacher", own, "192.0.2.1", "a")
    kept.keep("colleague", own, "192.0.2.2", "b")
    for number in range(20):
        # A visitor of the school's own network, on a page that is opened anew for every other file.
        kept.keep(f"flood-{number}", own, "192.0.2.1", f"c{number // 2}")
        assert kept.find("teacher") is own
    assert kept.find("colleague") is own
    assert [number for number in range(20) if kept.find(f"flood-{number}")][-1] == 19
    assert sum(kept.find(f"flood-{number}") is not None for number in range(20)) == 3
    assert kept.find("nobody") is None
