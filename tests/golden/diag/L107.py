import io
import itertools
import threading

from perdure import workflow

NUMBERS = itertools.count()
LINES = (line for line in ("a", "b"))
BUFFER = io.StringIO("text")
LOCK = threading.Lock()


@workflow
async def flow():
    with LOCK:
        return next(NUMBERS), next(LINES), BUFFER.read()
