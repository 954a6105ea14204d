"""What stands around the boxes that a person types in."""

from streamlit.testing.v1 import AppTest


def page() -> None:
    import streamlit as st

    import attnviz
    from attnviz.ui.prompt_box import long_notice, show_text_notices

    long_notice("text", st.session_state.get("typed", ""))
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
