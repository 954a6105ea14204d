"""The QR code of a link: exact, or one sentence where the link is longer than a code holds."""

from streamlit.testing.v1 import AppTest


def qr_code(address: str) -> AppTest:
    def draw(address: str) -> None:
        from attnviz.ui.frame.toolbar import _qr_code

        _qr_code(address, "Opens this very picture")

    return AppTest.from_function(draw, kwargs={"address": address}, default_timeout=20).run()


def test_a_link_becomes_a_code() -> None:
    shown = qr_code("http://school.example:8501/encode?text=hello")
    assert "data:image/svg" in shown.get("html")[0].proto.body
    assert [each.value for each in shown.caption] == ["Opens this very picture: point a phone's camera at it."]


def test_a_code_of_an_address_of_this_machine_alone_says_so() -> None:
    assert "this machine only" in qr_code("http://localhost:8501/encode").caption[0].value


def test_a_link_that_no_code_holds_gets_one_sentence() -> None:
    shown = qr_code("http://school.example/encode?text=" + "é" * 3000)
    assert not shown.get("html")
    assert [each.value for each in shown.caption] == [
        "This link is too long for a QR code: shorten the text, or copy the link."
    ]
