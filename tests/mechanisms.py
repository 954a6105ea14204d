"""The mechanisms of the papers in plain NumPy, for the torch modules to be tested against.

It shares no code with them: heads are a loop here and a reshape there. `parameters` maps the names of a torch module's
`state_dict` to arrays. Speed is no concern.
"""

import numpy as np
from jaxtyping import Bool, Float

from attnviz.nn.reference import Parameters, attend, linear, softmax


def both_visible(
    n_queries: int, n_keys: int, visible: Bool[np.ndarray, "batch key"] | None, causal: bool
) -> Bool[np.ndarray, "#batch query key"]:
    """Key j is visible to query i unless it is padding, or, where causal, later than i; the last query is the last key."""
    seen = np.ones((1, n_queries, n_keys), dtype=bool)
    if causal:
        # Counted from the end, so that a query keeps its place when the keys began before it.
        from_end = np.arange(n_queries)[:, None] - n_queries, np.arange(n_keys)[None, :] - n_keys
        seen = seen & (from_end[1] <= from_end[0])
    return seen if visible is None else seen & visible[:, None, :]


def single_head_attention(
    states: Float[np.ndarray, "batch query query_dim"],
    memory: Float[np.ndarray, "batch key memory_dim"],
    parameters: Parameters,
    *,
    scaled: bool = True,
    visible: Bool[np.ndarray, "batch key"] | None = None,
    causal: bool = False,
) -> tuple[Float[np.ndarray, "batch query dim"], Float[np.ndarray, "batch query key"]]:
    """Attention with one projection each for queries, keys and values; self-attention where memory is the states."""
    query, key = linear(states, parameters, "query"), linear(memory, parameters, "key")
    value = linear(memory, parameters, "value")
    seen = both_visible(states.shape[1], memory.shape[1], visible, causal)
    return attend(query, key, value, visible=seen, scaling=None if scaled else 1.0)


def multi_head_attention(
    states: Float[np.ndarray, "batch query dim"],
    memory: Float[np.ndarray, "batch key dim"],
    parameters: Parameters,
    *,
    n_heads: int,
    visible: Bool[np.ndarray, "batch key"] | None = None,
    causal: bool = False,
) -> tuple[Float[np.ndarray, "batch query dim"], Float[np.ndarray, "batch head query key"]]:
    """Concat(head_1, …, head_h) W_O, Vaswani et al. 2017, section 3.2.2: one head after the other, as it is written there."""
    width = states.shape[-1] // n_heads
    seen = both_visible(states.shape[1], memory.shape[1], visible, causal)
    contexts, weights = [], []
    for head in range(n_heads):
        # W_i^Q, W_i^K and W_i^V are the rows of the whole matrices that belong to head i.
        rows = slice(head * width, (head + 1) * width)
        query, key = linear(states, parameters, "query", rows), linear(memory, parameters, "key", rows)
        head_context, head_weights = attend(query, key, linear(memory, parameters, "value", rows), visible=seen)
        contexts.append(head_context)
        weights.append(head_weights)
    return linear(np.concatenate(contexts, axis=-1), parameters, "output"), np.stack(weights, axis=1)


def additive_attention(
    states: Float[np.ndarray, "batch query query_dim"],
    memory: Float[np.ndarray, "batch key memory_dim"],
    parameters: Parameters,
    *,
    visible: Bool[np.ndarray, "batch key"] | None = None,
) -> tuple[Float[np.ndarray, "batch query memory_dim"], Float[np.ndarray, "batch query key"]]:
    """c_i = Σ_j α_ij h_j with e_ij = vᵀ tanh(W s_i + U h_j): Bahdanau et al. 2014, section 3.1, one query after the other."""
    annotations = linear(memory, parameters, "key")
    rows = []
    for query in range(states.shape[1]):
        # One decoder step: its state is compared with every annotation of the sentence.
        state = linear(states[:, query : query + 1], parameters, "query")
        energy = linear(np.tanh(state + annotations), parameters, "energy")[:, None, :, 0]
        rows.append(softmax(energy, None if visible is None else visible[:, None, :]))
    alignment = np.concatenate(rows, axis=1)
    return np.einsum("bqk,bkd->bqd", alignment, memory), alignment


def layer_norm(
    states: Float[np.ndarray, "*batch dim"], parameters: Parameters, name: str, epsilon: float = 1e-5
) -> Float[np.ndarray, "*batch dim"]:
    """γ (x - mean) / √(variance + ε) + β over the dimensions of each token: Ba, Kiros & Hinton 2016, arXiv:1607.06450."""
    centred = states - states.mean(axis=-1, keepdims=True)
    # The mean of squares, not the sample variance: one token's dimensions are all there are.
    spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + epsilon)
    return centred / spread * parameters[f"{name}.weight"] + parameters[f"{name}.bias"]


def encoder_block(
    states: Float[np.ndarray, "batch token dim"],
    parameters: Parameters,
    *,
    n_heads: int,
    norm: str = "after",
    visible: Bool[np.ndarray, "batch token"] | None = None,
) -> tuple[Float[np.ndarray, "batch token dim"], Float[np.ndarray, "batch head token token"]]:
    """One block without dropout: self-attention, then W₂ ReLU(W₁ x), each added to what it read; norm off, before or after."""
    inside = {name.removeprefix("attention."): array for name, array in parameters.items()}
    # Three forms of the same two sums; written out, so that each can be compared with its paper.
    read = layer_norm(states, parameters, "attention_norm") if norm == "before" else states
    attended, weights = multi_head_attention(read, read, inside, n_heads=n_heads, visible=visible)
    states = states + attended
    if norm == "after":
        states = layer_norm(states, parameters, "attention_norm")
    read = layer_norm(states, parameters, "feed_forward_norm") if norm == "before" else states
    states = states + linear(np.maximum(linear(read, parameters, "expand"), 0), parameters, "contract")
    if norm == "after":
        states = layer_norm(states, parameters, "feed_forward_norm")
    return states, weights
