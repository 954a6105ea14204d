"""What attnviz computes in float64: the same code, in which every mention of float32 means float64, and models of float64.

So a number can be held against what its arithmetic gives where next to nothing is rounded.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, TypeVar
from unittest import mock

import numpy as np
import torch
from torch import nn

from attnviz.core import weights
from attnviz.models.base import AttentionModel, silent
from tests.kept_models import find

Model = TypeVar("Model")


@cache
def exact(name: str) -> AttentionModel:
    """Load a model of the catalog with weights of float64; never within `in_float64`."""
    return doubled(find(name)(silent))


def doubled(model: Model) -> Model:
    """Turn the weights of a model that nobody else uses into float64, the encoder that it stands on with them."""
    for each in [getattr(model, each.name) for each in fields(model)] if is_dataclass(model) else vars(model).values():
        if isinstance(each, nn.Module):
            each.double()
        elif is_dataclass(each) and not isinstance(each, type):
            doubled(each)
    return model


@contextmanager
def in_float64() -> Iterator[None]:
    """Compute in float64 within this context, which holds for the whole process; models are loaded before it."""
    double: Any = np.float64
    with (
        mock.patch.object(np, "float32", double),
        mock.patch.object(torch, "float32", torch.float64),
        mock.patch.object(torch.Tensor, "float", torch.Tensor.double),
        mock.patch.object(weights.frozen, "__defaults__", (double,)),
    ):
        usual = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        try:
            yield
        finally:
            torch.set_default_dtype(usual)
