"""The same value makes the same bytes in every process, whatever its hash seed."""

from __future__ import annotations

import subprocess
import sys

from tests.values.process import environment

PROGRAM = """
import datetime, decimal
from perdure.values import encode, encode_error, decode, convert
from perdure.ordered import OrderedSet
from tests.values import models as m

words = {f"w{i}" for i in range(40)}
value = [
    words,
    frozenset(words),
    {1, "1", 1.5, None, (2, frozenset("abc")), b"x", decimal.Decimal("1.5")},
    {frozenset("ab"): words, m.Frozen("a", 1): {"x", "y"}},
    {m.Frozen(w, frozenset({w, "z"})) for w in words},
    set(m.Colour),
    m.OpenModel(a=words, zeta=1, alpha={"p", "q"}),
    m.HashedAttrs("x"),
    OrderedSet(sorted(words)),
]
hash(value[-2])
error = m.PaymentError("o", code=1)
error.__dict__["parts"] = words
error.args = (OrderedSet(sorted(words)), object, object())
text = encode(value)
print(text.decode())
print(encode(decode(text)) == text, list(decode(text)[0]))
print(encode_error(error, trace=False).decode())
print(list(convert(sorted(words), set[str])), list(convert({"a": sorted(words)}, m.Tagset).a))
"""


def outputs(seed: str) -> bytes:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment(PYTHONHASHSEED=seed),
        check=True,
        capture_output=True,
    )
    return done.stdout


def test_bytes_and_orders_do_not_depend_on_the_hash_seed():
    first, *others = [outputs(seed) for seed in ("0", "1", "2", "77")]
    assert b"True" in first
    assert others == [first] * 3
