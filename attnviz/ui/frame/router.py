"""Draw the menu, and the page that an address asks for: the script that Streamlit runs for every visitor at every click.

A server imports `app.py` once, so that cannot be this script. Nor does it stand beside `pages/`: Streamlit would take that
folder for pages of the older kind, and open the first one without the menu.
"""

import streamlit as st

from attnviz import memory
from attnviz.pages_and_addresses import PAGES, AppPage
from attnviz.settings import assets_folder, page_file
from attnviz.ui.address.address_sync import show_history
from attnviz.ui.background import jobs
from attnviz.ui.background.jobs import DRAWING_SECONDS, PRIORITY, PageWait
from attnviz.ui.classroom.view import ask_popover
from attnviz.ui.visitor_limits import bound_uploads


def draw() -> None:
    """Draw a page within its menu."""
    memory.bound_heaps()
    bound_uploads()
    icon = assets_folder() / "icon.svg"
    st.set_page_config(page_title="attnviz", page_icon=str(icon), layout="wide")
    st.logo(assets_folder() / "logo.svg", size="large", icon_image=icon)
    menu: dict[str, list[st.Page]] = {}
    for each in PAGES:
        menu.setdefault(each.section, []).append(_page(each))
    phone = st.Page(_join, title="Join a class", url_path="join", visibility="hidden")
    # Of more than twelve pages Streamlit shows ten, unless it is told to show all.
    page = st.navigation(menu | {"Learn": [*menu["Learn"], phone]}, expanded=True)
    if page is phone or (page.url_path == "" and "join" in st.query_params):
        _join()
        return
    st.session_state.waits = PageWait()
    with PRIORITY.at_work(DRAWING_SECONDS):
        _run(page)
        ask_popover()
    show_history()
    # A server whose visitors only look at Home does without PyTorch, which takes twice the memory of all the rest.
    if page.title != "Home" or st.session_state.get("is_drawn"):
        jobs.begin()
    st.session_state.is_drawn = True


def _join() -> None:
    """Draw the page of a phone, where no route but Streamlit's own arrives."""
    from attnviz.ui.classroom.phone_page import show_join

    show_join()


def _run(page: st.Page) -> None:
    """Draw a page, beside a lesson where the address names one; a class has the whole width."""
    name = page.url_path or "home"
    if name == "class" or ("lesson" not in st.query_params and "lesson" not in st.session_state.get("address", {})):
        page.run()
        return
    # Most visits read no Markdown, and ask nothing.
    from attnviz.ui.lessons import run_in_lesson

    run_in_lesson(name, "attnviz" if name == "home" else page.title, page.run)


def _page(page: AppPage) -> st.Page:
    icon = f":material/{page.icon}:"
    return st.Page(page_file(page.name), title=page.title, icon=icon, default=page.name == "home")


if __name__ == "__main__":
    draw()
