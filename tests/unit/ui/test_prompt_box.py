"""What stands around the boxes that a person types in."""

from streamlit.testing.v1 import AppTest


def page() -> None:
    import streamlit as st

    import attnviz
    from attnviz.ui.prompt_box import long_notice, show_text_notices

    long_notice(text=st.session_state.get("typed", ""), second_text=st.session_state.get("second", ""))
    text = st.session_state.get("read", "")
    show_text_notices(*([attnviz.run(attnviz.load("minilm"), "encode", text)] if text else []))
    st.container(border=True)


def test_a_notice_moves_the_picture_into_no_other_part_of_the_page() -> None:
    app = AppTest.from_function(page).run()
    without = max(app.main.children)
    app.session_state.typed, app.session_state.read = "a" * 5_000, "Der Hund schläft auf dem Sofa."
    app.run()
    assert (len(app.caption), len(app.info)) == (1, 1)
    assert max(app.main.children) == without


def test_whichever_text_is_too_long_for_an_address_is_named() -> None:
    app = AppTest.from_function(page)
    for texts, says in (
        ({"second": "a" * 4_001}, "This second text is"),
        ({"typed": "a" * 4_001, "second": "b" * 4_001}, "This text is"),
    ):
        for name, text in texts.items():
            app.session_state[name] = text
        app.run()
        assert [each.value.startswith(says) for each in app.caption] == [True]
