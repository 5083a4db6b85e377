"""Signatures of compiled functions and classes, for `inspect` and the tools that use it."""
from __future__ import annotations

import ast
import inspect
import re
from typing import Any


def _default(node: ast.expr, values: tuple[Any, ...] | None) -> Any:
    try:
        default = ast.literal_eval(node)
    except ValueError:
        return inspect.Parameter.empty
    if isinstance(default, str) and default.startswith("default ") and values is not None:
        return values[int(default.removeprefix("default "))]
    return default


def of_function(function: Any) -> inspect.Signature:
    """Of a function of nanobind, from the first form of it. The other names of arguments are left out."""
    text, _, values = function.__nb_signature__[0]
    # \0, \1, ... stand for default values that are no text.
    text = re.sub(r"\\(\d+)", r'"default \1"', text)
    parsed = ast.parse(text + ": ...").body[0]
    assert isinstance(parsed, ast.FunctionDef)
    given = parsed.args
    parameters: list[inspect.Parameter] = []

    def add(argument: ast.arg | None, kind: Any, default: ast.expr | None = None) -> None:
        if argument is None:
            return
        value = inspect.Parameter.empty if default is None else _default(default, values)
        if value is ... and kind is inspect.Parameter.KEYWORD_ONLY:
            return
        value = inspect.Parameter.empty if value is ... else value
        annotation = inspect.Parameter.empty if argument.annotation is None else ast.unparse(argument.annotation)
        # Behind a default only defaults may stand.
        needs = kind is inspect.Parameter.POSITIONAL_OR_KEYWORD and value is inspect.Parameter.empty
        if needs and any(other.default is not inspect.Parameter.empty for other in parameters):
            value = None
        parameters.append(inspect.Parameter(argument.arg, kind, default=value, annotation=annotation))

    places = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(places) - len(given.defaults)) + list(given.defaults)
    for at, (argument, default) in enumerate(zip(places, defaults)):
        only = at < len(given.posonlyargs)
        add(argument, inspect.Parameter.POSITIONAL_ONLY if only else inspect.Parameter.POSITIONAL_OR_KEYWORD, default)
    add(given.vararg, inspect.Parameter.VAR_POSITIONAL)
    for argument, default in zip(given.kwonlyargs, given.kw_defaults):
        add(argument, inspect.Parameter.KEYWORD_ONLY, default)
    add(given.kwarg, inspect.Parameter.VAR_KEYWORD)
    returns = inspect.Signature.empty if parsed.returns is None else ast.unparse(parsed.returns)
    return inspect.Signature(parameters, return_annotation=returns)


class OfClass:
    """The `__signature__` of a compiled class: its constructor's; of an object that can be called, that of the call."""

    def __get__(self, instance: Any, owner: type) -> inspect.Signature:
        function = vars(owner).get("__init__" if instance is None else "__call__")
        function = getattr(function, "__wrapped__", function)
        if not hasattr(function, "__nb_signature__"):
            raise AttributeError("__signature__")
        signature = of_function(function)
        return signature.replace(parameters=list(signature.parameters.values())[1:],
                                 return_annotation=owner.__name__ if instance is None else signature.return_annotation)


def describe_classes(module: Any) -> None:
    """Gives all classes of a compiled module signatures."""
    for value in vars(module).values():
        if isinstance(value, type):
            setattr(value, "__signature__", OfClass())
