"""The three kinds of attention that a model may have."""

from typing import Literal, get_args

Kind = Literal["encoder", "decoder", "cross"]
KINDS: tuple[Kind, ...] = get_args(Kind)
