"""The sentence itself, each token shaded by the attention that one query gives it."""

import html

from attnviz.analysis.view import HeadMatrix
from attnviz.figures.theme import LIGHT, Theme

_STYLE = """
<style>
.attnviz-tokens { display: flex; flex-wrap: wrap; gap: 4px; font-size: 1.3rem; line-height: 1.5; max-height: 15rem; overflow-y: auto;
                  padding: 3px; }
.attnviz-tokens span { padding: 1px 6px; border-radius: 6px; white-space: pre; }
.attnviz-tokens .query { outline: 2px solid var(--accent); outline-offset: -1px; }
.attnviz-tokens .special { font-size: 1rem; align-self: center; }
</style>
"""


def token_strip(matrix: HeadMatrix, *, query: int, theme: Theme = LIGHT) -> str:
    """HTML of the keys in reading order, shaded by the weights of row `query`; the query itself is outlined.

    Tokens are escaped, and right-to-left text keeps its order.
    """
    row = matrix.weights[query]
    same = matrix.queries == matrix.keys
    spans = []
    for index, token in enumerate(matrix.keys):
        weight = float(row[index])
        classes = " ".join(name for name, on in (("query", same and index == query), ("special", token.special)) if on)
        spans.append(
            f'<span dir="auto" class="{classes}" title="{weight:.4f}" '
            f'style="background:{theme.colour(weight)};color:{theme.ink(weight)}">{html.escape(token.text)}</span>'
        )
    return f'{_STYLE}<div class="attnviz-tokens" dir="auto" style="--accent:{theme.accent}">{"".join(spans)}</div>'
