"""Programs made of every construct inside of every other, around an await that ends in some way.

Owns the templates and the text that they render to; knows nothing of how a program is compared.
"""

# ruff: noqa: E501 — a template reads best in one piece

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from tests.differential.harness import Source
from tests.differential.pairs import INNERMOST, KINDS

HEAD = """\
import asyncio
import contextlib

from tests.differential.kit import act, boom, slow


class _Said:
    def __init__(self, name):
        self.name = name

    def __enter__(self):
        print("enter", self.name)
        return self.name

    def __exit__(self, kind, error, traceback):
        print("exit", self.name, repr(error), repr(getattr(error, "__context__", None)))
        return kind is LookupError

    async def __aenter__(self):
        return await act(self.name)

    async def __aexit__(self, kind, error, traceback):
        print("leaving", repr(error), await slow(self.name, 0.5))
        return kind is LookupError


async def _feed(n):
    for each in range(n):
        yield await act(each)

"""

TEMPLATES = {
    "if": "if await act(x):\n    {}\nelif n:\n    print('elif')\nelse:\n    print('else')",
    "for": "for y in [x, x + 1]:\n    {}\n    print('turn', y)\nelse:\n    print(await act('no break'))",
    "while": "w = 2\nwhile w and await act(w):\n    w -= 1\n    {}\nelse:\n    print('no break', w)",
    "try": "try:\n    {}\nexcept LookupError as e:\n    print('caught', repr(e), repr(e.__context__))\n"
    "    await act('handled')\nfinally:\n    print('finally')",
    "except": "try:\n    raise LookupError(x)\nexcept LookupError as e:\n    {}\n    print(repr(e))\n    raise",
    "try-else": "try:\n    print(await act('body'))\nexcept LookupError:\n    print('not here')\nelse:\n    {}",
    "finally": "try:\n    print(await act('body'))\n    if n % 2:\n        raise KeyError(x)\nfinally:\n"
    "    {}\n    print(await act('cleanup'))",
    "with": "with _Said(x) as s, contextlib.suppress(KeyError):\n    {}\n    print(s)",
    "async with": "async with _Said(x) as s:\n    {}\n    print(s)",
    "async for": "async for y in _feed(2):\n    {}\n    print('turn', y)",
    "match": "match [x, await act(2)]:\n    case [int() as m, *rest] if m >= 0:\n        {}\n        print(m, rest)\n"
    "    case _:\n        print('other')",
    "comprehension": "print([(z, await act(z)) for z in range(2) if await act(True)])\n{}",
}
"""By construct: what stands around something else."""

LEAVES = (
    "n += await act(n)",
    "n += await act(n)\nraise LookupError(await act('why'))",
    "return [n, await act('early')]",
    "await boom(KeyError('in the call'))",
    "try:\n    await asyncio.gather(act(1), boom(LookupError('one of two')))\nfinally:\n    n += await slow(1, 0.5)",
)
"""What stands in the middle."""

IN_LOOPS = ("if await act(n) > 1:\n    break\nn += 1", "n += 1\nif await act(n):\n    continue")
"""What may stand there when a loop is around it."""

_LOOPS = frozenset({"for", "while", "async for"})


def _around(kind: str, inside: str) -> str:
    """Put a construct around some lines."""
    template = TEMPLATES[kind]
    line = next(each for each in template.splitlines() if each.strip() == "{}")
    return template.replace(line, textwrap.indent(inside, line[: line.index("{")]))


def programs_within(outer: str, depth: int = 2) -> Source:
    """Give all programs that have one construct on the outside, `depth` constructs deep."""
    names: list[str] = []
    parts = [HEAD]
    for kinds in _chains((outer,), depth):
        leaves = LEAVES + (IN_LOOPS if _LOOPS.intersection(kinds) else ())
        for leaf in leaves:
            name = f"p{len(names)}"
            names.append(name)
            body = leaf
            for kind in reversed(kinds):
                body = _around(kind, body)
            lines = f"n = x = 1\n{body}\nreturn n, x"
            parts.append(f"async def {name}():\n{textwrap.indent(lines, '    ')}\n")
    spelled = outer.replace(" ", "_").replace("-", "_")
    return Source("\n".join(parts), f"/nested/{spelled}_{depth}.py", names)


def _chains(kinds: tuple[str, ...], depth: int) -> Iterator[tuple[str, ...]]:
    if len(kinds) == depth:
        yield kinds
        return
    for kind in KINDS:
        if kinds[-1] != INNERMOST:
            yield from _chains((*kinds, kind), depth)
