"""Which disks can carry a write-ahead log."""

from __future__ import annotations

import os
import sqlite3

import pytest

from arcfsm.journal.filesystem import file_system_of, is_frozen, is_network, writes_ahead

MOUNTS = """\
/dev/vda / ext4 rw 0 0
proc /proc proc rw 0 0
server:/vol /mnt/shared nfs4 rw 0 0
server:/vol2 /mnt/with\\040blank cifs rw 0 0
/dev/vdb /mnt/shared/local xfs rw 0 0
"""


@pytest.fixture
def mounts(tmp_path):
    path = tmp_path / "mounts"
    path.write_text(MOUNTS)
    return path


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/x.db", "ext4"),
        ("/mnt/shared/x.db", "nfs4"),
        ("/mnt/shared", "nfs4"),
        ("/mnt/sharedlike/x.db", "ext4"),
        ("/mnt/shared/local/deep/x.db", "xfs"),
        ("/mnt/with blank/x.db", "cifs"),
    ],
)
def test_the_longest_mount_that_holds_the_path_counts(mounts, path, kind):
    assert file_system_of(path, mounts) == kind


def test_links_are_followed(mounts, tmp_path):
    link = tmp_path / "journal.db"
    link.symlink_to("/mnt/shared/x.db")
    assert file_system_of(link, mounts) == "nfs4"


def test_where_nobody_lists_mounts_nothing_is_known(tmp_path):
    assert file_system_of(tmp_path, tmp_path / "none") == ""


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "9p", "fuse.sshfs", "fuse.juicefs"])
def test_file_systems_of_networks(kind):
    assert is_network(kind)


@pytest.mark.parametrize("kind", ["ext4", "xfs", "overlay", "tmpfs", "fuseblk", ""])
def test_file_systems_of_one_machine(kind):
    assert not is_network(kind)


@pytest.mark.parametrize(("mode", "ahead"), [("WAL", True), ("DELETE", False)])
def test_the_file_itself_says_whether_it_writes_ahead(tmp_path, mode, ahead):
    connection = sqlite3.connect(tmp_path / "x.db")
    connection.execute(f"PRAGMA journal_mode={mode}")
    connection.execute("CREATE TABLE t (x)")
    connection.close()
    assert writes_ahead(tmp_path / "x.db") is ahead


def test_a_file_changes_where_its_folder_can_be_written_or_a_log_waits(tmp_path, monkeypatch):
    path = tmp_path / "x.db"
    assert not is_frozen(path)
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert is_frozen(path)
    path.with_name("x.db-wal").write_bytes(b"")
    assert is_frozen(path)
    path.with_name("x.db-wal").write_bytes(b"something")
    assert not is_frozen(path)
