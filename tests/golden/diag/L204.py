from perdure import workflow


@workflow
async def flow(x):
    return undefined_helper(x), later(x), len([x])


def later(x):
    return x
