"""Many threads that ask one model at a time, each for traces with edits of its own."""

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from attnviz.core.edits import Edits
from attnviz.core.trace import Prompt


def wrong_together(model: Any, asked: Sequence[tuple[Prompt, Edits]], rounds: int) -> list[int]:
    """Trace each prompt with its edits as often in a thread of its own; list which gave something else than it gives alone."""

    def weights(prompt: Prompt, edits: Edits) -> list[np.ndarray]:
        return [each.layer_weights(layer) for each in model.trace(prompt, edits).maps for layer in range(each.n_layers)]

    alone = [weights(*each) for each in asked]
    assert len({tuple(layer.tobytes() for layer in each) for each in alone}) == len(asked), "each asks for something else"
    wrong: list[int] = []

    def ask_often(mine: int) -> None:
        torch.set_num_threads(1)
        for _ in range(rounds):
            if not all(map(np.array_equal, weights(*asked[mine]), alone[mine])):
                wrong.append(mine)

    threads = [threading.Thread(target=ask_often, args=(mine,)) for mine in range(len(asked))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return wrong + [at for at, each in enumerate(asked) if not all(map(np.array_equal, weights(*each), alone[at]))]
