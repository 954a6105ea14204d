"""Lessons: what a class can do in a quarter of an hour, beside the pictures of the other pages."""

from attnviz.ui.address.address_sync import finish
from attnviz.ui.frame.toolbar import fill_toolbar
from attnviz.ui.layout import header, hero
from attnviz.ui.lessons import explain_lessons, show_cards, show_upload

header("lessons")
with hero():
    show_cards()
show_upload()
explain_lessons()
fill_toolbar("Opens all lessons")
finish()
