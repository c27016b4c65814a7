from builtins import open as read_file

from perdure import workflow


def _key(item):
    return hash(item)


@workflow
async def flow(path, items):
    text = read_file(path).read()
    best = max(items, key=_key)
    seen = [id(item) for item in items]
    return text, best, seen, locals(), vars(), vars(items), eval("1")
