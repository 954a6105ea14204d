"""The store that a server opens forgets, by itself, classes whose day is over."""

import time
from pathlib import Path

import pytest
from sqlalchemy import update

from attnviz.lessons.classroom.store import CLASSES, ClassStore
from attnviz.ui.classroom import running_class as server


def test_a_class_whose_day_is_over_is_deleted_though_nobody_starts_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"sqlite:///{tmp_path / 'classes.sqlite'}"
    before = ClassStore(address)
    before.start()
    with before._writing() as connection:
        connection.execute(update(CLASSES).values(started=time.time() - 86_401))
    monkeypatch.setenv("ATTNVIZ_CLASS_STORE", address)
    server.class_store()
    deadline = time.monotonic() + 60
    while classes(before) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert classes(before) == []
    before.dispose()


def classes(store: ClassStore) -> list:
    with store._reading() as connection:
        return list(connection.execute(CLASSES.select()).all())


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("sqlite:////var/lib/attnviz/classes.sqlite", "the file /var/lib/attnviz/classes.sqlite of this server"),
        ("postgresql+psycopg://teacher:p@ss:w/rd@db.school.example:5432/classes", "the database at db.school.example:5432"),
        ("postgresql+psycopg:///classes", "the database at this server"),
        ("postgresql+psycopg://db.school.example?user=teacher&password=geheim", "the database at db.school.example"),
    ],
)
def test_teachers_read_where_answers_are_and_no_password(address: str, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTNVIZ_CLASS_STORE", address)
    assert server.store_place() == place


def test_classes_are_kept_in_the_users_own_folder_whatever_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "Schüler & Co's 100%41 #1 why?"
    monkeypatch.delenv("ATTNVIZ_CLASS_STORE", raising=False)
    monkeypatch.setattr(server, "user_state_path", lambda name: folder / name)
    server.class_store().start()
    file = folder / "attnviz" / "classes.sqlite"
    assert file.stat().st_size > 0
    assert server.store_place() == f"the file {file} of this server"
    assert [path.name for path in tmp_path.iterdir()] == [folder.name]
