import os
import time as clock
from os import environ, getenv, sep
from socket import create_connection

import asyncio
from perdure import record, workflow


@workflow
async def flow():
    clock.sleep(1)
    home = environ["HOME"]
    user = record(getenv, "USER")
    pid = os.getpid()
    here = os.path.join("a", "b") + sep
    await asyncio.to_thread(print, home)
    return user, pid, here, create_connection(("localhost", 1))
