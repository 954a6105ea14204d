"""Shapes and types are checked whenever a function of ours is called, in a fifth of the time of jaxtyping's own decorator.

That one binds the arguments of every call to the signature, for its messages, and checks them twice: half of the time of a test
that decodes a lot. Here beartype checks them once; jaxtyping says whether a shape fits, of axes that are those of this call.
"""

import inspect
from collections.abc import Callable
from functools import wraps
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
    checks = _checking(function)

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        if jaxtyping.config.jaxtyping_disable:
            return function(*args, **options)
        push_shape_memo({})
        try:
            return checks(*args, **options)
        finally:
            pop_shape_memo()

    return call


def _checking(function: FunctionType) -> Callable:
    """Make the function that checks; a name that only a type checker imports is not checked."""
    written, names = function.__annotations__, function.__globals__
    function.__annotations__ = {name: _decorator._destring_annotation(hint, names) for name, hint in written.items()}
    try:
        return _check(function)
    finally:
        function.__annotations__ = written


def _decorate(*, typechecker: Any) -> Callable:
    return lambda function: _checked(function, typechecker=typechecker)


def install() -> None:
    """Check what is imported of ours from now on."""
    _decorator.jaxtyped = lambda function=None, *, typechecker=None: (
        _decorate(typechecker=typechecker) if function is None else _checked(function, typechecker=typechecker)
    )
    jaxtyping.jaxtyped = _decorator.jaxtyped
    jaxtyping.install_import_hook(["attnviz", "recipes"], "beartype.beartype")
