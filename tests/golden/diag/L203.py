from perdure import workflow


class Handle:
    def __del__(self):
        print("closed")


@workflow
async def flow():
    return Handle()
