"""The app as it is served, by `attnviz`, `streamlit run app.py`, Streamlit Cloud or `uvicorn app:app` alike."""

import streamlit as st

from attnviz.ui import server
from attnviz.ui.classroom.routes import ROUTES
from attnviz.ui.frame.silent_connections import closing_silent_connections

app = st.App(server.SCRIPT, middleware=server.MIDDLEWARE, routes=ROUTES, lifespan=closing_silent_connections)
