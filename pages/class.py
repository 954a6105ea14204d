"""Class: a code for the wall, phones that guess, and their guesses on the picture."""

from attnviz.ui.address.address_sync import finish, publish
from attnviz.ui.classroom.view import class_here, show_class, show_downloads, show_management, show_start
from attnviz.ui.frame.toolbar import fill_toolbar
from attnviz.ui.layout import header, hero

header("class")
code, taught = class_here()
publish("class", code, "")
with hero():
    if code:
        show_class(code, taught)
    else:
        show_start()
if taught:
    show_management(taught)
with fill_toolbar("Opens what stands on the wall"):
    if taught:
        show_downloads(taught)
finish()
