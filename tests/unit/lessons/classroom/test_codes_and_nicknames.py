"""What may stand on the wall: codes, and nicknames."""

import pytest

from attnviz.core.errors import ClassError
from attnviz.lessons.classroom.codes_and_nicknames import new_code, read_nickname


def test_codes_and_nicknames() -> None:
    codes = {new_code() for _ in range(300)}
    assert len(codes) > 290
    assert not any(set(code) & set("AEIOUY0123456789") for code in codes)
    for typed in ("F u c k", "sch3isse", "N@zi", "ｆｕｃｋ", "pu\u200btain", "pu\u200dtain", "x" * 21, "\ud800"):
        with pytest.raises(ClassError, match="nickname"):
            read_nickname(typed)
    assert read_nickname("<b>Zoë</b>\u202e\x00") == "<b>Zoë</b>"
    for joined in ("می\u200cخواهم", "👩\u200d👧"):
        assert read_nickname(joined) == joined
    assert read_nickname("\u200d \u200c") == ""
