"""The app as it is served, by `attnviz`, `streamlit run app.py`, Streamlit Cloud or `uvicorn app:app` alike."""

import streamlit as st

from attnviz.ui.classroom.routes import ROUTES
from attnviz.ui.server import MIDDLEWARE, SCRIPT, closing_silent_connections

app = st.App(SCRIPT, middleware=MIDDLEWARE, routes=ROUTES, lifespan=closing_silent_connections)
