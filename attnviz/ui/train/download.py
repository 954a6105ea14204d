"""What an untrained model shows, to take along."""

from attnviz.analysis.view import View
from attnviz.core.trace import Prompt
from attnviz.models.translate import toy as toys
from attnviz.models.translate.decode import DecodingOptions, draft
from attnviz.training.live import LiveRun
from attnviz.training.toy import Frame
from attnviz.ui.download import Kept, head_picture, traced_in_python


def kept_untrained(run: LiveRun, frame: Frame, head: tuple[int, int] | None) -> Kept:
    """The attention of a model that has learned nothing yet, over its task's first example."""
    recipe = run.recipe
    trace = draft(toys.toy_model(recipe.model, frame.weights), Prompt(recipe.task.example), DecodingOptions()).trace
    name = f"{recipe.model.name}.safetensors"
    return Kept(name, head_picture(trace, trace.cross, head or frame.best, View()), traced_in_python(name, trace.prompt))
