"""Shapes and types are checked where a function of ours is called, in a fifth of the time of jaxtyping's own decorator.

That one binds the arguments of every call to the signature, for its messages, and checks them twice: half of the time of a test
that decodes a lot. Here beartype checks them once; jaxtyping says whether a shape fits, of axes that are those of this call.
What one test calls again and again, as whatever writes does, is checked the first times.
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

# Calls of one function that are checked in one test, and how many there were.
MOST = 32
_calls: dict[int, int] = {}
_makers: list[Callable[[], object]] = []
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
    if "<locals>" not in function.__qualname__:
        _makers.append(checking)
    # That of a function inside another is the same whenever it is made.
    code = id(function.__code__)

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        count = _calls.get(code, 0)
        if count >= MOST or jaxtyping.config.jaxtyping_disable:
            return function(*args, **options)
        _calls[code] = count + 1
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


def make_checks() -> None:
    """Make the checks of all that has been imported, for a process that is copied."""
    for make in _makers:
        make()


def begin_test() -> None:
    """Count the calls of a test from its beginning."""
    _calls.clear()


def install() -> None:
    """Check what is imported of ours from now on."""
    jaxtyped: Any = lambda function=None, *, typechecker=None: (
        _decorate(typechecker=typechecker) if function is None else _checked(function, typechecker=typechecker)
    )
    jaxtyping.jaxtyped = _decorator.jaxtyped = jaxtyped
    jaxtyping.install_import_hook(["attnviz", "recipes"], "beartype.beartype")
