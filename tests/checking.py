"""Shapes and types are checked whenever a function of ours is called, in a fifth of the time of jaxtyping's own decorator.

That one binds the arguments of every call to the signature, for its messages, and checks them twice: half of the time of a test
that decodes a lot. Here beartype checks them once; jaxtyping says whether a shape fits, of axes that are those of this call.
"""

import inspect
from collections.abc import Callable
from functools import cache, partial, wraps
from types import FunctionType
from typing import Any

import jaxtyping
from beartype import BeartypeConf, beartype
from jaxtyping import _decorator
from jaxtyping._storage import pop_shape_memo, push_shape_memo

_of_jaxtyping = jaxtyping.jaxtyped
_check = beartype(conf=BeartypeConf(violation_type=jaxtyping.TypeCheckError))


def _checked(function: Any, *, typechecker: Any) -> Any:
    """Check a function; what else jaxtyping takes (a class, a property) it hands back here, function by function."""
    if not inspect.isfunction(function):
        return _of_jaxtyping(function, typechecker=typechecker)
    if not function.__annotations__:
        return function
    # Made at the first call: most functions that a test process imports are never called in it.
    checking = cache(partial(_checking, function))

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        if jaxtyping.config.jaxtyping_disable:
            return function(*args, **options)
        checks = checking()
        push_shape_memo({})
        try:
            return checks(*args, **options)
        finally:
            pop_shape_memo()

    return call


def _checking(function: FunctionType) -> Callable:
    """Make the function that checks; a name that only a type checker imports is not checked."""
    names, hints = function.__globals__, function.__annotations__
    copy = FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
    for name in ("__kwdefaults__", "__module__", "__qualname__"):
        setattr(copy, name, getattr(function, name))
    copy.__annotations__ = {name: _decorator._destring_annotation(hint, names) for name, hint in hints.items()}
    return _check(copy)


def _decorate(*, typechecker: Any) -> Callable:
    return lambda function: _checked(function, typechecker=typechecker)


def install() -> None:
    """Check what is imported of ours from now on."""
    _decorator.jaxtyped = lambda function=None, *, typechecker=None: (
        _decorate(typechecker=typechecker) if function is None else _checked(function, typechecker=typechecker)
    )
    jaxtyping.jaxtyped = _decorator.jaxtyped
    jaxtyping.install_import_hook(["attnviz", "recipes"], "beartype.beartype")
