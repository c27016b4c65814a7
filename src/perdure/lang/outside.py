"""What lies outside of a run and must not be touched by inline code, with what to do instead.

A table of names; knows nothing of how they are found.
"""

from __future__ import annotations

_ACTION = "move it into an @action, or take it down once with `perdure.record`"
_RECORD = "read it before the run and pass it in, or use `perdure.record`"
_ADDRESS = "it depends on where things lie in memory; use a key of your own"

OUTSIDE: dict[str, str] = {
    "builtins:open": _ACTION,
    "builtins:input": "wait for a `perdure.signal` instead",
    "builtins:eval": "write the code out: text cannot be checked",
    "builtins:exec": "write the code out: text cannot be checked",
    "builtins:compile": "write the code out: text cannot be checked",
    "builtins:globals": "name what you need: a run has a namespace of its own",
    "builtins:locals": "name what you need: a restored frame has other locals",
    "builtins:vars": "name what you need, or use `obj.__dict__`",
    "builtins:dir": "name what you need, or use `obj.__dict__`",
    "builtins:id": _ADDRESS,
    "builtins:hash": "it differs from process to process; use `zlib.crc32` or `hashlib`",
    "builtins:breakpoint": "use `perdure.testing` and a debugger outside of the run",
    "builtins:help": _ACTION,
    "os:environ": _RECORD,
    "os:environb": _RECORD,
    "time:sleep": "write `await asyncio.sleep(…)`",
    "uuid:getnode": _RECORD,
    "random:SystemRandom": "use `random.Random()`: it is seeded by the run",
    **dict.fromkeys(
        (
            "os:getenv", "os:getenvb", "os:getcwd", "os:getpid", "os:getppid", "os:getlogin",
            "os:cpu_count", "os:urandom", "os:times", "os:uname", "os:getuid", "os:umask",
            "platform:node", "platform:platform", "platform:uname", "socket:gethostname",
            "socket:getfqdn", "secrets:token_hex", "secrets:token_bytes", "secrets:token_urlsafe",
            "secrets:choice", "secrets:randbelow", "secrets:randbits", "getpass:getuser",
            "locale:getlocale", "tempfile:gettempdir",
        ),
        _RECORD,
    ),
    **dict.fromkeys(
        (
            "os.path:exists", "os.path:isfile", "os.path:isdir", "os.path:getsize",
            "os.path:getmtime", "os.path:realpath", "os.path:abspath", "glob:glob",
            "os:system", "os:popen", "os:listdir", "os:scandir", "os:walk", "os:mkdir",
            "os:makedirs", "os:remove", "os:unlink", "os:rename", "os:replace", "os:rmdir",
            "os:removedirs", "os:stat", "os:open", "os:kill", "os:fork", "os:_exit", "os:putenv",
            "os:chdir", "os:execv", "os:startfile", "io:open", "shutil:copy", "shutil:copyfile",
            "shutil:copytree", "shutil:move", "shutil:rmtree", "tempfile:mkdtemp",
            "tempfile:mkstemp", "tempfile:NamedTemporaryFile", "tempfile:TemporaryDirectory",
            "socket:socket", "socket:create_connection", "socket:getaddrinfo", "subprocess:run",
            "subprocess:Popen", "subprocess:call", "subprocess:check_call",
            "subprocess:check_output", "subprocess:getoutput", "urllib.request:urlopen",
            "urllib.request:urlretrieve", "sqlite3:connect", "requests:get", "requests:post",
            "requests:put", "requests:patch", "requests:delete", "requests:head",
            "requests:request", "requests:Session", "httpx:get", "httpx:post", "httpx:put",
            "httpx:patch", "httpx:delete", "httpx:request", "httpx:Client", "httpx:AsyncClient",
            "aiohttp:ClientSession", "smtplib:SMTP", "ftplib:FTP", "webbrowser:open",
        ),
        _ACTION,
    ),
    **dict.fromkeys(
        (
            "threading:Thread", "threading:Timer", "threading:Lock", "threading:RLock",
            "threading:Event", "threading:Condition", "threading:Semaphore", "threading:local",
            "multiprocessing:Process", "multiprocessing:Pool", "multiprocessing:Queue",
            "concurrent.futures:ThreadPoolExecutor", "concurrent.futures:ProcessPoolExecutor",
            "asyncio:to_thread", "asyncio:run_coroutine_threadsafe", "signal:signal",
        ),
        "a run has one thread: use an @action, `asyncio.gather` or a task",
    ),
    **dict.fromkeys(
        (
            "asyncio:open_connection", "asyncio:start_server", "asyncio:open_unix_connection",
            "asyncio:create_subprocess_exec", "asyncio:create_subprocess_shell",
        ),
        _ACTION,
    ),
    "asyncio:run": "a workflow runs already: await the coroutine",
    "asyncio:Runner": "a workflow runs already: await the coroutine",
    "asyncio:new_event_loop": "a run has one loop: use tasks",
    "asyncio:set_event_loop": "a run has one loop: use tasks",
    "sys:_getframe": "name what you need: a restored frame is another frame",
    "sys:modules": "import what you need",
    "sys:exit": "return from the workflow, or raise an error of your own",
    "inspect:currentframe": "name what you need: a restored frame is another frame",
    "inspect:stack": "name what you need: a restored frame is another frame",
    "gc:collect": _ACTION,
    "gc:get_objects": _ADDRESS,
}  # fmt: skip
"""`module:name` of what is refused, to what to write instead."""


ONLY_BARE = frozenset({"builtins:vars", "builtins:dir"})
"""Refused without an argument only: with one they say what an object holds."""


def remedy_for(key: str) -> str:
    """Say what to write instead of `module:name`."""
    return OUTSIDE[key]
