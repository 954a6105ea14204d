"""Class: a code for the wall, phones that guess, and their guesses on the picture."""

from attnviz.lessons.classroom.codes import read_code
from attnviz.ui.address.state import finish, publish, value
from attnviz.ui.classroom.view import open_link, show_class, show_downloads, show_management, show_start
from attnviz.ui.frame.toolbar import fill_toolbar
from attnviz.ui.layout import header, hero

header("Class", "Ask your class what a head looks at. Their guesses come back onto the picture.", page="classroom")
taught = open_link()
code = read_code(value("class", "")) or (taught.code if taught else "")
publish("class", code, "")
with hero():
    if code:
        show_class(code, taught)
    else:
        show_start()
if taught and taught.code == code:
    show_management(taught)
    with fill_toolbar("Opens what stands on the wall"):
        show_downloads(taught)
else:
    fill_toolbar("Opens what stands on the wall")
finish()
