"""The data of Secrets: values come in as arguments, and the result is written to the cluster at once.

Everything here is called inside effects only. Neither arguments nor results may reach an event, a document, a log or
a message.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, urlsplit, urlunsplit

from arcfsm.domain.jsonvalue import Json, JsonObject, list_at, object_at, text_at
from arcfsm.domain.manifests.credentials import ProxyCredentials
from arcfsm.domain.manifests.refusal import Refusal, Unbuildable
from arcfsm.domain.manifests.subject import fresh

_UNESCAPED_IN_USERINFO: Final = "$&+,;="
"""What Go leaves alone in the user part of a URL, beside letters, digits and `-_.~`."""


def with_data(secret: JsonObject, data: Mapping[str, str]) -> dict[str, Json]:
    """Return a Secret with its data, encoded as the API wants it. Inside effects only."""
    encoded: dict[str, Json] = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
    return {**{key: fresh(value) for key, value in secret.items()}, "data": encoded}


def jit_secret_data(*, jit_token: str, runner_name: str, runner_id: int, scale_set_id: int) -> dict[str, str]:
    """Return the data of a runner's registration Secret from the service's answer (R10). Inside effects only."""
    return {
        "jitToken": jit_token,
        "runnerName": runner_name,
        "runnerId": str(runner_id),
        "scaleSetId": str(scale_set_id),
    }


def proxy_data(proxy: JsonObject, credentials: Mapping[str, ProxyCredentials]) -> dict[str, str]:
    """Return the data of a proxy Secret (L8, S5): all three keys, "" for parts that are unset. Inside effects only.

    `proxy` is the `proxy` of a spec, `credentials` what the Secrets (or vault keys) hold that its parts name in
    `credentialSecretRef`. Raises Unbuildable for a URL that is none, KeyError for credentials that were not given.
    """
    return {
        "http_proxy": _proxy_url(object_at(proxy, "http"), credentials),
        "https_proxy": _proxy_url(object_at(proxy, "https"), credentials),
        "no_proxy": ",".join(str(host) for host in list_at(proxy, "noProxy")),
    }


def _proxy_url(part: JsonObject, credentials: Mapping[str, ProxyCredentials]) -> str:
    url, reference = text_at(part, "url"), text_at(part, "credentialSecretRef")
    if not reference:
        return url
    who = credentials[reference]
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = urlsplit("")
    if not parts.scheme or not parts.netloc:
        raise Unbuildable(Refusal.INVALID_URL, "the proxy's URL has no scheme or host; expected http://HOST:PORT")
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{_escaped(who.username)}:{_escaped(who.password)}@{host}"))


def _escaped(text: str) -> str:
    return quote(text, safe=_UNESCAPED_IN_USERINFO)
