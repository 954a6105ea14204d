"""What whoever runs attnviz may set: environment variables, all of them read here and nowhere else."""

import difflib
import os
import re
import unicodedata
from pathlib import Path
from typing import Literal, NamedTuple

from attnviz.core.errors import SettingError

_PACKAGE = Path(__file__).resolve().parent


def app_folder() -> Path:
    """Find the folder that holds app.py, pages/, assets/ and .streamlit/.

    >>> (app_folder() / "app.py").name
    'app.py'
    """
    # An editable install leaves a copy in site-packages; the checkout that holds this very file is the live one.
    checkout = _PACKAGE.parent
    is_checkout = (checkout / "pyproject.toml").is_file() and (checkout / "app.py").is_file()
    return checkout if is_checkout else _PACKAGE / "_app"


def page_file(name: str) -> Path:
    """Find the script of a page of the app.

    >>> page_file("encode").name
    'encode.py'
    """
    return app_folder() / "pages" / f"{name}.py"


def assets_folder() -> Path:
    """Find the folder of the examples and of the models that travel with attnviz."""
    return app_folder() / "assets"


class Setting(NamedTuple):
    """What may be written in it, and what holds where it is not set; "": a rule that docs/settings.md tells."""

    kind: Literal["number", "text", "names", "words", "hosts", "sites", "address", "yes"]
    default: str = ""
    choices: tuple[str, ...] = ()


SETTINGS = {
    "ATTNVIZ_DEVICE": Setting("text"),
    "ATTNVIZ_DTYPE": Setting("text", choices=("float32", "bfloat16", "float16")),
    "ATTNVIZ_MODELS": Setting("names"),
    "ATTNVIZ_HOSTS": Setting("hosts"),
    "ATTNVIZ_ADDRESS": Setting("address"),
    "ATTNVIZ_FRAME_SITES": Setting("sites"),
    "ATTNVIZ_ALLOW_FOLDERS": Setting("yes"),
    "ATTNVIZ_ALLOW_PICKLES": Setting("yes"),
    "ATTNVIZ_MAX_PARAMETERS": Setting("number"),
    "ATTNVIZ_MAX_TOKENS": Setting("number", "2048"),
    "ATTNVIZ_MAX_CHARACTERS": Setting("number", "100000"),
    "ATTNVIZ_LESSONS": Setting("text"),
    "ATTNVIZ_BLOCKED_WORDS": Setting("words"),
    "ATTNVIZ_MESSAGE_MB": Setting("number", "8"),
    "ATTNVIZ_FILE_MB": Setting("number", "64"),
    "ATTNVIZ_RUNS": Setting("number", "2"),
    "ATTNVIZ_TRAININGS": Setting("number", "2"),
    "ATTNVIZ_MEMORY_MB": Setting("number"),
    "ATTNVIZ_CLASS_STORE": Setting("text"),
    "HF_HUB_OFFLINE": Setting("yes"),
    "FORWARDED_ALLOW_IPS": Setting("names"),
}
_YES, _NO = {"1", "on", "yes", "true"}, {"0", "off", "no", "false"}
_HOST = re.compile(r"[\w-]+(\.[\w-]+)*")
# What may stand in a header: a scheme, a name, which may begin with *., and a port.
_SITE = re.compile(r"https?://(\*\.)?[\w-]+(\.[\w-]+)*(:\d+)?", re.ASCII)


def text(name: str) -> str:
    """Read a setting as it was written; its default where it is empty or not set.

    Raises:
        SettingError: it is none of its choices.
    """
    value = os.environ.get(name, "").strip() or SETTINGS[name].default
    if value and (choices := SETTINGS[name].choices) and value not in choices:
        raise SettingError(f"{name} must be {', '.join(choices[:-1])} or {choices[-1]}, not {value!r}; change it, or unset it.")
    return value


def number(name: str) -> int | None:
    """Read a positive whole number, which may be written as "1.5e9"; None where it has no default and is not set.

    Raises:
        SettingError: it is set to something else.
    """
    if not (value := text(name)):
        return None
    try:
        size = int(float(value))
    except (ValueError, OverflowError):
        size = 0
    if size < 1:
        example = SETTINGS[name].default or "2000000000"
        raise SettingError(f"{name} must be a positive number, such as {example}, not {value!r}; change it, or unset it.")
    return size


def limit(name: str) -> int:
    """Read a setting that is a number and has a default.

    >>> limit("ATTNVIZ_RUNS") >= 1
    True

    Raises:
        SettingError: it is set to something else.
    """
    return number(name) or int(SETTINGS[name].default)


def yes(name: str) -> bool | None:
    """Say whether a setting says yes: "1", "on", "yes" or "true"; None where it is empty or not set."""
    value = text(name)
    return value.casefold() in _YES if value else None


def names(name: str) -> tuple[str, ...] | None:
    """Read a setting that lists names, between commas or spaces: none where it is empty, None where it is not set."""
    written = os.environ.get(name)
    return None if written is None else tuple(written.replace(",", " ").split())


def words(name: str) -> tuple[str, ...]:
    """Read a setting that lists words between commas, or names a text file of them, one a line; none where it is not set.

    Raises:
        SettingError: the file cannot be read.
    """
    value = text(name)
    if value.endswith(".txt") or os.sep in value:
        try:
            value = Path(value).expanduser().read_text(encoding="utf-8-sig")
        except (OSError, ValueError) as error:
            raise SettingError(f"{name} names {value}, which cannot be read as text: name a text file of words.") from error
    listed = (unicodedata.normalize("NFC", each.strip()) for each in re.split(r"[,\n]", value))
    return tuple(filter(None, listed))


def sites(name: str) -> tuple[str, ...]:
    """Read a setting that lists sites, such as https://moodle.school.example; none where it is not set.

    Raises:
        SettingError: one of them is no site.
    """
    for value in (listed := names(name) or ()):
        if not _SITE.fullmatch(value):
            raise SettingError(f"{name} lists sites such as https://moodle.school.example, and {value!r} is none; change it.")
    return listed


def address() -> str:
    """Return where the app is reached, such as https://attnviz.school.example; empty where ATTNVIZ_ADDRESS is not set.

    Raises:
        SettingError: it is no such address.
    """
    value = text("ATTNVIZ_ADDRESS").rstrip("/")
    if value and ("*" in value or not _SITE.fullmatch(value)):
        raise SettingError(
            f"ATTNVIZ_ADDRESS is where the app is reached, such as https://attnviz.school.example, not {value!r}; change it."
        )
    return value


def check() -> None:
    """Reads every setting, so that a mistake is told before anything is computed; a device is asked for where models compute.

    Raises:
        SettingError: one of them holds what cannot be.
    """
    for name, setting in SETTINGS.items():
        if setting.kind == "number":
            number(name)
        elif setting.choices:
            text(name)
        elif setting.kind == "yes" and (value := text(name)) and value.casefold() not in _YES | _NO:
            raise SettingError(f"{name} must be 1 or 0, not {value!r}; change it, or unset it.")
        elif setting.kind == "hosts":
            for value in names(name) or ():
                if not _HOST.fullmatch(value):
                    raise SettingError(f"{name} lists names such as attnviz.school.example, and {value!r} is none; change it.")
        elif setting.kind == "sites":
            sites(name)
        elif setting.kind == "words":
            words(name)
        elif setting.kind == "address":
            address()


def unknown() -> list[str]:
    """Write one sentence for each environment variable that looks like a setting and is none.

    >>> os.environ["ATTNVIZ_DEVCE"] = "cpu"
    >>> unknown()
    ['ATTNVIZ_DEVCE sets nothing: is ATTNVIZ_DEVICE meant?']
    >>> del os.environ["ATTNVIZ_DEVCE"]
    """
    hints = []
    for name in sorted(name for name in os.environ if name.startswith("ATTNVIZ_") and name not in SETTINGS):
        near = difflib.get_close_matches(name, SETTINGS, 1, cutoff=0.8)
        hints.append(f"{name} sets nothing: {f'is {near[0]} meant?' if near else 'docs/settings.md has all that can be set.'}")
    return hints
