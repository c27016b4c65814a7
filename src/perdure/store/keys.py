"""The key of a store: 32 bytes that prove that an image or a program is of our own making.

It lies beside the store, for its owner alone, or comes from the environment. Never in the store:
who can write to the store must not be able to make code that runs.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from perdure.errors import BadKey

KEY_BYTES = 32
VARIABLE = "PERDURE_KEY"


def key_of(path: str, environ: Mapping[str, str] = os.environ) -> bytes:
    """Give the key of the store at a path; the first time, one is made and written down."""
    given = environ.get(VARIABLE)
    if given is not None:
        return _parsed(given, f"the environment variable {VARIABLE}")
    place = Path(os.path.realpath(path) + ".key")
    if not place.exists():
        _make(place)
    return _read(place)


def _read(place: Path) -> bytes:
    try:
        status = place.stat()
        text = place.read_text(encoding="ascii", errors="replace")
    except OSError as error:
        raise BadKey(f"{place} cannot be read: {error.strerror}") from error
    if stat.S_IMODE(status.st_mode) & 0o077:
        remedy = "make sure that nobody has copied it, then `chmod 600` it"
        raise BadKey(f"{place} can be read or written to by others", remedy=remedy)
    return _parsed(text, str(place))


def _parsed(text: str, where: str) -> bytes:
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        # The text itself is not told: it may be most of a key.
        remedy = "restore it from where you keep your secrets; without it, runs are refolded"
        raise BadKey(f"{where} does not hold {KEY_BYTES * 2} hexadecimal digits", remedy=remedy)
    return key


def _make(place: Path) -> None:
    """Write a new key durably under a passing name, then give it its own, unless there is one."""
    passing = place.with_name(f"{place.name}.{secrets.token_hex(8)}")
    try:
        descriptor = os.open(passing, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, secrets.token_hex(KEY_BYTES).encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        with suppress(FileExistsError):  # another process was faster: its key is the one
            os.link(passing, place)
        passing.unlink()
        _sync_folder(place.parent)
    except OSError as error:
        raise BadKey(f"{place} cannot be made: {error.strerror}") from error


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
