"""Owners to build from, in the shapes that the API returns."""

from __future__ import annotations

import copy

from arcfsm.domain import keys
from arcfsm.domain.settings import ControllerSettings

SETTINGS = ControllerSettings(listener_image="listener:1", controller_namespace="arc-systems")
URL = "https://github.com/acme/repo"
PROXY = {"http": {"url": "http://proxy:3128", "credentialSecretRef": "p"}, "noProxy": ["a", "b"]}


def scale_set(*, labels=None, annotations=None, **spec):
    return {
        "apiVersion": keys.GROUP_VERSION,
        "kind": "AutoscalingRunnerSet",
        "metadata": {
            "namespace": "arc-runners",
            "name": "demo",
            "uid": "ars-uid",
            "labels": {keys.VERSION_LABEL: "0.14.2", "team": "x", **(labels or {})},
            "annotations": {
                keys.SCALE_SET_ID: "7",
                keys.RUNNER_GROUP_NAME: "default",
                keys.RUNNER_SCALE_SET_NAME: "demo",
                "ignored": "of the scale set",
                **(annotations or {}),
            },
        },
        "spec": {
            "githubConfigUrl": URL,
            "githubConfigSecret": "cred",
            "template": {
                "metadata": {"labels": {"of": "template"}},
                "spec": {"containers": [{"name": "runner", "image": "runner:1"}]},
            },
            **spec,
        },
    }


def live(manifest, uid, name=None):
    """What the API returns for a manifest."""
    made = copy.deepcopy(manifest)
    made["metadata"]["uid"] = uid
    if name:
        made["metadata"]["name"] = name
    return made


def part(items, name):
    return next(item for item in items if item["name"] == name)
