"""Serving the simulated API server to real clients: loopback, TLS, a token, a kubeconfig.

Real clients send their token only over TLS, so the face has a certificate of its own, made when it starts and trusted
through the kubeconfig. It binds to loopback and nothing else.
"""

from __future__ import annotations

import asyncio
import base64
import os
import random
import secrets
import socket
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path
from typing import Final

import uvicorn
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from arcfsm.domain.instant import Instant
from arcfsm.sim.api.asgi import ControlFace, HttpFace
from arcfsm.sim.api.rbac import MASTERS, Identity
from arcfsm.sim.api.request import JsonObject
from arcfsm.sim.api.server import ApiServer

LOOPBACK: Final = "127.0.0.1"
ADMIN: Final = "kubernetes-admin"
_VALID_DAYS: Final = 365
_NAME: Final = "arcfsm-sim"
_LOOK_EVERY_S: Final = 0.05
_CLOSING_S: Final = 3
_GOODBYE_S: Final = 0.3


class WallClock:
    """The time of this machine, for serving people and real clients."""

    def now(self) -> Instant:
        """Return the time in microseconds since the Unix epoch."""
        return time.time_ns() // 1_000


@dataclass(frozen=True)
class Certificate:
    """A certificate and its key, in PEM."""

    certificate: bytes
    key: bytes


def self_signed() -> Certificate:
    """Make a certificate for loopback that signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, _NAME)])
    now = datetime.now(UTC)
    names = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(IPv4Address(LOOPBACK))])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=_VALID_DAYS))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return Certificate(made.public_bytes(serialization.Encoding.PEM), private)


def listen(port: int) -> socket.socket:
    """Take a port of loopback; 0 takes any free one. Raises OSError."""
    # The protocol is named because the event loop switches Nagle's algorithm off only where it is.
    taken = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind((LOOPBACK, port))
        taken.listen()
    except OSError:
        taken.close()
        raise
    return taken


class Service:
    """A server with its sockets, ready to run."""

    def __init__(
        self,
        *,
        crds: Iterable[JsonObject] | None,
        collects: bool,
        port: int = 0,
        control_port: int | None = None,
        seed: int | None = None,
    ) -> None:
        """Take the ports and make the server. Raises OSError for a port that is taken, ValueError for bad CRDs."""
        clock = WallClock()
        stream = random.Random(secrets.randbits(64) if seed is None else seed)  # noqa: S311  # names, not secrets
        self.api = ApiServer(clock, stream, crds=crds, rbac=True)
        self.api.bootstrap()
        self.token = secrets.token_urlsafe(32)
        self.api.tokens[self.token] = Identity(ADMIN, (MASTERS, "system:authenticated"))
        self.certificate = self_signed()
        self._socket = listen(port)
        try:
            self._control = None if control_port is None else listen(control_port)
        except OSError:
            self._socket.close()
            raise
        self._face = HttpFace(self.api, clock, collects=collects)
        self._servers = [(_uvicorn(self._face, self.certificate), self._socket)]
        if self._control is not None:
            self._servers.append((_uvicorn(ControlFace(self.api), None), self._control))

    @property
    def url(self) -> str:
        """Where the API is served."""
        return f"https://{LOOPBACK}:{self._socket.getsockname()[1]}"

    @property
    def control_url(self) -> str | None:
        """Where tests may compact, if anywhere."""
        return None if self._control is None else f"http://{LOOPBACK}:{self._control.getsockname()[1]}"

    def kubeconfig(self) -> str:
        """Return a kubeconfig for a cluster admin."""
        authority = base64.b64encode(self.certificate.certificate).decode()
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": _NAME, "cluster": {"server": self.url, "certificate-authority-data": authority}}],
            "users": [{"name": _NAME, "user": {"token": self.token}}],
            "contexts": [{"name": _NAME, "context": {"cluster": _NAME, "user": _NAME, "namespace": "default"}}],
            "current-context": _NAME,
        }
        return yaml.safe_dump(config, sort_keys=False)

    def run(self, started: Callable[[], None] = lambda: None) -> None:
        """Serve until `stop` is called or the process is told to end."""
        asyncio.run(self._run(started))

    def stop(self) -> None:
        """End serving; may be called from another thread."""
        for server, _ in self._servers:
            server.should_exit = True

    async def _run(self, started: Callable[[], None]) -> None:
        servers = [server for server, _ in self._servers]
        running = [asyncio.ensure_future(server.serve(sockets=[taken])) for server, taken in self._servers]
        told = False
        while not any(server.should_exit for server in servers) and not any(task.done() for task in running):
            if not told and all(server.started for server in servers):
                told = True
                started()
            await asyncio.wait(running, timeout=_LOOK_EVERY_S)
        self.stop()
        # Watches are answers that never end; left open they would hold the shutdown up.
        self._face.end()
        await asyncio.wait(running, timeout=_GOODBYE_S)
        # Clients that keep idle connections do not answer the goodbye of TLS, which would be waited for.
        for server in servers:
            for connection in tuple(server.server_state.connections):
                connection.transport.abort()
        await asyncio.gather(*running)


def _uvicorn(face: HttpFace | ControlFace, certificate: Certificate | None) -> uvicorn.Server:
    with tempfile.TemporaryDirectory() as folder:
        # The TLS library reads files only; they are gone as soon as it has read them.
        paths: dict[str, str] = {}
        if certificate is not None:
            for option, content in (("ssl_certfile", certificate.certificate), ("ssl_keyfile", certificate.key)):
                path = Path(folder) / option
                write_private(path, content)
                paths[option] = str(path)
        config = uvicorn.Config(
            face, host=LOOPBACK, log_level="error", access_log=False, lifespan="off", http="h11", ws="none",
            timeout_keep_alive=60, timeout_graceful_shutdown=_CLOSING_S,
            ssl_certfile=paths.get("ssl_certfile"), ssl_keyfile=paths.get("ssl_keyfile"),
        )  # fmt: skip
        config.load()
    return uvicorn.Server(config)


def write_private(path: Path, content: bytes) -> None:
    """Write a file that only its owner may read. Raises OSError."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
