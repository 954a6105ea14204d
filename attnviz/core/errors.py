"""Every error a person can meet. Each message is one sentence for that person: what is wrong, and what to do."""


class AttnvizError(Exception):
    """The root of all errors that attnviz raises on purpose."""


class ArgumentError(AttnvizError, TypeError):
    """A function was given a value of another type than it takes."""


class SettingError(AttnvizError, ValueError):
    """An environment variable that sets something holds what cannot be."""


class PromptError(AttnvizError, ValueError):
    """What was typed cannot be traced: it is empty, or holds characters that are not text."""


class TraceError(AttnvizError, ValueError):
    """An attention map or trace contradicts itself, or was asked for something it does not have."""


class CorpusError(AttnvizError, ValueError):
    """A text collection cannot be read, or holds nothing to read."""


class ClaimError(AttnvizError, ValueError):
    """What was claimed of a head cannot be understood, or not be tested."""


class ModelError(AttnvizError):
    """A model cannot be found, loaded or traced."""


class ModelNotFoundError(ModelError):
    """Neither the catalog, the hub nor the disk has a model of that name."""


class ModelTooLargeError(ModelError):
    """The model has more parameters than this machine is allowed to load."""


class UnsupportedModelError(ModelError):
    """The model exists, but has no attention that can be shown."""


class CancelledError(AttnvizError):
    """Work was stopped between two steps, as nobody waits for it any more."""


class EditError(AttnvizError, ValueError):
    """An edit of a model's attention cannot be made: there is no such head or word, or nothing would be left to look at."""
