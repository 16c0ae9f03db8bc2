"""Manifests: the objects that should be there (rules.md 1.5, M1–M8, L9, L15, P1).

Builders are pure. They take the owner as plain JSON, with `metadata` (namespace, name, uid, labels, annotations) and
`spec`, as the API returned it or as `subject` puts it together from the fold, and return fresh objects that share
nothing with it (H32). They raise `Unbuildable` with a `Refusal` where the owner lacks what they need (A13).

    runner_set_manifest(scale_set, settings)            listener_manifest(scale_set, settings, phase=)
    current_listener_name(scale_set)                    scale_set_id(scale_set)
    runner_manifest(runner_set, settings)               named(manifest, name)
    runner_pod(runner, settings)                        jit_secret(runner, settings)
    runner_proxy_secret(runner_set, settings)
    service_account, role, role_binding, listener_config_secret, listener_proxy_secret (listener, settings)
    check_listener(listener)                            what a listener would refuse    L10
    role_rules(listener)                                listener_pod(listener, settings, config_version)

    metadata_patch(live, desired, settings) -> merge patch of metadata or None          M1–M3
    listener_pod_metadata_patch(live, desired, settings)                                never stamps (Z1)

Inside effects only, because they handle values of Secrets:

    github_credentials(data), proxy_credentials(data), vault_object(text)                M11
    listener_config(listener, settings, credentials=, server_root_ca=) -> text           P1
    proxy_data(proxy, credentials), jit_secret_data(…), with_data(secret, data)          L8, S5, R10
"""

from __future__ import annotations

from arcfsm.domain.manifests.credentials import (
    AppCredentials,
    GitHubCredentials,
    InvalidCredentials,
    ProxyCredentials,
    TokenCredentials,
    github_credentials,
    proxy_credentials,
    vault_object,
)
from arcfsm.domain.manifests.listener import current_listener_name, listener_manifest
from arcfsm.domain.manifests.listener_children import (
    listener_config_secret,
    listener_proxy_secret,
    role,
    role_binding,
    role_rules,
    service_account,
)
from arcfsm.domain.manifests.listener_config import check_listener, listener_config
from arcfsm.domain.manifests.listener_pod import CONFIG_FILE, listener_pod
from arcfsm.domain.manifests.metadata import (
    listener_pod_metadata_patch,
    merge_annotations,
    merge_labels,
    metadata_patch,
    scale_set_id,
)
from arcfsm.domain.manifests.refusal import Refusal, Unbuildable
from arcfsm.domain.manifests.runner import jit_secret, named, runner_manifest
from arcfsm.domain.manifests.runner_pod import runner_pod
from arcfsm.domain.manifests.runner_set import runner_proxy_secret, runner_set_manifest
from arcfsm.domain.manifests.secret_data import jit_secret_data, proxy_data, with_data
from arcfsm.domain.manifests.subject import subject

__all__ = [
    "CONFIG_FILE",
    "AppCredentials",
    "GitHubCredentials",
    "InvalidCredentials",
    "ProxyCredentials",
    "Refusal",
    "TokenCredentials",
    "Unbuildable",
    "check_listener",
    "current_listener_name",
    "github_credentials",
    "jit_secret",
    "jit_secret_data",
    "listener_config",
    "listener_config_secret",
    "listener_manifest",
    "listener_pod",
    "listener_pod_metadata_patch",
    "listener_proxy_secret",
    "merge_annotations",
    "merge_labels",
    "metadata_patch",
    "named",
    "proxy_credentials",
    "proxy_data",
    "role",
    "role_binding",
    "role_rules",
    "runner_manifest",
    "runner_pod",
    "runner_proxy_secret",
    "runner_set_manifest",
    "scale_set_id",
    "service_account",
    "subject",
    "vault_object",
    "with_data",
]
