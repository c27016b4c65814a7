from perdure import workflow


def make():
    @workflow
    async def flow():
        return 1

    return flow


flow = make()
