"""The oracle names exactly the pointers and quantities that D6 and D15 list."""

from __future__ import annotations

from arcfsm.domain.drift import POD_SPEC
from arcfsm.domain.drift.schema import Leaf, ListOf, MapOf, Pointer, Struct

ALWAYS_POINTERS = set(
    """
activeDeadlineSeconds affinity allowPrivilegeEscalation apiGroup appArmorProfile automountServiceAccountToken
awsElasticBlockStore azureDisk azureFile cachingMode capabilities cephfs cinder clusterTrustBundle configMap
configMapKeyRef configMapRef csi dataSource dataSourceRef defaultMode dnsConfig downwardAPI emptyDir enableServiceLinks
ephemeral exec exitCodes expirationSeconds fc fieldRef fileKeyRef flexVolume flocker fsGroup fsGroupChangePolicy
gcePersistentDisk gitRepo glusterfs gmsaCredentialSpec gmsaCredentialSpecName grpc hostPath hostProcess hostUsers
hostnameOverride httpGet initiatorName iscsi labelSelector lifecycle livenessProbe localhostProfile
maxExpirationSeconds minDomains mode mountPropagation namespaceSelector nfs nodeAffinity nodeAffinityPolicy
nodePublishSecretRef nodeTaintsPolicy optional os persistentVolumeClaim photonPersistentDisk podAffinity
podAntiAffinity podCertificate podGroupName portworxVolume postStart preStop preemptionPolicy priority privileged
procMount projected quobyte rbd readOnlyRootFilesystem readinessProbe recursiveReadOnly resourceClaimName
resourceClaimTemplateName resourceFieldRef runAsGroup runAsNonRoot runAsUser runAsUserName runtimeClassName scaleIO
schedulingGroup seLinuxChangePolicy seLinuxOptions seccompProfile secret secretKeyRef secretRef securityContext
selector service serviceAccountToken setHostnameAsFQDN shareProcessNamespace sizeLimit sleep startupProbe stopSignal
storageClassName storageos supplementalGroupsPolicy tcpSocket terminationGracePeriodSeconds tolerationSeconds valueFrom
volumeAttributesClassName volumeClaimTemplate volumeMode vsphereVolume windowsOptions
""".split()  # noqa: SIM905 - as rules.md lists them
)
SOMETIMES_POINTERS = {
    "requiredDuringSchedulingIgnoredDuringExecution",
    "fsType",
    "readOnly",
    "kind",
    "lun",
    "image",
    "type",
    "name",
    "signerName",
    "namespace",
    "value",
    "restartPolicy",
    "resources",
}
OF_OBJECT_META = {
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "controller",
    "blockOwnerDeletion",
    "time",
    "fieldsV1",
}


def walk(shape, path=()):
    yield path, shape
    if isinstance(shape, Struct):
        for name, field in shape.fields.items():
            yield from walk(field, (*path, name))
    elif isinstance(shape, Pointer):
        yield from walk(shape.to, path)
    elif isinstance(shape, ListOf):
        yield from walk(shape.item, (*path, "[]"))
    elif isinstance(shape, MapOf):
        yield from walk(shape.value, (*path, "{}"))


def test_D6_the_pointers_are_those_listed():
    named = {path[-1] for path, shape in walk(POD_SPEC) if isinstance(shape, Pointer)}
    assert named - SOMETIMES_POINTERS - OF_OBJECT_META == ALWAYS_POINTERS
    assert named >= SOMETIMES_POINTERS


def test_D6_names_that_are_pointers_in_some_places_are_so_only_there():
    places = {
        path: isinstance(shape, Pointer)
        for path, shape in walk(POD_SPEC)
        if path and path[-1] in SOMETIMES_POINTERS and isinstance(shape, Pointer)
    }
    assert sorted("/".join(path) for path in places) == [
        "affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution",
        "containers/[]/restartPolicy",
        "dnsConfig/options/[]/value",
        "ephemeralContainers/[]/restartPolicy",
        "initContainers/[]/restartPolicy",
        "resources",
        "volumes/[]/azureDisk/fsType",
        "volumes/[]/azureDisk/kind",
        "volumes/[]/azureDisk/readOnly",
        "volumes/[]/csi/fsType",
        "volumes/[]/csi/readOnly",
        "volumes/[]/ephemeral/volumeClaimTemplate/spec/dataSourceRef/namespace",
        "volumes/[]/fc/lun",
        "volumes/[]/hostPath/type",
        "volumes/[]/image",
        "volumes/[]/projected/sources/[]/clusterTrustBundle/name",
        "volumes/[]/projected/sources/[]/clusterTrustBundle/signerName",
    ]


def test_D15_the_quantities_are_those_listed():
    quantities = sorted({"/".join(path) for path, shape in walk(POD_SPEC) if shape is Leaf.QUANTITY})
    containers = [
        f"{kind}/[]/{rest}"
        for kind in ("containers", "ephemeralContainers", "initContainers")
        for rest in ("env/[]/valueFrom/resourceFieldRef/divisor", "resources/limits/{}", "resources/requests/{}")
    ]
    assert quantities == sorted(
        [
            *containers,
            "overhead/{}",
            "resources/limits/{}",
            "resources/requests/{}",
            "volumes/[]/emptyDir/sizeLimit",
            "volumes/[]/downwardAPI/items/[]/resourceFieldRef/divisor",
            "volumes/[]/projected/sources/[]/downwardAPI/items/[]/resourceFieldRef/divisor",
            "volumes/[]/ephemeral/volumeClaimTemplate/spec/resources/limits/{}",
            "volumes/[]/ephemeral/volumeClaimTemplate/spec/resources/requests/{}",
        ]
    )
