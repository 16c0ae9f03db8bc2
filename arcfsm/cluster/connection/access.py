"""Where the API server is and how to be let in: kubeconfig, service account, exec plugins, proxies, TLS.

All of it is the official client's work; only its configuration and its pool are used, since its typed API costs more
memory and time than all of arcfsm. What is added: a faulty configuration is one clear error at the start; credentials
are looked at again every few seconds at most, not with every request; and a refusal of them (401) reads everything
anew, which also covers what the client reads only once (`tokenFile`, client certificates of plugins).
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import urllib3
import yaml
from kubernetes.client.configuration import Configuration
from kubernetes.client.rest import RESTClientObject
from kubernetes.config.config_exception import ConfigException
from kubernetes.config.incluster_config import (
    SERVICE_CERT_FILENAME,
    SERVICE_HOST_ENV_NAME,
    SERVICE_TOKEN_FILENAME,
    InClusterConfigLoader,
)
from kubernetes.config.kube_config import load_kube_config
from kubernetes.utils.keepalive import tcp_keepalive_socket_options

from arcfsm import __version__
from arcfsm.cluster.connection.failures import one_line
from arcfsm.errors import ArcfsmError

CONNECTIONS: Final = 16
"""Connections that are kept, and so requests at the same time. Watches have connections of their own."""
LOOK_AGAIN_S: Final = 10.0
"""How long a credential is used before its source is asked again. Plugins and token files change every few minutes."""
RENEW_AT_MOST_EVERY_S: Final = 5.0
USER_AGENT: Final = f"arcfsm/{__version__}"
"""The part before the slash becomes the field manager of what is written."""
_DEAD_AFTER_S: Final = 60
_KEEP_ALIVE: Final = (30, 10, 3)
"""Idle seconds, seconds between probes, probes: a dead peer is noticed within a minute."""


class NoClusterError(ArcfsmError):
    """There is no usable way to an API server. The message names the file or the setting."""


@dataclass(frozen=True, slots=True)
class AccessSource:
    """Where the configuration comes from."""

    kubeconfig: str = ""
    """Path, or several joined as in `$KUBECONFIG`; "" looks in the usual places."""
    context: str = ""
    """Name of a context; "" takes the current one."""
    token_file: str = SERVICE_TOKEN_FILENAME
    authority_file: str = SERVICE_CERT_FILENAME


class ClusterAccess:
    """A pool of connections to one API server, and the headers that let a request in. Safe to use from threads."""

    def __init__(self, source: AccessSource = AccessSource(), *, connections: int = CONNECTIONS) -> None:
        """Read the configuration and prepare, without connecting. Raises NoClusterError."""
        self._source = source
        self.connections = connections
        self._lock = threading.Lock()
        self._renewed_at = -RENEW_AT_MOST_EVERY_S
        self._generation = 0
        self._authorization = ""
        self._take(load(source))

    @property
    def server(self) -> str:
        """The server's URL, for people."""
        return self._configuration.host

    @property
    def pool(self) -> urllib3.HTTPConnectionPool:
        """Connections to the server."""
        return self._pool

    @property
    def prefix(self) -> str:
        """What precedes every path."""
        return self._prefix

    @property
    def generation(self) -> int:
        """Grows with every `renew`."""
        return self._generation

    def authorization(self) -> str:
        """Return the value of the Authorization header, "" for none. May run a plugin or read a file."""
        now = time.monotonic()
        if now < self._look_again_at:
            return self._authorization
        with self._lock:
            if now >= self._look_again_at:
                self._look()
            return self._authorization

    def renew(self, generation: int) -> bool:
        """Read the whole configuration anew after the one of `generation` was refused (401).

        Returns whether there is another one to try. It is read every few seconds at most, whoever asks.
        """
        with self._lock:
            if self._generation != generation:
                return True
            now = time.monotonic()
            if now - self._renewed_at < RENEW_AT_MOST_EVERY_S:
                return False
            self._renewed_at = now
            try:
                self._take(load(self._source))
            except NoClusterError:
                return False
            # The pool before closes itself once the last request in it is over.
            self._generation += 1
            return True

    def close(self) -> None:
        """Close idle connections; what is asked from now on has no answer."""
        self._pool.close()

    def _take(self, configuration: Configuration) -> None:
        configuration.connection_pool_maxsize = self.connections
        configuration.socket_options = _socket_options()
        self._configuration = configuration
        try:
            manager: urllib3.PoolManager = RESTClientObject(configuration).pool_manager
            self._pool: urllib3.HTTPConnectionPool = manager.connection_from_url(configuration.host)
        except (ValueError, OSError, urllib3.exceptions.HTTPError) as error:
            raise NoClusterError(f"server {configuration.host}: {one_line(error)}") from error
        # A path before /api is how gateways tell clusters apart. A proxy without TLS behind it wants whole URLs.
        whole = isinstance(manager, urllib3.ProxyManager) and self._pool.scheme == "http"
        self._prefix = configuration.host.rstrip("/") if whole else urlsplit(configuration.host).path.rstrip("/")
        self._look()

    def _look(self) -> None:
        try:
            found = self._configuration.get_api_key_with_prefix("BearerToken", alias="authorization")
        except (ConfigException, OSError, ValueError):
            # A token file that is being replaced: what was valid a moment ago is still the best that there is.
            found = self._authorization
        self._authorization = (found or "").strip()
        self._look_again_at = time.monotonic() + LOOK_AGAIN_S


def load(source: AccessSource) -> Configuration:
    """Read the configuration of the client from where kubectl would, else from the pod. Raises NoClusterError."""
    paths = source.kubeconfig or os.environ.get("KUBECONFIG", "")
    if not paths and Path("~/.kube/config").expanduser().exists():
        paths = "~/.kube/config"
    configuration = Configuration()
    if paths:
        _from_kubeconfig(paths, source.context, configuration)
    elif os.environ.get(SERVICE_HOST_ENV_NAME):
        _from_pod(source, configuration)
    else:
        raise NoClusterError(
            "no cluster to talk to: no --kubeconfig, no KUBECONFIG, no ~/.kube/config, and this is not a pod"
        )
    if not configuration.host.startswith(("http://", "https://")):
        raise NoClusterError(f"{paths or 'the pod'}: server {configuration.host!r} is not an http(s) URL")
    return configuration


def _from_kubeconfig(paths: str, context: str, configuration: Configuration) -> None:
    there = [path for path in paths.split(os.pathsep) if path and Path(path).expanduser().exists()]
    if not there:
        raise NoClusterError(f"kubeconfig {paths}: no such file")
    with _told() as told:
        try:
            load_kube_config(  # type: ignore[no-untyped-call]
                os.pathsep.join(there), context=context or None, client_configuration=configuration,
                persist_config=False,
            )  # fmt: skip
        except ConfigException as error:
            raise NoClusterError(f"kubeconfig {paths}: {one_line(error)}") from error
        except OSError as error:
            raise NoClusterError(f"kubeconfig {paths}: {error.strerror or one_line(error)}") from error
        except yaml.YAMLError as error:
            raise NoClusterError(f"kubeconfig {paths}: not YAML: {one_line(error)}") from error
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            # What the client meets in a file of another shape.
            raise NoClusterError(f"kubeconfig {paths}: not a kubeconfig ({type(error).__name__})") from error
    if told:
        # The client only logs that a plugin failed, and would go on as nobody.
        raise NoClusterError(f"kubeconfig {paths}: {one_line(told[0])}")


def _from_pod(source: AccessSource, configuration: Configuration) -> None:
    try:
        loader = InClusterConfigLoader(source.token_file, source.authority_file)  # type: ignore[no-untyped-call]
        loader.load_and_set(configuration)  # type: ignore[no-untyped-call]
    except (ConfigException, OSError) as error:
        raise NoClusterError(f"service account of this pod: {one_line(error)}") from error


@contextmanager
def _told() -> Iterator[list[str]]:
    """Collect the errors that are logged meanwhile by this thread."""
    told: list[str] = []
    root, mine = logging.getLogger(), threading.get_ident()
    handler = _Collector(lambda record: told.append(record.getMessage()) if record.thread == mine else None)
    root.addHandler(handler)
    try:
        yield told
    finally:
        root.removeHandler(handler)


class _Collector(logging.Handler):
    def __init__(self, take: Callable[[logging.LogRecord], None]) -> None:
        super().__init__(logging.ERROR)
        self._take = take

    def emit(self, record: logging.LogRecord) -> None:
        self._take(record)


def _socket_options() -> list[tuple[int, int, int]]:
    options = list(tcp_keepalive_socket_options(*_KEEP_ALIVE))
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        # Keep-alive probes say nothing while something sent waits for its receipt.
        options.append((socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _DEAD_AFTER_S * 1000))
    return options
