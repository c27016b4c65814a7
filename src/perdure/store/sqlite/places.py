"""Where a store may lie: checks of a path before SQLite sees it, each with a clear refusal."""

from __future__ import annotations

import os
from pathlib import Path

from perdure.errors import NetworkStore, StoreUnreachable

NETWORKS = frozenset(
    {"afs", "beegfs", "ceph", "cifs", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4"}
    | {"fuse.glusterfs", "fuse.s3fs", "fuse.sshfs", "smb2", "smb3", "smbfs", "vboxsf"}
)
"""File systems on which locks or shared memory cannot be relied on between machines."""


def demand_usable(path: str) -> None:
    """Refuse a path at which no store can be."""
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        remedy = "make it first" if not os.path.exists(folder) else "name a file in a folder"
        raise StoreUnreachable(f"there is no folder {folder}", remedy=remedy)
    if os.path.isdir(path):
        raise StoreUnreachable(f"{path} is a folder", remedy="name a file in it")
    if os.path.exists(path) and not os.path.isfile(path):
        raise StoreUnreachable(f"{path} is no ordinary file", remedy="name another")
    if os.path.exists(path) and os.stat(path).st_nlink > 1:
        # Each name would have a log and a lock of its own.
        raise StoreUnreachable(f"{path} has other names, too", remedy="remove its other hard links")
    if os.path.exists(path) and not os.access(path, os.R_OK | os.W_OK):
        raise StoreUnreachable(f"{path} may not be written to", remedy="look at its permissions")
    if not os.access(folder, os.W_OK | os.X_OK):
        # The write-ahead log lies beside the file, so to read only is no use.
        raise StoreUnreachable(
            f"nothing may be written into {folder}", remedy="look at its permissions"
        )
    kind = file_system(path, _mounts())
    if kind in NETWORKS:
        raise NetworkStore(
            f"{path} lies on a network file system ({kind})",
            remedy="put it on a disk of this machine",
        )


def file_system(path: str, mounts: str) -> str:
    """Give the type of the file system that a path lies on, by a table like /proc/self/mounts."""
    best, kind = "", ""
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = fields[1].encode().decode("unicode_escape")  # a space is written \040
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):  # of two at one point, the later one covers
            best, kind = point, fields[2]
    return kind


def _mounts() -> str:
    table = Path("/proc/self/mounts")
    try:
        return table.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""  # not a Linux: nothing is known, and nothing refused
