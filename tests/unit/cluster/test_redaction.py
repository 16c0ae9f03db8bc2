"""Credentials become markers; everything else stays as it is."""

from __future__ import annotations

import pytest

from arcfsm.cluster.redaction import MARKER, credential_name, marker, redact, redact_pairs, redact_text

PAT = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJydW5uZXIifQ.c2lnbmF0dXJlLXZhbHVl"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (PAT, PAT),
        (f"failed with token {PAT}", PAT),
        ("github_pat_11ABCDEFG0123456789_abcdefghij", "11ABCDEFG0123456789"),
        (JWT, JWT),
        (PEM, "MIIEowIBAAKCAQEA"),
        (PEM.split("-----END", maxsplit=1)[0], "MIIEowIBAAKCAQEA"),
        ("AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
        ("https://user:hunter2@proxy.example:3128/x", "hunter2"),
        ("https://user:hun@ter2@proxy.example/", "ter2"),
        ("postgres://u:pa/ss@db/x", "pa/ss"),
        ("https://sometoken@github.com/acme", "sometoken"),
        ("curl -H 'Authorization: Bearer abcdefghijkl'", "abcdefghijkl"),
        ("--registration-token=hunter2-hunter2", "hunter2"),
        ("export MY_PASSWORD=hunter2; run", "hunter2"),
        ('{"client_secret": "hunter2"}', "hunter2"),
        ("x" * 130, "x" * 130),
    ],
)
def test_credentials_in_text_become_markers(text, secret):
    redacted = redact_text(text)
    assert secret not in redacted
    assert MARKER in redacted
    assert redact_text(redacted) == redacted, "redacting again changes nothing"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Running",
        "ghcr.io/actions/actions-runner:2.335.1",
        "ghcr.io/acme/runner@sha256:" + "0f" * 32,
        "https://github.com/acme/repo",
        "http://proxy.example:3128",
        'pods "x" is forbidden: exceeded quota: compute, requested: cpu=1, used: cpu=4, limited: cpu=4',
        "couldn't find key token in Secret ci/credentials",
        "/home/runner/run.sh",
    ],
)
def test_everything_else_stays(text):
    assert redact_text(text) == text


@pytest.mark.parametrize(
    "name",
    [
        "GITHUB_TOKEN",
        "DB_PASSWORD",
        "PAT",
        "MY_PAT",
        "AWS_SECRET_ACCESS_KEY",
        "apiKey",
        "ACTIONS_RUNNER_INPUT_JITCONFIG",
    ],
)
def test_names_of_credentials(name):
    assert credential_name(name)


@pytest.mark.parametrize("name", ["PATH", "ACTIONS_RUNNER_CONTAINER_HOOKS", "PATTERN", "AUTHOR", "MONKEY", "HOME"])
def test_names_of_other_things(name):
    assert not credential_name(name)


def test_a_marker_tells_equal_from_unequal_and_nothing_else():
    assert marker("hunter2") == marker("hunter2") != marker("hunter3")
    assert marker(marker("hunter2")) == marker("hunter2")
    assert len(marker("hunter2")) == len(MARKER) + 16


def test_values_are_redacted_by_the_name_beside_them():
    env = [{"name": "DB_PASSWORD", "value": "hunter2"}, {"name": "HOME", "value": "/root"}]
    template = {
        "containers": [
            {"name": "runner", "env": env, "args": ["--token", "hunter2", "--name", "x"]},
            {"livenessProbe": {"httpGet": {"httpHeaders": [{"name": "Authorization", "value": "hunter2"}]}}},
        ]
    }
    redacted = redact(template)
    assert "hunter2" not in str(redacted)
    assert redacted["containers"][0]["env"][1] == {"name": "HOME", "value": "/root"}
    assert redacted["containers"][0]["args"][2:] == ["--name", "x"]


def test_references_to_secrets_stay():
    spec = {
        "githubConfigSecret": "credentials",
        "imagePullSecrets": [{"name": "pull-secret"}],
        "env": [{"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "s", "key": "token"}}}],
        "automountServiceAccountToken": False,
        "volumes": [{"name": "token", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}],
    }
    assert redact(spec) == spec


def test_annotations():
    annotations = {
        "kubectl.kubernetes.io/last-applied-configuration": '{"data":{"token":"hunter2"}}',
        "actions.github.com/cleanup-github-secret-name": "credentials",
        "example.com/api-token": "hunter2",
        "example.com/original": '{"apiVersion":"v1","stringData":{"x":"hunter2"}}',
        "example.com/url": "https://u:hunter2@x/",
        "runner-scale-set-id": "7",
        "team": "ci",
    }
    redacted = redact_pairs(annotations)
    assert "hunter2" not in str(redacted)
    assert redacted["actions.github.com/cleanup-github-secret-name"] == "credentials"
    assert redacted["runner-scale-set-id"] == "7"
    assert redacted["team"] == "ci"
    assert "kubectl.kubernetes.io/last-applied-configuration" not in redacted


def test_labels_and_annotations_inside_a_template():
    template = {
        "metadata": {"annotations": {"vault.example/token": "hunter2"}, "managedFields": [{"manager": "hunter2"}]}
    }
    assert "hunter2" not in str(redact(template))
