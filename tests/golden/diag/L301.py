from perdure import action, workflow


@action
async def fetch(n: int) -> int:
    return n


@workflow
async def sort(n: int) -> str:
    try:
        await fetch(n)
    except* ValueError:
        await fetch(0)
    match n:
        case int() if await fetch(n):
            return "yes"
    return "no"
