"""Wire facts: the names by which the API, the charts and older controllers know things, each written only here."""

from __future__ import annotations

from typing import Final

GROUP: Final = "actions.github.com"
VERSION: Final = "v1alpha1"
GROUP_VERSION: Final = f"{GROUP}/{VERSION}"

# Finalizers
SCALE_SET_FINALIZER: Final = "autoscalingrunnerset.actions.github.com/finalizer"
RUNNER_SET_FINALIZER: Final = "ephemeralrunnerset.actions.github.com/finalizer"
RUNNER_FINALIZER: Final = "ephemeralrunner.actions.github.com/finalizer"
REGISTRATION_FINALIZER: Final = "ephemeralrunner.actions.github.com/runner-registration-finalizer"
LISTENER_FINALIZER: Final = "autoscalinglistener.actions.github.com/finalizer"
CLEANUP_PROTECTION_FINALIZER: Final = "actions.github.com/cleanup-protection"

# Annotations
SCALE_SET_ID: Final = "runner-scale-set-id"
"""Carries no prefix on the wire."""
RUNNER_GROUP_NAME: Final = "actions.github.com/runner-group-name"
RUNNER_SCALE_SET_NAME: Final = "actions.github.com/runner-scale-set-name"
PATCH_ID: Final = "actions.github.com/patch-id"
ACTIONABLE_REVISION: Final = "actions.github.com/actionable-revision"
LISTENER_CONFIG_VERSION: Final = "actions.github.com/listener-config-resource-version"
INTEGRITY_HASH: Final = "actions.github.com/integrity-hash"
"""Left by older controllers: never read, never written, never removed (Z16)."""

MANAGER_ROLE_BINDING: Final = "actions.github.com/cleanup-manager-role-binding"
MANAGER_ROLE: Final = "actions.github.com/cleanup-manager-role-name"
KUBERNETES_MODE_ROLE_BINDING: Final = "actions.github.com/cleanup-kubernetes-mode-role-binding-name"
KUBERNETES_MODE_ROLE: Final = "actions.github.com/cleanup-kubernetes-mode-role-name"
KUBERNETES_MODE_SERVICE_ACCOUNT: Final = "actions.github.com/cleanup-kubernetes-mode-service-account-name"
NO_PERMISSION_SERVICE_ACCOUNT: Final = "actions.github.com/cleanup-no-permission-service-account-name"
GITHUB_SECRET: Final = "actions.github.com/cleanup-github-secret-name"

# Labels
VERSION_LABEL: Final = "app.kubernetes.io/version"
COMPONENT: Final = "app.kubernetes.io/component"
PART_OF: Final = "app.kubernetes.io/part-of"
PART_OF_VALUE: Final = "gha-runner-scale-set"
COMPONENT_RUNNER_SET: Final = "runner-set"
COMPONENT_RUNNER: Final = "runner"
COMPONENT_LISTENER: Final = "runner-scale-set-listener"
SCALE_SET_NAME: Final = "actions.github.com/scale-set-name"
SCALE_SET_NAMESPACE: Final = "actions.github.com/scale-set-namespace"
ENTERPRISE: Final = "actions.github.com/enterprise"
ORGANIZATION: Final = "actions.github.com/organization"
REPOSITORY: Final = "actions.github.com/repository"
LISTENER_NAME: Final = "auto-scaling-listener-name"
LISTENER_NAMESPACE: Final = "auto-scaling-listener-namespace"
EPHEMERAL_RUNNER: Final = "actions-ephemeral-runner"
POD_TEMPLATE_HASH: Final = "pod-template-hash"
RUNNER_TEMPLATE_HASH: Final = "runner-template-hash"
RUNNER_POD: Final = "runner-pod"
"""On pods and secrets that container hooks create; the value is the runner's name."""

# Names of children
LISTENER_CONFIG_SUFFIX: Final = "-config"
LISTENER_PROXY_SUFFIX: Final = "-proxy"

# Containers, environment, exit codes
RUNNER_CONTAINER: Final = "runner"
LISTENER_CONTAINER: Final = "listener"
CONTAINER_HOOKS_ENV: Final = "ACTIONS_RUNNER_CONTAINER_HOOKS"
OUTDATED_EXIT_CODE: Final = 7
"""The runner says with it that the service refuses its version."""
MAX_RUNNERS_DEFAULT: Final = 2147483647
DEFAULT_RUNNER_GROUP_ID: Final = 1

# Reasons and messages the controller writes into a runner's status
REASON_INVALID_POD: Final = "InvalidPod"
REASON_OUTDATED: Final = "Outdated"
MESSAGE_OUTDATED: Final = "Runner is deprecated"
REASON_EVICTED: Final = "Evicted"
REASONS_NOT_STARTING: Final = frozenset(
    {
        "CreateContainerConfigError",
        "CreateContainerError",
        "ErrImageNeverPull",
        "ErrImagePull",
        "ImageInspectError",
        "ImagePullBackOff",
        "InvalidImageName",
        "RegistryUnavailable",
        "RunContainerError",
        "SignatureValidationFailed",
    }
)
"""Reasons with which the kubelet says that a container waits for something that may never come."""
