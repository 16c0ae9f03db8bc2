"""`arcfsm import` as people use it: what it prints, how it ends, and what it leaves in a database."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy
import typer
from msgspec.structs import replace
from typer.testing import CliRunner

from arcfsm.cli.import_command import import_command
from arcfsm.domain.instant import SECOND
from arcfsm.journal import Journal, JournalError, verify
from arcfsm.samples import sample_path
from tests.unit.cluster.objects import NOON, Cluster
from tests.unit.importing.workshop import event, write

SAMPLE = sample_path("spec-update-with-busy-runner")


def run(*arguments):
    """Run the command; return its exit code, what it printed, and what it said on stderr."""
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(import_command)
    result = CliRunner().invoke(app, [str(one) for one in arguments], standalone_mode=False)
    if isinstance(result.exception, typer.TyperException):
        return result.exception.exit_code, result.stdout, result.exception.format_message()
    if isinstance(result.exception, JournalError):
        return 3, result.stdout, str(result.exception)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def events(url):
    """Everything in a journal but when it was recorded."""
    with Journal.open(url, read_only=True) as journal:
        return [replace(one, recorded_at=0) for one in journal.events()]


def test_a_sample_becomes_a_whole_journal(journal_url):
    code, out, err = run(SAMPLE, "--journal", journal_url)
    assert (code, err) == (0, "")
    assert "lines read             112" in out
    with Journal.open(journal_url, read_only=True) as journal:
        assert verify(journal).sound
        assert journal.resume_points()["pods"]


def test_the_same_file_again_adds_nothing(journal_url):
    run(SAMPLE, "--journal", journal_url)
    before = events(journal_url)
    code, out, _ = run(SAMPLE, "--journal", journal_url)
    assert code == 0
    assert "was imported before; it adds nothing" in out
    assert events(journal_url) == before


def test_batches_and_backends_and_hash_seeds_do_not_matter(tmp_path, postgres_url):
    expected = None
    for number, (url, size, seed) in enumerate(
        [("", "500", "0"), ("", "1", "1"), ("", "17", "2"), (postgres_url, "100", "3")]
    ):
        journal = url or f"sqlite:///{tmp_path / f'{number}.db'}"
        program = "import typer, arcfsm.cli.import_command as c; a = typer.Typer(); a.command()(c.import_command); a()"
        subprocess.run(
            [sys.executable, "-c", program, str(SAMPLE), "--journal", journal, "--batch-events", size],
            check=True,
            capture_output=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[3])},
        )
        found = events(journal)
        expected = expected or found
        assert found == expected


def test_later_files_of_the_same_cluster_go_on(journal_url, tmp_path):
    cluster = Cluster()
    runner_set = cluster.runner_set()
    first = write(tmp_path / "1", [event("ADDED", runner_set, NOON)])
    scaled = cluster.write(runner_set, spec={**runner_set["spec"], "replicas": 4, "patchID": 1})
    second = write(
        tmp_path / "2", [event("ADDED", runner_set, NOON + 60 * SECOND), event("MODIFIED", scaled, NOON + 61 * SECOND)]
    )
    run(first, "--journal", journal_url)
    code, _, err = run(second, "--journal", journal_url)
    assert code == 0
    assert "gap" in err
    told = [type(one.event).__name__ for one in events(journal_url)]
    assert told.count("RunnerSetObserved") == 1
    assert told.count("RunnerSetScaled") == 1


def test_warnings_name_file_and_line(tmp_path):
    path = write(tmp_path / "w", [event("ADDED", Cluster().scale_set(), NOON), "oops"])
    code, out, err = run(path, "--journal", tmp_path / "j.db")
    assert code == 0
    assert f"{path}:2: it is not JSON" in err
    assert "gap" in err
    assert "refused                  1" in out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["none.jsonl"], "none.jsonl does not exist"),
        ([str(SAMPLE), "--format", "audit"], "--format audit is not supported yet; supported is: watch"),
        ([str(SAMPLE), "--set", "colour=red"], "KEY is one of"),
        ([str(SAMPLE), "--set", "busy_retry=soon"], "--set busy_retry=soon"),
        ([str(SAMPLE), "--as-of", "tomorrow"], "is not a time"),
    ],
)
def test_wrong_usage_ends_with_2_and_one_line(tmp_path, arguments, says):
    code, _, err = run(*arguments, "--journal", tmp_path / "j.db")
    assert code == 2
    assert says in err
    assert "\n" not in err
    assert not (tmp_path / "j.db").exists()


def test_trouble_with_the_journal_ends_with_3(tmp_path):
    code, _, err = run(SAMPLE, "--journal", tmp_path / "no" / "such" / "folder.db")
    assert code == 3
    assert "does not exist" in err


def test_settings_from_the_command_line_win(tmp_path):
    journal = f"sqlite:///{tmp_path / 'j.db'}"
    arguments = ["--controller-namespace", "mine", "--listener-image", "i:1", "--set", "stalled_after=5"]
    run(SAMPLE, "--journal", journal, *arguments)
    declared = events(journal)[0].event.settings
    assert (declared.controller_namespace, declared.listener_image, declared.stalled_after) == ("mine", "i:1", 5)


def test_the_end_can_be_moved(tmp_path):
    journal = f"sqlite:///{tmp_path / 'j.db'}"
    code, _, _ = run(SAMPLE, "--journal", journal, "--as-of", "2026-12-01T06:30:00Z")
    assert code == 0
    assert events(journal)[-1].observed_at == 1796106600000000
    code, _, err = run(SAMPLE, "--journal", tmp_path / "k.db", "--as-of", "2020-01-01T00:00:00Z")
    assert code == 0
    assert "has no effect" in err


# Credentials

TOKEN = "ghp_" + "s3cr3tS3cr3tS3cr3tS3cr3tS3cr3tS3cr3t"
PLAIN = "hunter2-hunter2-hunter2"
JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJzM2NyM3QifQ.czNjcjN0LXMzY3IzdC1zM2NyM3Q"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEs3cr3ts3cr3t\nczNjcjN0\n-----END RSA PRIVATE KEY-----\n"
JIT = "c2VjcmV0LWppdC1jb25maWc" * 12
CANARIES = [TOKEN, PLAIN, JWT, "MIIEs3cr3ts3cr3t", JIT, "AKIAIOSFODNN7EXAMPLE"]


def contaminated():
    """Objects with credentials in every place that anybody ever put one."""
    cluster = Cluster()
    applied = json.dumps({"apiVersion": "v1", "kind": "Secret", "stringData": {"github_token": TOKEN, "x": PLAIN}})
    annotations = {
        "kubectl.kubernetes.io/last-applied-configuration": applied,
        "example.com/backup-of-the-object": applied,
        "example.com/api-token": PLAIN,
        "example.com/url": f"https://user:{PLAIN}@example.com/",
        "actions.github.com/note": TOKEN,
    }
    labels = {"token": PLAIN, "hint": TOKEN[:63]}
    managed = [
        {"manager": TOKEN, "operation": "Update", "time": "2026-12-01T12:00:00Z", "fieldsV1": {"f:spec": {PLAIN: {}}}}
    ]
    env = [
        {"name": "GITHUB_TOKEN", "value": TOKEN},
        {"name": "DB_PASSWORD", "value": PLAIN},
        {"name": "INNOCENT", "value": JWT},
        {"name": "KEYFILE", "value": PEM},
        {"name": "AWS", "value": "AKIAIOSFODNN7EXAMPLE"},
        {"name": "ACTIONS_RUNNER_INPUT_JITCONFIG", "value": JIT},
        {"name": "https_proxy", "value": f"http://me:{PLAIN}@proxy:3128"},
    ]
    container = {
        "name": "runner",
        "image": "runner:1",
        "env": env,
        "args": ["--token", PLAIN, f"--password={PLAIN}", TOKEN],
        "command": ["sh", "-c", f"export SECRET={PLAIN}; curl -H 'Authorization: Bearer {JWT}' https://x:{PLAIN}@y/"],
        "livenessProbe": {"httpGet": {"httpHeaders": [{"name": "Authorization", "value": PLAIN}]}},
        "lifecycle": {"postStart": {"exec": {"command": ["sh", "-c", f"echo {PEM}"]}}},
    }
    template = {"metadata": {"annotations": annotations, "labels": labels}, "spec": {"containers": [container]}}
    scale_set = cluster.scale_set(
        template=template,
        listenerTemplate={"spec": {"containers": [{**container, "name": "listener"}]}},
        proxy={"http": {"url": f"http://me:{PLAIN}@proxy", "credentialSecretRef": "proxy"}},
        githubConfigUrl=f"https://{TOKEN}@github.com/acme",
    )
    runner_set = cluster.runner_set()
    runner_set["spec"]["ephemeralRunnerSpec"] = template
    runner_set["spec"]["ephemeralRunnerMetadata"] = {"annotations": annotations, "labels": labels}
    runner = cluster.runner(
        "r1",
        runnerJITConfig=JIT,
        phase=TOKEN,
        reason=TOKEN,
        message=f"could not register with token {TOKEN}: Authorization: Bearer {JWT}",
        jobDisplayName=f"deploy {TOKEN}",
        jobWorkflowRef=f"https://me:{PLAIN}@github.com/x",
        runnerName=TOKEN,
        failures={TOKEN: True},
    )
    runner["spec"] = template
    listener = cluster.listener(image=f"registry/{TOKEN}")
    listener["spec"]["template"] = template
    failed = {"terminated": {"exitCode": 1, "reason": TOKEN, "message": PLAIN}}
    pods = [cluster.pod(runner, state=failed), cluster.pod(listener, state=failed)]
    for pod in pods:
        pod["spec"]["containers"] = [copy.deepcopy(container)]
        pod["spec"]["nodeName"] = TOKEN
        pod["status"] |= {"message": f"pull failed: https://u:{PLAIN}@registry", "reason": TOKEN}
    role = cluster.make(
        "Role",
        "demo-listener",
        api="rbac.authorization.k8s.io/v1",
        metadata={"labels": {"auto-scaling-listener-name": "demo-listener", "auto-scaling-listener-namespace": "arc"}},
        rules=[{"resourceNames": [TOKEN], "verbs": ["get"]}],
    )
    secret = cluster.make("Secret", "credentials", api="v1", data={"github_token": TOKEN}, stringData={"p": PLAIN})
    config = cluster.make(
        "ConfigMap",
        "config",
        api="v1",
        metadata={"finalizers": ["actions.github.com/cleanup-protection"]},
        data={"k": PEM},
    )
    partial = cluster.secret("r1", of=runner)
    objects = [scale_set, runner_set, runner, listener, *pods, role, secret, config, partial]
    for obj in objects:
        obj["metadata"].setdefault("annotations", {}).update(annotations)
        obj["metadata"].setdefault("labels", {}).update(labels)
        obj["metadata"]["managedFields"] = managed
        obj["unknown"] = {"deep": [{"token": TOKEN}, PLAIN]}
    return cluster, objects


def contaminated_lines():
    cluster, objects = contaminated()
    lines = [event("ADDED", obj, NOON + index * SECOND) for index, obj in enumerate(objects)]
    at = NOON + 60 * SECOND
    for obj in objects:
        changed = cluster.write(obj)
        changed["metadata"]["annotations"]["changed"] = TOKEN
        changed["metadata"]["finalizers"] = [TOKEN]
        lines.append(event("MODIFIED", changed, at))
    named = copy.deepcopy(objects[2])
    named["metadata"] |= {"name": TOKEN, "uid": TOKEN, "namespace": TOKEN, "resourceVersion": TOKEN}
    lines.append(event("ADDED", named, at))
    lines.append(event("MODIFIED", {"kind": TOKEN, "apiVersion": f"{TOKEN}/v1", "metadata": {}}, at))
    lines.append(
        event("MODIFIED", {**objects[0], "metadata": {"name": "x", "uid": "y", "creationTimestamp": TOKEN}}, at)
    )
    lines.append({"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": TOKEN, "message": TOKEN}})
    lines.append('{"type": "ADDED", "object": {"token": "' + TOKEN)
    lines.append(TOKEN)
    lines += [event("DELETED", cluster.write(obj), at + SECOND) for obj in objects]
    return lines


def dump_of(url):
    """Every value of every table, as text."""
    engine = sqlalchemy.create_engine(sqlalchemy.make_url(url).set(drivername=driver_of(url)))
    inspector = sqlalchemy.inspect(engine)
    names = [*inspector.get_table_names(), *inspector.get_view_names()]
    with engine.connect() as connection:
        values = [
            value
            for name in names
            for row in connection.execute(sqlalchemy.select(sqlalchemy.text("*")).select_from(sqlalchemy.table(name)))
            for value in row
        ]
    engine.dispose()
    return "\n".join(value.decode("latin-1") if isinstance(value, bytes) else str(value) for value in values)


def driver_of(url):
    return "sqlite" if url.startswith("sqlite") else "postgresql+psycopg"


def test_no_credential_reaches_a_journal(journal_url, tmp_path):
    path = write(tmp_path / "w", contaminated_lines())
    code, out, err = run(path, "--journal", journal_url)
    assert code == 0
    dump = dump_of(journal_url)
    assert "redacted:" in dump, "the values were there to be found"
    assert "RunnerPodCreated" in dump
    stored = [path.read_bytes().decode("latin-1") for path in tmp_path.glob("journal.db*")]
    for text in (dump, out, err, *stored):
        for canary in CANARIES:
            assert canary not in text
