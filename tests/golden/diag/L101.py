from perdure import workflow


@workflow
def flow(x):
    return x
