"""The router: which pages there are, and nothing else."""

import streamlit as st

from attnviz import memory
from attnviz.paths import app_folder, assets_folder
from attnviz.ui.address.history import show_history
from attnviz.ui.background import import_ahead
from attnviz.ui.background.jobs import DRAWING_SECONDS, PRIORITY
from attnviz.ui.background.uploads import bound_uploads

import_ahead.finish()
memory.bound_heaps()
bound_uploads()
st.set_page_config(page_title="attnviz", page_icon=str(assets_folder() / "icon.svg"), layout="wide")
st.logo(assets_folder() / "logo.svg", size="large", icon_image=assets_folder() / "icon.svg")
pages = app_folder() / "pages"
page = st.navigation(
    [
        st.Page(pages / "home.py", title="Home", icon=":material/home:", default=True),
        st.Page(pages / "encode.py", title="Encode", icon=":material/grid_on:"),
        st.Page(pages / "translate.py", title="Translate", icon=":material/translate:"),
        st.Page(pages / "answer.py", title="Answer", icon=":material/quiz:"),
        st.Page(pages / "summarize.py", title="Summarize", icon=":material/short_text:"),
        st.Page(pages / "heads.py", title="Heads", icon=":material/manage_search:"),
        st.Page(pages / "compare.py", title="Compare", icon=":material/compare_arrows:"),
        st.Page(pages / "matters.py", title="Matters", icon=":material/balance:"),
        st.Page(pages / "ablate.py", title="Ablate", icon=":material/tune:"),
        st.Page(pages / "compute.py", title="Compute", icon=":material/calculate:"),
        st.Page(pages / "train.py", title="Train", icon=":material/model_training:"),
    ]
)
with PRIORITY.at_work(DRAWING_SECONDS):
    page.run()
show_history()
