"""A file system for SQLite that knows what a power failure would leave, and can fail at any call.

Everything is written to real files. Beside that it keeps what was synced, and what was written
since: a process that is killed leaves all of it, a power failure only the first, or with it any
part of the second.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from random import Random
from typing import Any

import apsw

SECTOR = 512


class File:
    """One file: as it is on the disk, and what is on its way there."""

    def __init__(self, content: bytes) -> None:
        self.synced = bytearray(content)
        self.pending: list[tuple[int, bytes | None]] = []
        """(offset, data), or (size, None) where it was cut."""

    def sync(self) -> None:
        for change in self.pending:
            apply(self.synced, change)
        self.pending.clear()

    def torn(self, draw: Random) -> bytes:
        """Give what may be there: any part of what was not synced, in sectors, in any order."""
        content = bytearray(self.synced)
        parts = [each for change in self.pending for each in sectors(change)]
        kept = [each for each in parts if draw.random() < 0.5]
        draw.shuffle(kept)
        for part in kept:
            apply(content, part)
        return bytes(content)


def apply(content: bytearray, change: tuple[int, bytes | None]) -> None:
    at, data = change
    if data is None:
        del content[at:]
    else:
        content.extend(bytes(max(0, at - len(content))))
        content[at : at + len(data)] = data


def sectors(change: tuple[int, bytes | None]) -> list[tuple[int, bytes | None]]:
    at, data = change
    if data is None or len(data) <= SECTOR:
        return [change]
    return [(at + i, data[i : i + SECTOR]) for i in range(0, len(data), SECTOR)]


class Disk(apsw.VFS):
    """The file system, under a name that `SqliteStore.open(vfs=…)` takes."""

    count = 0

    def __init__(self) -> None:
        Disk.count += 1
        self.name = f"disk-{Disk.count}"
        super().__init__(self.name, "")
        self.files: dict[str, File] = {}
        self.hear: Callable[[str, str], object] = lambda call, path: None
        """Told of every call before it is made; what it raises is what the call raises."""

    def xOpen(self, name: Any, flags: list[int]) -> DiskFile:  # noqa: N802
        path = name.filename() if isinstance(name, apsw.URIFilename) else str(name)
        self.hear("open", path)
        return DiskFile(self, path, name, flags)

    def xDelete(self, path: str, sync: bool) -> None:  # noqa: N802
        self.hear("delete", path)
        super().xDelete(path, sync)
        self.files.pop(path, None)

    def excepthook(self, *error: Any) -> None:
        """Say nothing of what `hear` raised where SQLite tells nobody."""

    def file(self, path: str) -> File:
        if path not in self.files:
            self.files[path] = File(read(path))
        return self.files[path]

    # --- what would be left

    def if_killed(self) -> dict[str, bytes]:
        """Give the files as they are now."""
        return {path: read(path) for path in self.files}

    def if_power_fails(self) -> dict[str, bytes]:
        """Give the files as far as they were synced."""
        return {path: bytes(file.synced) for path, file in self.files.items()}

    def if_torn(self, draw: Random) -> dict[str, bytes]:
        """Give the files with any part of what was not synced."""
        return {path: file.torn(draw) for path, file in self.files.items()}


class DiskFile(apsw.VFSFile):
    """A file that is open."""

    def __init__(self, disk: Disk, path: str, name: Any, flags: list[int]) -> None:
        self.disk = disk
        self.path = path
        super().__init__("", name, flags)
        disk.file(path)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        try:
            self.disk.hear("write", self.path)
        except Short as short:
            half = bytes(data[: len(data) // 2])
            super().xWrite(half, offset)
            self.disk.file(self.path).pending.append((offset, half))
            raise short.error from None
        super().xWrite(data, offset)
        self.disk.file(self.path).pending.append((offset, bytes(data)))

    def xTruncate(self, size: int) -> None:  # noqa: N802
        self.disk.hear("truncate", self.path)
        super().xTruncate(size)
        self.disk.file(self.path).pending.append((size, None))

    def xSync(self, flags: int) -> None:  # noqa: N802
        # Nothing real is synced: what a power failure leaves is known here.
        try:
            self.disk.hear("sync", self.path)
        except BaseException:
            # What could not be synced is taken for clean from then on, and never reaches the disk.
            self.disk.file(self.path).pending.clear()
            raise
        self.disk.file(self.path).sync()

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        self.disk.hear("read", self.path)
        return super().xRead(amount, offset)


class Short(Exception):
    """Raised by `hear` at a write: half of it is written, then it fails with this error."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error


def read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return b""


def write(files: dict[str, bytes], folder: str) -> None:
    """Put files into another folder, under their own names."""
    for path, content in files.items():
        with open(os.path.join(folder, os.path.basename(path)), "wb") as file:
            file.write(content)
