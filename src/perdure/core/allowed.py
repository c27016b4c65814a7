"""What an image may name: the user's classes, plain data of the standard library, a few functions.

The second line of defence: nothing of an image is read before its keyed checksum was verified.
"""

from __future__ import annotations

import math
import operator
import sys
from typing import Any


def is_allowed(cls: type) -> bool:
    """Whether an image may name a class: the user's, errors, and plain data of the library."""
    module = cls.__module__
    if module.partition(".")[0] not in sys.stdlib_module_names or module == "__main__":
        return True
    if f"{module}.{cls.__qualname__}" in _DATA_CLASSES:
        return True
    return issubclass(cls, BaseException) or module in _DATA_MODULES


_DATA_MODULES = frozenset(
    {
        "array", "builtins", "collections", "contextlib", "datetime", "decimal", "enum",
        "fractions", "functools", "ipaddress", "itertools", "numbers", "operator", "pathlib",
        "pathlib._local", "random", "re", "string", "types", "uuid", "zoneinfo", "_operator",
        "statistics", "dataclasses", "_random", "_decimal", "_collections", "asyncio.locks",
        "asyncio.queues", "asyncio.taskgroups", "asyncio.timeouts",
    }
)  # fmt: skip

_DATA_CLASSES = frozenset({"_io.StringIO", "_io.BytesIO", "typing.Any"})
"""Classes that are plain data among others that are not."""

_BUILTINS = (
    "abs", "all", "any", "ascii", "bin", "callable", "chr", "delattr", "divmod", "format",
    "getattr", "hasattr", "hash", "hex", "id", "isinstance", "issubclass", "len", "max", "min",
    "next", "oct", "ord", "pow", "print", "repr", "round", "setattr", "sorted", "sum", "vars",
)  # fmt: skip

FUNCTIONS = frozenset(
    {
        "builtins.iter", "builtins.reversed", "re._compile", "copyreg._reconstructor",
        "zoneinfo.ZoneInfo._unpickle", "json.dumps", "json.loads", "_functools.reduce",
        "dataclasses.asdict", "dataclasses.astuple", "dataclasses.replace", "copy.copy",
        "copy.deepcopy",
        *(f"builtins.{name}" for name in _BUILTINS),
        *(f"math.{name}" for name in dir(math)),
        *(f"_operator.{name}" for name in dir(operator)),
    }
)  # fmt: skip
"""Functions of the standard library that an image may name."""


def is_known(function: Any) -> bool:
    """Whether an image may name a function."""
    return f"{function.__module__}.{function.__qualname__}" in FUNCTIONS
