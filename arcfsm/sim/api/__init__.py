"""The simulated Kubernetes API server: the semantics of a kube-apiserver 1.36 as a pure, seeded object.

Nothing in here starts a thread, reads a wall clock or draws unseeded randomness: time is a `Clock` handed in, uids and
name suffixes come from a `random.Random` handed in. The same calls with the same seed give the same answers to the
byte on every machine and hash seed. The HTTP face (`arcfsm.sim.api.asgi`) calls the same two methods as everybody
else, so what is tested in process is what real clients meet.

The surface::

    clock = ManualClock()
    api = ApiServer(clock, random.Random(7))                 # the project's own CRDs; gc off, rbac off
    api = ApiServer(clock, random.Random(7), crds=load_crds(path), rbac=True)
    api.bootstrap()                                          # default namespaces, cluster roles (optional)

    # As a client would say it. A body is a dict (never changed) or bytes from the wire.
    response = api.handle(ApiRequest("POST", "/api/v1/namespaces/n/pods", body=pod, user="somebody"))
    response.status, response.body, response.warnings
    stream = api.watch(ApiRequest("GET", "/api/v1/pods", {"watch": "true", "resourceVersion": "5"}, user="w"))
    if isinstance(stream, ApiResponse): ...                  # refused when it was opened
    stream.take()                                            # -> [{"type": "ADDED", "object": {}}, ...]; never blocks
    stream.closed                                            # no more will come (after take() returned them all)
    stream.notify = callback                                 # called with no argument when events were queued, at once
    stream.close()

    # The same, typed and short; a refusal raises ApiFailure (.status, .reason, .body). `kind` is a plural ("pods",
    # "ephemeralrunners") or anything with group, version and plural (`arcfsm.domain.kinds.Resource`).
    api.create(kind, namespace, body, user=...)              api.get(kind, namespace, name)
    api.list(kind, namespace, label_selector="a=b")          api.replace(kind, namespace, name, body)
    api.patch(kind, namespace, name, {"spec": ...}, subresource="status", content_type=MERGE_PATCH)
    api.delete(kind, namespace, name, uid=..., grace=0, propagation="Background")
    api.subscribe(kind, namespace, resource_version=None)    # -> WatchStream

    # What a real cluster does beside answering.
    api.version                                              # the newest resourceVersion, an int
    api.collect_garbage()                                    # all that garbage and namespace collectors find to do
    api.compact(resource_version=None)                       # forget history: older watches and continues get 410
    snapshot = api.snapshot(); api.restore(snapshot)         # back to an older state; open watches are closed
    stream.take()                                            # -> [{"type": "ADDED", "object": ...}, ...]; never blocks

Objects and lists that come out are shared with the store and with other readers: they must not be changed. Who wants
to edit one takes `private_copy(obj)`.
"""

from arcfsm.sim.api.custom_resources import OWN_CRDS, load_crds
from arcfsm.sim.api.failure import ApiFailure
from arcfsm.sim.api.request import JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, ApiRequest, ApiResponse, private_copy
from arcfsm.sim.api.server import ApiServer, Interceptor
from arcfsm.sim.api.watching import WatchStream

__all__ = [
    "JSON_PATCH",
    "MERGE_PATCH",
    "OWN_CRDS",
    "STRATEGIC_PATCH",
    "ApiFailure",
    "ApiRequest",
    "ApiResponse",
    "ApiServer",
    "Interceptor",
    "WatchStream",
    "load_crds",
    "private_copy",
]
