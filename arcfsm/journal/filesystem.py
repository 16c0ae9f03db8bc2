"""What the disk under a SQLite file can do: whether it is a network's, whether its folder can be written.

SQLite's write-ahead log needs shared memory and locks that network file systems don't give; there it corrupts (B61).
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

NETWORK_FILE_SYSTEMS: Final = frozenset(
    {
        "9p", "afs", "beegfs", "ceph", "cifs", "glusterfs", "gpfs", "lustre", "nfs", "nfs4", "smb3", "smbfs",
    }
)  # fmt: skip
_MOUNTS: Final = Path("/proc/mounts")
_OCTAL: Final = re.compile(r"\\([0-7]{3})")
_WRITE_AHEAD_AT: Final = 18
"""Offset in a SQLite file of the two bytes that are 2 where it uses a write-ahead log."""


def is_network(file_system: str) -> bool:
    """Whether a type of file system may be shared by machines. Those in user space are taken to be: nobody can tell."""
    return file_system in NETWORK_FILE_SYSTEMS or file_system.startswith("fuse.")


def file_system_of(path: Path, mounts: Path = _MOUNTS) -> str:
    """Return the type of the file system that holds a path, links followed; "" where nobody says (not on Linux)."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return ""
    best, kind = "", ""
    target = os.path.realpath(path)
    for line in lines:
        _, mount, file_system, *_ = line.split(" ")
        # Blanks in names are written as octal numbers.
        mount = _OCTAL.sub(lambda found: chr(int(found[1], 8)), mount)
        if len(mount) >= len(best) and (target == mount or target.startswith(mount.rstrip("/") + "/")):
            best, kind = mount, file_system
    return kind


def writes_ahead(path: Path) -> bool:
    """Whether a SQLite file is set to use a write-ahead log."""
    with path.open("rb") as stream:
        header = stream.read(_WRITE_AHEAD_AT + 2)
    return header[_WRITE_AHEAD_AT:] == b"\x02\x02"


def is_writable(path: Path) -> bool:
    """Whether a SQLite file can be written: that takes its folder, too."""
    return os.access(path.parent, os.W_OK) and (not path.exists() or os.access(path, os.W_OK))


def log_of(path: Path) -> Path:
    """Return where SQLite keeps what was written ahead of a file."""
    return path.with_name(path.name + "-wal")


def is_frozen(path: Path) -> bool:
    """Whether a file can't change under a reader because nobody here may write beside it and nothing waits in a log.

    SQLite must make a file in the folder even to read in write-ahead mode, unless it is told that nothing changes.
    """
    log = log_of(path)
    return not os.access(path.parent, os.W_OK) and not (log.exists() and log.stat().st_size)
