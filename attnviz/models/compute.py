"""The worked example of the page Compute, by the functions that models are made of, compared with the NumPy reference."""

from functools import partial

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from attnviz.core.head_inputs import PARAMETERS, Computed, Tables
from attnviz.nn import reference
from attnviz.nn.attention import attend


def compute(tables: Tables) -> Computed:
    """Compute every matrix from X to the output, in float64, and compare it with the reference.

    >>> eye, row = np.eye(2), np.ones((1, 2))
    >>> found = compute(Tables(("a",), row, eye, eye, eye, eye, np.ones((1, 1), dtype=bool)))
    >>> found.output.tolist(), found.difference < 1e-12
    ([[1.0, 1.0]], True)
    """
    of_library, of_reference = _library(tables), _reference(tables)
    distances = [float(np.abs(mine - oracle).max()) for mine, oracle in zip(of_library, of_reference, strict=True)]
    return Computed(*of_library, difference=max(distances))


def _library(tables: Tables) -> tuple[np.ndarray, ...]:
    tensor = partial(torch.tensor, dtype=torch.float64, device="cpu")
    # Tables are written as in the paper, x W; PyTorch's linear layers keep W transposed.
    w_q, w_k, w_v, w_o = (tensor(getattr(tables, name).T) for name in PARAMETERS)
    x, visible = tensor(tables.x), torch.tensor(tables.visible, device="cpu")
    flat = [F.linear(x, weight) for weight in (w_q, w_k, w_v)]
    query, key, value = (_split(each, tables.n_heads) for each in flat)
    scaling = tables.head_dim**-0.5 if tables.scaled else 1.0
    context, weights = attend(query, key, value, visible=visible, scaling=scaling)
    scores = query @ key.transpose(1, 2)
    concatenated = context.transpose(0, 1).flatten(start_dim=1)
    matrices = (*flat, scores, scores * scaling, weights, context, concatenated, F.linear(concatenated, w_o))
    return tuple(each.numpy() for each in matrices)


def _split(states: Tensor, n_heads: int) -> Tensor:
    return states.unflatten(-1, (n_heads, -1)).transpose(0, 1)


def _reference(tables: Tables) -> tuple[np.ndarray, ...]:
    parameters = {f"{name}.weight": getattr(tables, name).T for name in PARAMETERS}
    query, key, value = (reference.linear(tables.x, parameters, name) for name in PARAMETERS[:3])
    width = tables.head_dim
    scaling = 1 / np.sqrt(width) if tables.scaled else 1.0
    scores, weights, contexts = [], [], []
    for head in range(tables.n_heads):
        columns = slice(head * width, (head + 1) * width)
        attended = reference.attend(
            query[:, columns], key[:, columns], value[:, columns], visible=tables.visible, scaling=scaling
        )
        contexts.append(attended[0])
        weights.append(attended[1])
        scores.append(np.einsum("qd,kd->qk", query[:, columns], key[:, columns]))
    concatenated = np.concatenate(contexts, axis=-1)
    output = reference.linear(concatenated, parameters, "w_o")
    raw = np.stack(scores)
    return query, key, value, raw, raw * scaling, np.stack(weights), np.stack(contexts), concatenated, output
