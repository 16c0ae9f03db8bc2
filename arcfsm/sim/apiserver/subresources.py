"""Requests that are no plain writes: bindings and evictions of pods, tokens, and reviews of access."""

from __future__ import annotations

import base64
import json
from typing import Any

from arcfsm.domain.instant import SECOND
from arcfsm.sim.apiserver.authentication import service_account
from arcfsm.sim.apiserver.coretypes import CORE
from arcfsm.sim.apiserver.decoding import decode_request
from arcfsm.sim.apiserver.deleting import Deleter
from arcfsm.sim.apiserver.engine import Engine
from arcfsm.sim.apiserver.message import Identity, Request, Response, Target
from arcfsm.sim.apiserver.problems import bad_request, conflict, not_found
from arcfsm.sim.apiserver.resources import Resource
from arcfsm.sim.apiserver.typed import DecodeError
from arcfsm.sim.apiserver.wire import load

Body = dict[str, Any]
REVIEW_GROUP = "authorization.k8s.io"
REVIEWS = {"selfsubjectaccessreviews": "SelfSubjectAccessReview", "subjectaccessreviews": "SubjectAccessReview"}


class Subresources:
    """Handles them."""

    def __init__(self, engine: Engine, deleter: Deleter) -> None:
        self._engine = engine
        self._deleter = deleter
        self._store = engine.store

    def bind(self, request: Request, target: Target) -> Response:
        """Put a pod on a node. Raises Problem."""
        value, _ = load(request, "Binding")
        node = (value.get("target") or {}).get("name", "") if isinstance(value, dict) else ""
        key = (target.namespace, target.name)
        pod = self._store.get("pods.", key)
        if pod is None:
            raise not_found("", "pods", target.name)
        if assigned := pod["spec"].get("nodeName"):
            text = f'pod {target.name} is already assigned to node "{assigned}"'
            raise conflict("", "pods/binding", target.name, text)
        if pod["metadata"].get("deletionTimestamp"):
            text = f"pod {target.name} is being deleted, cannot be assigned to a host"
            raise conflict("", "pods/binding", target.name, text)
        condition = {
            "type": "PodScheduled",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": self._engine.now(),
        }
        self._put(key, pod, condition, {**pod["spec"], "nodeName": node})
        return _done()

    def evict(self, request: Request, target: Target) -> Response:
        """Delete a pod as an eviction does. Raises Problem."""
        value, _ = load(request, "Eviction")
        key = (target.namespace, target.name)
        pod = self._store.get("pods.", key)
        if pod is None:
            raise not_found("", "pods", target.name)
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": self._engine.now(),
            "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
        }
        resource = self._engine.registry.find("", "v1", "pods")
        if resource is not None:
            if not pod["metadata"].get("deletionTimestamp"):
                self._put(key, pod, condition, pod["spec"])
            options = (value or {}).get("deleteOptions") or {}
            self._deleter.remove(resource, key, options)
        return _done()

    def _put(self, key: tuple[str, str], pod: Body, condition: Body, spec: Body) -> None:
        status = pod.get("status") or {}
        conditions = [each for each in status.get("conditions") or () if each["type"] != condition["type"]]
        status = {**status, "conditions": [*conditions, condition]}
        self._store.put("pods.", key, {**pod, "metadata": dict(pod["metadata"]), "spec": spec, "status": status})

    def token(self, request: Request, target: Target, resource: Resource) -> Response:
        """Issue a token of a service account. Raises Problem."""
        value, _ = load(request, "TokenRequest")
        account = self._store.get(resource.table, (target.namespace, target.name))
        if account is None:
            raise not_found("", "serviceaccounts", target.name)
        spec = dict((value or {}).get("spec") or {})
        seconds = spec.get("expirationSeconds") or 3600
        claims = {
            "exp": self._engine.clock() // SECOND + seconds,
            "jti": self._engine.uid(),
            "sub": f"system:serviceaccount:{target.namespace}:{target.name}",
        }
        parts = [{"alg": "none"}, claims, {"sig": self._engine.uid()}]
        token = ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts)
        self._engine.tokens[token] = service_account(target.namespace, target.name)
        body = {
            "kind": "TokenRequest",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": {"name": target.name, "namespace": target.namespace, "creationTimestamp": self._engine.now()},
            "spec": {
                "audiences": ["https://kubernetes.default.svc"],
                **spec,
                "expirationSeconds": seconds,
                "boundObjectRef": spec.get("boundObjectRef"),
            },
            "status": {"token": token, "expirationTimestamp": self._engine.now(seconds)},
        }
        return Response(201, body)

    def review(self, request: Request, target: Target, who: Identity) -> Response:
        """Say whether somebody may do something. Raises Problem."""
        kind = REVIEWS[target.resource]
        resource = Resource(REVIEW_GROUP, "v1", kind, target.resource, namespaced=False, struct="AccessReview")
        value, _ = load(request, kind)
        try:
            body = CORE.decode("AccessReview", value)
        except DecodeError as error:
            raise bad_request(f'{kind} in version "v1" cannot be handled as a {kind}: {error}') from None
        del resource
        spec = body["spec"]
        asked = who
        if kind == "SubjectAccessReview":
            asked = Identity(spec.get("user", ""), tuple(spec.get("groups") or ()))
        attributes = spec.get("resourceAttributes")
        if attributes is not None:
            name = attributes.get("resource", "")
            if attributes.get("subresource"):
                name += f"/{attributes['subresource']}"
            allowed = self._engine.access.allowed(
                asked,
                attributes.get("verb", ""),
                attributes.get("group", ""),
                name,
                attributes.get("namespace", ""),
                attributes.get("name", ""),
            )
        else:
            plain = spec.get("nonResourceAttributes") or {}
            allowed = self._engine.access.allowed_path(asked, plain.get("verb", ""), plain.get("path", ""))
        body["kind"], body["apiVersion"] = kind, f"{REVIEW_GROUP}/v1"
        body["status"] = {"allowed": allowed}
        return Response(201, body)


def _done() -> Response:
    body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
    return Response(201, body)


__all__ = ["REVIEWS", "REVIEW_GROUP", "Subresources", "decode_request"]
