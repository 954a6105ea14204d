"""Where the app and its assets lie: at the top of a checkout, or inside the installed package."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def app_folder() -> Path:
    """The folder that holds app.py, pages/, assets/ and .streamlit/.

    >>> (app_folder() / "app.py").name
    'app.py'
    """
    # An editable install leaves a copy in site-packages; the checkout that holds this very file is the live one.
    checkout = _PACKAGE.parent
    is_checkout = (checkout / "pyproject.toml").is_file() and (checkout / "app.py").is_file()
    return checkout if is_checkout else _PACKAGE / "_app"


def page_file(name: str) -> Path:
    """The script of a page of the app.

    >>> page_file("encode").name
    'encode.py'
    """
    return app_folder() / "pages" / f"{name}.py"


def assets_folder() -> Path:
    """The folder of the examples and of the models that travel with attnviz."""
    return app_folder() / "assets"
