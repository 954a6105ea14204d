"""Settings are read in one place, told in one table, and a mistake in one is told in one sentence."""

import re
from pathlib import Path

import pytest

from attnviz import cli, settings
from attnviz.core.errors import ModelNotFoundError, PromptError, SettingError
from attnviz.ui import visitor_limits as ui

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| `([A-Z_]+)` \| (.+?) \| .+ \|$", re.MULTILINE)


def test_the_table_has_every_setting_with_its_default() -> None:
    documented = dict(ROW.findall((ROOT / "docs/settings.md").read_text(encoding="utf-8")))
    assert list(documented) == list(settings.SETTINGS)
    for name, setting in settings.SETTINGS.items():
        assert (documented[name] == f"`{setting.default}`") == bool(setting.default), name


def test_the_environment_is_read_in_one_place() -> None:
    reading = re.compile(r"environ\b|getenv")
    files = [ROOT / "app.py", *ROOT.glob("pages/*.py"), *ROOT.glob("attnviz/**/*.py")]
    actual = [path.relative_to(ROOT) for path in files if reading.search(path.read_text(encoding="utf-8"))]
    assert actual == [Path("attnviz/settings.py")]


@pytest.mark.parametrize("value", ["many", "-3", "0", "inf", "nan", "0.5"])
def test_a_mistake_is_named_before_the_app_starts(
    value: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ATTNVIZ_RUNS", value)
    with pytest.raises(SettingError, match="ATTNVIZ_RUNS must be a positive number, such as 2"):
        settings.number("ATTNVIZ_RUNS")
    assert cli.main([]) == 1
    assert f"ATTNVIZ_RUNS must be a positive number, such as 2, not {value!r}" in capsys.readouterr().err


def test_numbers_and_answers_are_read_as_people_write_them(monkeypatch: pytest.MonkeyPatch) -> None:
    for written, want in (("7e9", 7_000_000_000), (" 12 ", 12), ("", None)):
        monkeypatch.setenv("ATTNVIZ_MAX_PARAMETERS", written)
        assert settings.number("ATTNVIZ_MAX_PARAMETERS") == want
    for written, want in (("1", True), ("TRUE", True), ("0", False), ("no", False), ("", None)):
        monkeypatch.setenv("HF_HUB_OFFLINE", written)
        assert settings.yes("HF_HUB_OFFLINE") is want


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("ATTNVIZ_DEVICE", "foo", "ATTNVIZ_DEVICE names 'foo', which this machine does not have"),
        ("ATTNVIZ_DTYPE", "half", "ATTNVIZ_DTYPE must be float32, bfloat16 or float16, not 'half'"),
        ("ATTNVIZ_ALLOW_FOLDERS", "flase", "ATTNVIZ_ALLOW_FOLDERS must be 1 or 0, not 'flase'"),
        (
            "ATTNVIZ_HOSTS",
            "https://school.example",
            "and 'https://school.example' is none",
        ),
        ("ATTNVIZ_ADDRESS", "attnviz.school.example", "such as https://attnviz.school.example, not 'attnviz.school.example'"),
        ("ATTNVIZ_ADDRESS", "https://*.school.example", "not 'https://*.school.example'"),
        ("ATTNVIZ_BLOCKED_WORDS", "no/such/words.txt", "ATTNVIZ_BLOCKED_WORDS names no/such/words.txt, which cannot be read"),
        ("ATTNVIZ_HOSTS", "school.example:80", "and 'school.example:80' is none"),
    ],
)
def test_every_setting_is_checked_before_the_app_starts(
    name: str, value: str, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.execv", lambda *_: pytest.fail("it started"))
    monkeypatch.setenv(name, value)
    assert cli.main([]) == 1
    assert message in capsys.readouterr().err


def test_words_stand_in_the_setting_or_in_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ATTNVIZ_BLOCKED_WORDS", "merde, two words,")
    assert settings.words("ATTNVIZ_BLOCKED_WORDS") == ("merde", "two words")
    path = tmp_path / "words.txt"
    path.write_bytes("\ufeffmerde\r\n\r\nStraße\n".encode())
    monkeypatch.setenv("ATTNVIZ_BLOCKED_WORDS", str(path))
    assert settings.words("ATTNVIZ_BLOCKED_WORDS") == ("merde", "Straße")
    monkeypatch.delenv("ATTNVIZ_BLOCKED_WORDS")
    assert settings.words("ATTNVIZ_BLOCKED_WORDS") == ()


def test_a_variable_that_sets_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTNVIZ_ALOW_FOLDERS", "1")
    monkeypatch.setenv("ATTNVIZ_XYZZY", "1")
    assert settings.unknown() == [
        "ATTNVIZ_ALOW_FOLDERS sets nothing: is ATTNVIZ_ALLOW_FOLDERS meant?",
        "ATTNVIZ_XYZZY sets nothing: docs/settings.md has all that can be set.",
    ]


def test_a_public_app_offers_what_it_lists_and_what_travels_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ATTNVIZ_MODELS", raising=False)
    assert ui.any_model()
    assert ui.offered(["minilm", "gpt2", "mine"]) == ["minilm", "gpt2", "mine"]
    monkeypatch.setenv("ATTNVIZ_MODELS", "gpt2, t5-small /srv/mine")
    assert not ui.any_model()
    assert ui.offered(["minilm", "gpt2", "other"]) == ["minilm", "gpt2"]
    assert ui.is_listed("/srv/mine")
    assert not ui.is_listed("/srv")
    with pytest.raises(ModelNotFoundError, match=r"other is not offered here: .* and gpt2, t5-small, /srv/mine\."):
        ui.check_offered("other")
    monkeypatch.setenv("ATTNVIZ_MODELS", "")
    assert ui.offered(["minilm", "gpt2"]) == ["minilm"]


def test_a_text_that_is_too_long_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTNVIZ_MAX_CHARACTERS", "7")
    ui.check_length("1234567", None, "")
    with pytest.raises(PromptError, match="more than 7 characters"):
        ui.check_length("a", "12345678")
