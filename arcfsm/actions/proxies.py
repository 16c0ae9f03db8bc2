"""Which proxy a request goes through, if any: the rules that curl, Go and Python share for `no_proxy`."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import urlsplit

from arcfsm.domain.exchange import FailureKind, ProxySetting, ServiceFailure

_SCHEMES: Final = ("http", "https")


def proxy_setting(setting: ProxySetting, environment: Mapping[str, str]) -> ProxySetting:
    """Return a setting to go by: the process's own environment where a scale set has none. Raises ServiceFailure."""
    if setting == ProxySetting():
        setting = ProxySetting(
            _variable(environment, "http_proxy"),
            _variable(environment, "https_proxy"),
            tuple(_variable(environment, "no_proxy").split(",")),
        )
    return ProxySetting(_proxy_url(setting.http), _proxy_url(setting.https), setting.no_proxy)


def proxy_for(setting: ProxySetting, scheme: str, host: str, port: int) -> str:
    """Return the URL of the proxy for a target, "" to go there directly."""
    proxy = setting.https if scheme == "https" else setting.http
    return "" if not proxy or reached_directly(host, port, setting.no_proxy) else proxy


def reached_directly(host: str, port: int, no_proxy: Iterable[str]) -> bool:
    """Say whether no proxy is to be used for a host.

    Loopback never uses one. An entry is `*`, an address, a network (`10.0.0.0/8`), a domain (`corp.example`: it and
    all below) or what is below a domain (`.corp.example`, `*.corp.example`); a port behind it limits it to that port.
    """
    host = host.strip("[]").lower().rstrip(".")
    address = _address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    return any(_covers(entry.strip().lower(), host, address, port) for entry in no_proxy)


def _covers(entry: str, host: str, address: ipaddress.IPv4Address | ipaddress.IPv6Address | None, port: int) -> bool:
    if entry in {"", "*"}:
        return entry == "*"
    if "/" in entry:
        try:
            return address is not None and address in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return False
    if _address(entry) is None:
        name, colon, wanted = entry.rpartition(":")
        if colon and wanted.isdigit():
            if int(wanted) != port:
                return False
            entry = name
    entry = entry.strip("[]").removeprefix("*").rstrip(".")
    if address is not None:
        return _address(entry) == address
    return host.endswith(entry) if entry.startswith(".") else host == entry or host.endswith(f".{entry}")


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _proxy_url(url: str) -> str:
    """Return a proxy's URL with its scheme, which people leave out. No message quotes it: it may hold a password."""
    if not url:
        return ""
    url = url if "://" in url else f"http://{url}"
    try:
        parts = urlsplit(url)
        usable = parts.scheme in _SCHEMES and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise ServiceFailure(FailureKind.INVALID, "the URL of the proxy is not of the form http[s]://HOST:PORT")
    return url


def _variable(environment: Mapping[str, str], name: str) -> str:
    return environment.get(name) or environment.get(name.upper()) or ""
