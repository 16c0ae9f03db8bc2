"""The built-in types, as far as the simulated world uses them, in the notation of `typed`."""

from __future__ import annotations

from typing import Final

from arcfsm.sim.apiserver.typed import Types

_META: Final = """
OwnerReference
  apiVersion string!, kind string!, name string!, uid string!, controller *bool, blockOwnerDeletion *bool
ObjectMeta
  name string, generateName string, namespace string, selfLink string, uid string, resourceVersion string
  generation int64, creationTimestamp time, deletionTimestamp *time, deletionGracePeriodSeconds *int64
  labels map:string, annotations map:string, ownerReferences []OwnerReference, finalizers []string
  managedFields []any
TemplateMeta
  +ObjectMeta
LabelRequirement
  key string!, operator string!, values []string
LabelSelector
  matchLabels map:string, matchExpressions []LabelRequirement
Preconditions
  uid *string, resourceVersion *string
DeleteOptions
  kind string, apiVersion string, gracePeriodSeconds *int64, preconditions *Preconditions, orphanDependents *bool
  propagationPolicy *string, dryRun []string, ignoreStoreReadErrorWithClusterBreakingPotential *bool
LocalObjectReference
  name string
ObjectReference
  kind string, namespace string, name string, uid string, apiVersion string, resourceVersion string, fieldPath string
"""
_POD: Final = """
KeySelector
  name string, key string!, optional *bool
FieldSelector
  apiVersion string, fieldPath string!
ResourceSelector
  containerName string, resource string!, divisor quantity!
FileKeySelector
  volumeName string!, path string!, key string!, optional *bool
EnvVarSource
  fieldRef *FieldSelector, resourceFieldRef *ResourceSelector, configMapKeyRef *KeySelector
  secretKeyRef *KeySelector, fileKeyRef *FileKeySelector
EnvVar
  name string!, value string, valueFrom *EnvVarSource
RefSource
  name string, optional *bool
EnvFromSource
  prefix string, configMapRef *RefSource, secretRef *RefSource
ContainerPort
  name string, hostPort int32, containerPort int32!, protocol string, hostIP string
ResourceClaimRef
  name string!, request string
ResourceRequirements
  limits map:quantity, requests map:quantity, claims []ResourceClaimRef
ContainerResizePolicy
  resourceName string!, restartPolicy string!
VolumeMount
  name string!, readOnly bool, recursiveReadOnly *string, mountPath string!, subPath string, mountPropagation *string
  subPathExpr string
VolumeDevice
  name string!, devicePath string!
ExecAction
  command []string
HTTPHeader
  name string!, value string!
HTTPGetAction
  path string, port intstr!, host string, scheme string, httpHeaders []HTTPHeader
TCPSocketAction
  port intstr!, host string
GRPCAction
  port int32!, service *string
SleepAction
  seconds int64!
Probe
  exec *ExecAction, httpGet *HTTPGetAction, tcpSocket *TCPSocketAction, grpc *GRPCAction, initialDelaySeconds int32
  timeoutSeconds int32, periodSeconds int32, successThreshold int32, failureThreshold int32
  terminationGracePeriodSeconds *int64
LifecycleHandler
  exec *ExecAction, httpGet *HTTPGetAction, tcpSocket *TCPSocketAction, sleep *SleepAction
Lifecycle
  postStart *LifecycleHandler, preStop *LifecycleHandler, stopSignal *string
Capabilities
  add []string, drop []string
SELinuxOptions
  user string, role string, type string, level string
WindowsOptions
  gmsaCredentialSpecName *string, gmsaCredentialSpec *string, runAsUserName *string, hostProcess *bool
Profile
  type string!, localhostProfile *string
SecurityContext
  capabilities *Capabilities, privileged *bool, seLinuxOptions *SELinuxOptions, windowsOptions *WindowsOptions
  runAsUser *int64, runAsGroup *int64, runAsNonRoot *bool, readOnlyRootFilesystem *bool
  allowPrivilegeEscalation *bool, procMount *string, seccompProfile *Profile, appArmorProfile *Profile
Sysctl
  name string!, value string!
PodSecurityContext
  seLinuxOptions *SELinuxOptions, windowsOptions *WindowsOptions, runAsUser *int64, runAsGroup *int64
  runAsNonRoot *bool, supplementalGroups []int64, supplementalGroupsPolicy *string, fsGroup *int64
  sysctls []Sysctl, fsGroupChangePolicy *string, seccompProfile *Profile, appArmorProfile *Profile
  seLinuxChangePolicy *string
RestartRule
  action string!, exitCodes *any
Container
  name string!, image string, command []string, args []string, workingDir string, ports []ContainerPort
  envFrom []EnvFromSource, env []EnvVar, resources ResourceRequirements, resizePolicy []ContainerResizePolicy
  restartPolicy *string, restartPolicyRules []RestartRule, volumeMounts []VolumeMount, volumeDevices []VolumeDevice
  livenessProbe *Probe, readinessProbe *Probe, startupProbe *Probe, lifecycle *Lifecycle
  terminationMessagePath string, terminationMessagePolicy string, imagePullPolicy string
  securityContext *SecurityContext, stdin bool, stdinOnce bool, tty bool
EphemeralContainer
  +Container
  targetContainerName string
KeyToPath
  key string!, path string!, mode *int32
EmptyDir
  medium string, sizeLimit *quantity
HostPath
  path string!, type *string
SecretVolume
  secretName string, items []KeyToPath, defaultMode *int32, optional *bool
ConfigMapVolume
  name string, items []KeyToPath, defaultMode *int32, optional *bool
DownwardFile
  path string!, fieldRef *FieldSelector, resourceFieldRef *ResourceSelector, mode *int32
DownwardVolume
  items []DownwardFile, defaultMode *int32
SecretProjection
  name string, items []KeyToPath, optional *bool
DownwardProjection
  items []DownwardFile
TokenProjection
  audience string, expirationSeconds *int64, path string!
Projection
  secret *SecretProjection, downwardAPI *DownwardProjection, configMap *SecretProjection
  serviceAccountToken *TokenProjection, clusterTrustBundle *any, podCertificate *any
ProjectedVolume
  sources []Projection!, defaultMode *int32
ClaimVolume
  claimName string!, readOnly bool
CSIVolume
  driver string!, readOnly *bool, fsType *string, volumeAttributes map:string
  nodePublishSecretRef *LocalObjectReference
NFSVolume
  server string!, path string!, readOnly bool
ImageVolume
  reference string, pullPolicy string
TypedLocalReference
  apiGroup *string!, kind string!, name string!
TypedReference
  apiGroup *string!, kind string!, name string!, namespace *string
VolumeResources
  limits map:quantity, requests map:quantity
ClaimSpec
  accessModes []string, selector *LabelSelector, resources VolumeResources, volumeName string
  storageClassName *string, volumeMode *string, dataSource *TypedLocalReference, dataSourceRef *TypedReference
  volumeAttributesClassName *string
ClaimTemplate
  metadata ObjectMeta, spec ClaimSpec
EphemeralVolume
  volumeClaimTemplate *ClaimTemplate
Volume
  name string!, hostPath *HostPath, emptyDir *EmptyDir, gcePersistentDisk *any, awsElasticBlockStore *any
  gitRepo *any, secret *SecretVolume, nfs *NFSVolume, iscsi *any, glusterfs *any
  persistentVolumeClaim *ClaimVolume, rbd *any, flexVolume *any, cinder *any, cephfs *any, flocker *any
  downwardAPI *DownwardVolume, fc *any, azureFile *any, configMap *ConfigMapVolume, vsphereVolume *any
  quobyte *any, azureDisk *any, photonPersistentDisk *any, projected *ProjectedVolume, portworxVolume *any
  scaleIO *any, storageos *any, csi *CSIVolume, ephemeral *EphemeralVolume, image *ImageVolume
NodeRequirement
  key string!, operator string!, values []string
NodeTerm
  matchExpressions []NodeRequirement, matchFields []NodeRequirement
NodeSelector
  nodeSelectorTerms []NodeTerm!
PreferredNodeTerm
  weight int32!, preference NodeTerm
NodeAffinity
  requiredDuringSchedulingIgnoredDuringExecution *NodeSelector
  preferredDuringSchedulingIgnoredDuringExecution []PreferredNodeTerm
PodAffinityTerm
  labelSelector *LabelSelector, namespaces []string, topologyKey string!, namespaceSelector *LabelSelector
  matchLabelKeys []string, mismatchLabelKeys []string
WeightedPodTerm
  weight int32!, podAffinityTerm PodAffinityTerm
PodAffinity
  requiredDuringSchedulingIgnoredDuringExecution []PodAffinityTerm
  preferredDuringSchedulingIgnoredDuringExecution []WeightedPodTerm
Affinity
  nodeAffinity *NodeAffinity, podAffinity *PodAffinity, podAntiAffinity *PodAffinity
Toleration
  key string, operator string, value string, effect string, tolerationSeconds *int64
HostAlias
  ip string!, hostnames []string
DNSOption
  name string, value *string
DNSConfig
  nameservers []string, searches []string, options []DNSOption
ReadinessGate
  conditionType string!
TopologySpread
  maxSkew int32!, topologyKey string!, whenUnsatisfiable string!, labelSelector *LabelSelector, minDomains *int32
  nodeAffinityPolicy *string, nodeTaintsPolicy *string, matchLabelKeys []string
PodOS
  name string!
SchedulingGate
  name string!
PodResourceClaim
  name string!, resourceClaimName *string, resourceClaimTemplateName *string
PodSpec
  volumes []Volume, initContainers []Container, containers []Container!, ephemeralContainers []EphemeralContainer
  restartPolicy string, terminationGracePeriodSeconds *int64, activeDeadlineSeconds *int64, dnsPolicy string
  nodeSelector map:string, serviceAccountName string, serviceAccount string, automountServiceAccountToken *bool
  nodeName string, hostNetwork bool, hostPID bool, hostIPC bool, shareProcessNamespace *bool
  securityContext *PodSecurityContext, imagePullSecrets []LocalObjectReference, hostname string, subdomain string
  affinity *Affinity, schedulerName string, tolerations []Toleration, hostAliases []HostAlias
  priorityClassName string, priority *int32, dnsConfig *DNSConfig, readinessGates []ReadinessGate
  runtimeClassName *string, enableServiceLinks *bool, preemptionPolicy *string, overhead map:quantity
  topologySpreadConstraints []TopologySpread, setHostnameAsFQDN *bool, os *PodOS, hostUsers *bool
  schedulingGates []SchedulingGate, resourceClaims []PodResourceClaim, resources *ResourceRequirements
  hostnameOverride *string, workloadRef *any
PodCondition
  type string!, observedGeneration int64, status string!, lastProbeTime time!, lastTransitionTime time!
  reason string, message string
StateWaiting
  reason string, message string
StateRunning
  startedAt time
StateTerminated
  exitCode int32!, signal int32, reason string, message string, startedAt time!, finishedAt time!
  containerID string
ContainerState
  waiting *StateWaiting, running *StateRunning, terminated *StateTerminated
MountStatus
  name string!, mountPath string!, readOnly bool, recursiveReadOnly *string
ContainerStatus
  name string!, state ContainerState, lastState ContainerState, ready bool!, restartCount int32!, image string!
  imageID string!, containerID string, started *bool, allocatedResources map:quantity
  resources *ResourceRequirements, volumeMounts []MountStatus, user *any, allocatedResourcesStatus []any
  stopSignal *string
PodIP
  ip string!
PodStatus
  observedGeneration int64, phase string, conditions []PodCondition, message string, reason string
  nominatedNodeName string, hostIP string, hostIPs []PodIP, podIP string, podIPs []PodIP, startTime *time
  initContainerStatuses []ContainerStatus, containerStatuses []ContainerStatus, qosClass string
  ephemeralContainerStatuses []ContainerStatus, resize string, resourceClaimStatuses []any
  extendedResourceClaimStatus *any, allocatedResources map:quantity, resources *ResourceRequirements
Pod
  kind string, apiVersion string, metadata ObjectMeta, spec PodSpec, status PodStatus
Binding
  kind string, apiVersion string, metadata ObjectMeta, target ObjectReference
"""
_REST: Final = """
NamespaceSpec
  finalizers []string
NamespaceCondition
  type string!, status string!, lastTransitionTime time, reason string, message string
NamespaceStatus
  phase string, conditions []NamespaceCondition
Namespace
  kind string, apiVersion string, metadata ObjectMeta, spec NamespaceSpec, status NamespaceStatus
Secret
  kind string, apiVersion string, metadata ObjectMeta, immutable *bool, data map:bytes, stringData map:string
  type string
ConfigMap
  kind string, apiVersion string, metadata ObjectMeta, immutable *bool, data map:string, binaryData map:bytes
ServiceAccount
  kind string, apiVersion string, metadata ObjectMeta, secrets []ObjectReference
  imagePullSecrets []LocalObjectReference, automountServiceAccountToken *bool
EventSource
  component string, host string
EventSeries
  count int32, lastObservedTime microtime
Event
  kind string, apiVersion string, metadata ObjectMeta, involvedObject ObjectReference, reason string, message string
  source EventSource, firstTimestamp time!, lastTimestamp time!, count int32, type string, eventTime microtime!
  series *EventSeries, action string, related *ObjectReference, reportingComponent string!
  reportingInstance string!
NewEvent
  kind string, apiVersion string, metadata ObjectMeta, eventTime microtime!, series *EventSeries
  reportingController string, reportingInstance string, action string, reason string, regarding ObjectReference
  related *ObjectReference, note string, type string, deprecatedSource EventSource
  deprecatedFirstTimestamp time!, deprecatedLastTimestamp time!, deprecatedCount int32
ScopeRequirement
  scopeName string!, operator string!, values []string
ScopeSelector
  matchExpressions []ScopeRequirement
ResourceQuotaSpec
  hard map:quantity, scopes []string, scopeSelector *ScopeSelector
ResourceQuotaStatus
  hard map:quantity, used map:quantity
ResourceQuota
  kind string, apiVersion string, metadata ObjectMeta, spec ResourceQuotaSpec, status ResourceQuotaStatus
LimitRangeItem
  type string!, max map:quantity, min map:quantity, default map:quantity, defaultRequest map:quantity
  maxLimitRequestRatio map:quantity
LimitRangeSpec
  limits []LimitRangeItem!
LimitRange
  kind string, apiVersion string, metadata ObjectMeta, spec LimitRangeSpec
PolicyRule
  verbs []string!, apiGroups []string, resources []string, resourceNames []string, nonResourceURLs []string
Role
  kind string, apiVersion string, metadata ObjectMeta, rules []PolicyRule!
AggregationRule
  clusterRoleSelectors []LabelSelector
ClusterRole
  kind string, apiVersion string, metadata ObjectMeta, rules []PolicyRule!, aggregationRule *AggregationRule
Subject
  kind string!, apiGroup string, name string!, namespace string
RoleRef
  apiGroup string!, kind string!, name string!
RoleBinding
  kind string, apiVersion string, metadata ObjectMeta, subjects []Subject, roleRef RoleRef
ClusterRoleBinding
  +RoleBinding
LeaseSpec
  holderIdentity *string, leaseDurationSeconds *int32, acquireTime *microtime, renewTime *microtime
  leaseTransitions *int32, strategy *string, preferredHolder *string
Lease
  kind string, apiVersion string, metadata ObjectMeta, spec LeaseSpec
Taint
  key string!, value string, effect string!, timeAdded *time
NodeSpec
  podCIDR string, podCIDRs []string, providerID string, unschedulable bool, taints []Taint, externalID string
NodeStatus
  capacity map:quantity, allocatable map:quantity, phase string, conditions []any, addresses []any
  daemonEndpoints any, nodeInfo any, images []any, volumesInUse []string, volumesAttached []any, config *any
Node
  kind string, apiVersion string, metadata ObjectMeta, spec NodeSpec, status NodeStatus
ResourceAttributes
  namespace string, verb string, group string, version string, resource string, subresource string, name string
  fieldSelector *any, labelSelector *any
NonResourceAttributes
  path string, verb string
AccessReviewSpec
  resourceAttributes *ResourceAttributes, nonResourceAttributes *NonResourceAttributes, user string
  groups []string, uid string, extra map:any
AccessReviewStatus
  allowed bool!, denied bool, reason string, evaluationError string
AccessReview
  kind string, apiVersion string, metadata ObjectMeta, spec AccessReviewSpec, status AccessReviewStatus
CustomResourceDefinition
  kind string, apiVersion string, metadata ObjectMeta, spec any, status any
"""
CORE: Final = Types(_META + _POD + _REST)
"""All of them."""
