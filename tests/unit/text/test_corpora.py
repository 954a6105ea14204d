"""Sentences that are read from files: what is none gets one sentence."""

import pytest

from attnviz.core.errors import CorpusError
from attnviz.text.corpora import corpus


def test_bad_corpora_get_one_sentence(tmp_path):
    (tmp_path / "empty.txt").write_text("\n\n")
    (tmp_path / "bad.txt").write_bytes(b"fine\n\xff\xfe")
    (tmp_path / "bad.txt.gz").write_bytes(b"no gzip")
    (tmp_path / "bad.conllu").write_text("1\tone\n")
    (tmp_path / "a.json").write_text('["A dog."]')
    for name, wrong in (("empty.txt", "holds no sentence"), ("bad.txt", "no text in UTF-8"), ("bad.txt.gz", "cannot be read"),
                        ("bad.conllu", "line 1"), ("none.txt", "There is no corpus"),
                        ("a.json", "list of texts, and here")):  # fmt: skip
        with pytest.raises(CorpusError, match=wrong):
            corpus(str(tmp_path / name))
