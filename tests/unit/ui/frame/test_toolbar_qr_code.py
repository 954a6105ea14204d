"""The QR code of a link: exact, or one sentence where the link is longer than a code holds."""

import socket

import pytest
import segno
from streamlit.testing.v1 import AppTest

from attnviz.ui.frame import toolbar


def shown_code(address: str) -> AppTest:
    def draw(address: str) -> None:
        from attnviz.ui.frame.toolbar import show_qr_code

        show_qr_code(address, "Opens this very picture")

    return AppTest.from_function(draw, kwargs={"address": address}, default_timeout=20).run()


def test_a_link_becomes_a_code() -> None:
    shown = shown_code("http://school.example:8501/encode?text=hello")
    assert "data:image/svg" in shown.get("html")[0].proto.body
    assert [each.value for each in shown.caption] == ["Opens this very picture: point a phone's camera at it."]


def test_a_code_of_an_address_of_this_machine_alone_says_so_and_how_to_open_it(monkeypatch: pytest.MonkeyPatch) -> None:
    # On all of 127.0.0.0/8 this machine answers, so that one of them stands here for its address in a network.
    monkeypatch.setattr(toolbar, "own_number", lambda: "127.0.0.2")
    with socket.create_server(("127.0.0.1", 0)) as server:
        said = shown_code(f"http://localhost:{server.getsockname()[1]}/encode").caption[0].value
    assert "this machine only" in said
    assert "--host 0.0.0.0" in said


def test_where_the_app_listens_in_the_network_phones_get_its_address_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolbar, "own_number", lambda: "127.0.0.2")
    made: list[str] = []
    real = segno.make
    monkeypatch.setattr(segno, "make", lambda text, **options: made.append(text) or real(text, **options))
    with socket.create_server(("0.0.0.0", 0)) as server:
        port = server.getsockname()[1]
        said = shown_code(f"http://localhost:{port}/encode?text=a%20b").caption[0].value
    assert made == [f"http://127.0.0.2:{port}/encode?text=a%20b"]
    assert f"127.0.0.2:{port}" in said


def test_a_link_that_no_code_holds_gets_one_sentence() -> None:
    shown = shown_code("http://school.example/encode?text=" + "é" * 3000)
    assert not shown.get("html")
    assert [each.value for each in shown.caption] == [
        "This link is too long for a QR code: shorten the text, or copy the link."
    ]
