"""Every way in which people have a watch stream is read alike, and what is broken costs only itself."""

from __future__ import annotations

import gzip
import json

import pytest

from arcfsm.domain.instant import SECOND
from arcfsm.replay.importing import Adoption, SourceFile, UnreadableSourceError, survey
from tests.unit.cluster.objects import NOON, Cluster
from tests.unit.importing.workshop import bring_in, event, write


def story():
    """A set that is there, is scaled, and gets a runner that goes again."""
    cluster = Cluster()
    scale_set, runner_set = cluster.scale_set(), cluster.runner_set()
    scaled = cluster.write(runner_set, spec={**runner_set["spec"], "replicas": 1, "patchID": 1})
    cluster.now += 5 * SECOND
    runner = cluster.runner("r1")
    return [
        ("ADDED", scale_set, NOON),
        ("ADDED", runner_set, NOON),
        ("MODIFIED", scaled, NOON + 4 * SECOND),
        ("ADDED", runner, NOON + 5 * SECOND),
        ("DELETED", cluster.write(runner), NOON + 9 * SECOND),
    ]


TOLD = ["ScaleSetObserved", "RunnerSetObserved", "RunnerSetScaled", "RunnerCreated", "RunnerGone"]


def timed():
    return [event(*parts) for parts in story()]


def untimed():
    return [event(change, obj) for change, obj, _ in story()]


def test_lines_with_the_time_of_their_reception(tmp_path):
    found = bring_in(write(tmp_path / "watch.jsonl", timed()))
    assert found.told == TOLD
    assert [one.observed_at for one in found.facts] == [at for _, _, at in story()]


def test_raw_watch_lines(tmp_path):
    assert bring_in(write(tmp_path / "watch.jsonl", untimed())).told == TOLD


def test_times_are_inferred_from_the_objects_and_never_go_back(tmp_path):
    found = bring_in(write(tmp_path / "watch.jsonl", untimed()))
    at = [one.observed_at for one in found.facts]
    assert at == [NOON, NOON, NOON, NOON + 5 * SECOND, NOON + 5 * SECOND]


@pytest.mark.parametrize("indent", [2, 4])
def test_what_kubectl_prints(tmp_path, indent):
    path = tmp_path / "watch.json"
    path.write_text("".join(json.dumps(one, indent=indent) + "\n" for one in untimed()))
    assert bring_in(path).told == TOLD


def test_texts_back_to_back_on_one_line(tmp_path):
    path = tmp_path / "watch.json"
    path.write_text("".join(json.dumps(one) for one in untimed()))
    assert bring_in(path).told == TOLD


def test_objects_without_a_type_were_observed_and_changed(tmp_path):
    bare = [json.dumps(obj, indent=4) for change, obj, _ in story() if change != "DELETED"]
    found = bring_in(write(tmp_path / "watch.json", bare))
    assert found.told == ["ScaleSetObserved", "RunnerSetObserved", "RunnerSetScaled", "RunnerObserved"]


def test_a_list_of_objects(tmp_path):
    items = [obj for change, obj, _ in story() if change == "ADDED"]
    found = bring_in(write(tmp_path / "list.json", [{"kind": "List", "apiVersion": "v1", "items": items}]))
    assert sorted(found.told) == ["RunnerObserved", "RunnerSetObserved", "ScaleSetObserved"]


def test_compressed_files(tmp_path):
    path = tmp_path / "watch.jsonl.gz"
    path.write_bytes(gzip.compress("".join(json.dumps(one) + "\n" for one in timed()).encode()))
    assert bring_in(path).told == TOLD
    plain = write(tmp_path / "watch.jsonl", timed())
    contents = {
        survey(SourceFile(str(one)), Adoption({}, clean=str), lambda _bytes: None).content for one in (path, plain)
    }
    assert len(contents) == 1, "compressed or not, it is the same file"


def test_a_damaged_archive_gives_what_can_be_read(tmp_path):
    path = tmp_path / "watch.jsonl.gz"
    packed = gzip.compress("".join(json.dumps(one) + "\n" for one in timed() * 50).encode())
    path.write_bytes(packed[: len(packed) * 2 // 3])
    found = bring_in(path)
    assert found.told[:2] == TOLD[:2]
    assert "damaged" in found.tally.refused[-1].reason


def test_a_byte_order_mark_and_blank_lines(tmp_path):
    path = write(tmp_path / "watch.jsonl", ["", *timed(), "", "  "])
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert bring_in(path).told == TOLD


BROKEN = {
    "cut off": lambda line: line[: len(line) // 2],
    "not JSON": lambda _line: "Error from server (Forbidden): watch is forbidden",
    "wrong token": lambda line: line.replace('"type"', "type", 1),
    "a string": lambda _line: '"text"',
    "a number": lambda _line: "42",
    "some object": lambda _line: '{"hello": "world"}',
    "unknown type": lambda line: line.replace('"MODIFIED"', '"PATCHED"', 1),
    "not UTF-8": lambda line: line[:-20] + "\udcff" + line[-20:],
}


@pytest.mark.parametrize("how", BROKEN)
@pytest.mark.parametrize("where", [2, 4])
def test_a_broken_line_costs_only_itself(tmp_path, how, where):
    lines = [json.dumps(one) for one in timed()]
    lines[where] = BROKEN[how](lines[where].replace('"DELETED"', '"MODIFIED"'))
    path = tmp_path / "watch.jsonl"
    path.write_bytes("\n".join(lines).encode("utf-8", "surrogateescape"))
    found = bring_in(path)
    assert found.told == [*TOLD[:where], *TOLD[where + 1 :]]
    assert [one.where for one in found.tally.refused] == [f"{path}:{where + 1}"]
    (gap,) = found.of("GapDetected")
    assert gap.event.since == timed_at(where - 1)
    assert gap.event.until == (timed_at(where + 1) if where < 4 else None)


def timed_at(index):
    return story()[index][2]


def test_a_broken_text_of_many_lines_costs_only_itself(tmp_path):
    texts = [json.dumps(one, indent=4) for one in untimed()]
    half = texts[2].splitlines()
    texts[2] = "\n".join(half[: len(half) // 2])
    found = bring_in(write(tmp_path / "watch.json", texts))
    assert found.told == [*TOLD[:2], "RunnerObserved", "RunnerGone"], "without times the list seems to go on"
    assert found.tally.refused[0].reason == "it ends before its closing brace"


def test_a_file_that_ends_within_a_text(tmp_path):
    path = tmp_path / "watch.json"
    whole = "\n".join(json.dumps(one, indent=4) for one in untimed())
    path.write_text(whole[:-40])
    found = bring_in(path)
    assert found.told == TOLD[:-1]
    assert found.tally.refused[0].reason == "the file ends in the middle of it"


def test_the_excerpt_of_a_broken_line_is_not_kept(tmp_path):
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    found = bring_in(write(tmp_path / "watch.jsonl", [*timed(), '{"token": "' + secret]))
    assert secret not in str(found.events)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "is no watch stream: it is empty"),
        ("hello\nworld\n", ":1 is no watch stream: it is not JSON"),
        ('{"kind":"Event","apiVersion":"audit.k8s.io/v1","verb":"get"}\n', "audit log"),
        ('{"hello":1}\n', ":1 is no watch stream: it is neither a watch event nor an object"),
    ],
)
def test_a_file_of_something_else_is_refused(tmp_path, content, says):
    path = tmp_path / "x"
    path.write_text(content)
    with pytest.raises(UnreadableSourceError, match=says):
        survey(SourceFile(str(path)), Adoption({}, clean=str), lambda _bytes: None)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(UnreadableSourceError, match="does not exist"):
        survey(SourceFile(str(tmp_path / "none")), Adoption({}, clean=str), lambda _bytes: None)
    with pytest.raises(UnreadableSourceError, match="is a directory"):
        survey(SourceFile(str(tmp_path)), Adoption({}, clean=str), lambda _bytes: None)
