"""How the fields of pods are typed: the type oracle of D6 and D15, as data.

Read `struct("a b", c=...)` as: `a` and `b` are pointers, `c` is what stands there, everything else is typed by value.
A field that a later Kubernetes adds is taken for a value, which can at worst hide the change from absent to zero.
"""

from __future__ import annotations

from typing import Final

from arcfsm.domain.drift.schema import (
    INT_OR_STRING,
    PLAIN,
    QUANTITY,
    STRINGS,
    TIME,
    VERBATIM,
    ListOf,
    MapOf,
    Pointer,
    struct,
)

# What everything has

OBJECT_META: Final = struct(
    "deletionGracePeriodSeconds",
    labels=STRINGS,
    annotations=STRINGS,
    creationTimestamp=TIME,
    deletionTimestamp=Pointer(TIME),
    ownerReferences=ListOf(struct("controller blockOwnerDeletion")),
    managedFields=ListOf(struct(time=Pointer(TIME), fieldsV1=Pointer(VERBATIM))),
)
_SELECTOR: Final = Pointer(struct(matchLabels=STRINGS))
_OPTIONAL: Final = Pointer(struct("optional"))
_AMOUNTS: Final = MapOf(QUANTITY)
_RESOURCES: Final = struct(limits=_AMOUNTS, requests=_AMOUNTS)
_RESOURCE_FIELD: Final = Pointer(struct(divisor=QUANTITY))

# Containers

_HTTP: Final = Pointer(struct(port=INT_OR_STRING))
_TCP: Final = Pointer(struct(port=INT_OR_STRING))
_PROBE: Final = Pointer(
    struct(
        "exec terminationGracePeriodSeconds",
        httpGet=_HTTP,
        tcpSocket=_TCP,
        grpc=Pointer(struct("service")),
    )
)
_HOOK: Final = Pointer(struct("exec sleep", httpGet=_HTTP, tcpSocket=_TCP))
_LOCAL_PROFILE: Final = Pointer(struct("localhostProfile"))
_WINDOWS: Final = Pointer(struct("gmsaCredentialSpec gmsaCredentialSpecName hostProcess runAsUserName"))
CONTAINER: Final = struct(
    "restartPolicy",
    env=ListOf(
        struct(
            valueFrom=Pointer(
                struct(
                    "fieldRef",
                    resourceFieldRef=_RESOURCE_FIELD,
                    configMapKeyRef=_OPTIONAL,
                    secretKeyRef=_OPTIONAL,
                    fileKeyRef=_OPTIONAL,
                )
            )
        )
    ),
    envFrom=ListOf(struct(configMapRef=_OPTIONAL, secretRef=_OPTIONAL)),
    resources=_RESOURCES,
    volumeMounts=ListOf(struct("mountPropagation recursiveReadOnly")),
    livenessProbe=_PROBE,
    readinessProbe=_PROBE,
    startupProbe=_PROBE,
    lifecycle=Pointer(struct("stopSignal", postStart=_HOOK, preStop=_HOOK)),
    restartPolicyRules=ListOf(struct("exitCodes")),
    securityContext=Pointer(
        struct(
            "allowPrivilegeEscalation capabilities privileged procMount readOnlyRootFilesystem"
            " runAsGroup runAsNonRoot runAsUser seLinuxOptions",
            appArmorProfile=_LOCAL_PROFILE,
            seccompProfile=_LOCAL_PROFILE,
            windowsOptions=_WINDOWS,
        )
    ),
)

# Volumes

_FILES: Final = ListOf(struct("mode"))
_FILES_OF_POD: Final = ListOf(struct("fieldRef mode", resourceFieldRef=_RESOURCE_FIELD))
_PROJECTED_FILES: Final = Pointer(struct("optional", items=_FILES))
_MOUNTED_FILES: Final = Pointer(struct("defaultMode optional", items=_FILES))
_WITH_SECRET: Final = Pointer(struct("secretRef"))
_CLAIM: Final = struct(
    metadata=OBJECT_META,
    spec=struct(
        "storageClassName volumeAttributesClassName volumeMode",
        selector=_SELECTOR,
        resources=_RESOURCES,
        dataSource=Pointer(struct("apiGroup")),
        dataSourceRef=Pointer(struct("apiGroup namespace")),
    ),
)
VOLUME: Final = struct(
    "awsElasticBlockStore azureFile flocker gcePersistentDisk gitRepo glusterfs image nfs persistentVolumeClaim"
    " photonPersistentDisk portworxVolume quobyte vsphereVolume",
    azureDisk=Pointer(struct("cachingMode fsType kind readOnly")),
    cephfs=_WITH_SECRET,
    cinder=_WITH_SECRET,
    configMap=_MOUNTED_FILES,
    csi=Pointer(struct("fsType nodePublishSecretRef readOnly", volumeAttributes=STRINGS)),
    downwardAPI=Pointer(struct("defaultMode", items=_FILES_OF_POD)),
    emptyDir=Pointer(struct(sizeLimit=Pointer(QUANTITY))),
    ephemeral=Pointer(struct(volumeClaimTemplate=Pointer(_CLAIM))),
    fc=Pointer(struct("lun")),
    flexVolume=Pointer(struct("secretRef", options=STRINGS)),
    hostPath=Pointer(struct("type")),
    iscsi=Pointer(struct("initiatorName secretRef")),
    projected=Pointer(
        struct(
            "defaultMode",
            sources=ListOf(
                struct(
                    clusterTrustBundle=Pointer(struct("name optional signerName", labelSelector=_SELECTOR)),
                    configMap=_PROJECTED_FILES,
                    downwardAPI=Pointer(struct(items=_FILES_OF_POD)),
                    podCertificate=Pointer(struct("maxExpirationSeconds", userAnnotations=STRINGS)),
                    secret=_PROJECTED_FILES,
                    serviceAccountToken=Pointer(struct("expirationSeconds")),
                )
            ),
        )
    ),
    rbd=_WITH_SECRET,
    scaleIO=_WITH_SECRET,
    secret=_MOUNTED_FILES,
    storageos=_WITH_SECRET,
)

# Scheduling

_POD_TERM: Final = struct(labelSelector=_SELECTOR, namespaceSelector=_SELECTOR)
_POD_AFFINITY: Final = Pointer(
    struct(
        requiredDuringSchedulingIgnoredDuringExecution=ListOf(_POD_TERM),
        preferredDuringSchedulingIgnoredDuringExecution=ListOf(struct(podAffinityTerm=_POD_TERM)),
    )
)
_AFFINITY: Final = Pointer(
    struct(
        nodeAffinity=Pointer(struct("requiredDuringSchedulingIgnoredDuringExecution")),
        podAffinity=_POD_AFFINITY,
        podAntiAffinity=_POD_AFFINITY,
    )
)

POD_SPEC: Final = struct(
    "activeDeadlineSeconds automountServiceAccountToken enableServiceLinks hostUsers hostnameOverride os"
    " preemptionPolicy priority runtimeClassName setHostnameAsFQDN shareProcessNamespace"
    " terminationGracePeriodSeconds",
    containers=ListOf(CONTAINER),
    initContainers=ListOf(CONTAINER),
    ephemeralContainers=ListOf(CONTAINER),
    volumes=ListOf(VOLUME),
    nodeSelector=STRINGS,
    affinity=_AFFINITY,
    tolerations=ListOf(struct("tolerationSeconds")),
    topologySpreadConstraints=ListOf(struct("minDomains nodeAffinityPolicy nodeTaintsPolicy", labelSelector=_SELECTOR)),
    dnsConfig=Pointer(struct(options=ListOf(struct("value")))),
    overhead=_AMOUNTS,
    resources=Pointer(_RESOURCES),
    resourceClaims=ListOf(struct("resourceClaimName resourceClaimTemplateName")),
    schedulingGroup=Pointer(struct("podGroupName")),
    readinessGates=ListOf(PLAIN),
    securityContext=Pointer(
        struct(
            "fsGroup fsGroupChangePolicy runAsGroup runAsNonRoot runAsUser seLinuxChangePolicy seLinuxOptions"
            " supplementalGroupsPolicy",
            appArmorProfile=_LOCAL_PROFILE,
            seccompProfile=_LOCAL_PROFILE,
            windowsOptions=_WINDOWS,
        )
    ),
)
POD_TEMPLATE: Final = struct(metadata=OBJECT_META, spec=POD_SPEC)
