"""Ordinary code that must not be refused: names that only look like the outside."""

import asyncio
import datetime
import itertools
import json
import logging
import math
import os
import random
import re
import time
import uuid
from collections import defaultdict
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from pathlib import PurePath

from perdure import action, workflow

log = logging.getLogger(__name__)
PATTERN = re.compile(r"\d+")
LIMITS = {"a": [1, 2]}
SENTINEL = object()


class Door:
    def open(self):
        return "opened"

    def hash(self):
        return 1


class Colour(Enum):
    RED = 1


@dataclass
class Box:
    id: int = 0
    items: list = field(default_factory=list)


@action
async def act(x):
    return x


def _sorted(values, hash=None, id=0):
    return sorted(values), hash, id


@workflow
async def flow(input, dir="x"):
    open = Door()
    id = [x for x in (1, 2)]
    vars = input
    for hash in id:
        log.info("at %s", hash)
    now = datetime.datetime.now() + datetime.timedelta(days=1)
    later = time.time() + time.monotonic()
    token = uuid.uuid4(), random.randint(1, 6), math.floor(2.5)
    text = json.dumps({"k": str(Decimal("1.5"))}), os.sep, os.path.join("a", "b"), os.linesep
    pairs = list(itertools.chain([1], [2])), PATTERN.findall("a1"), PurePath("a") / "b"
    kept = defaultdict(list)
    kept[Colour.RED].append(Box(id=3))
    lock = asyncio.Lock()
    async with lock:
        await asyncio.sleep(0)
    return open.open(), vars, now, later, token, text, pairs, _sorted([2, 1], hash=hash), SENTINEL, dir
