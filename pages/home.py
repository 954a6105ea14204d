"""Home: what attnviz is, a picture to start from, and the way to every page."""

import streamlit as st

st.title("attnviz")
