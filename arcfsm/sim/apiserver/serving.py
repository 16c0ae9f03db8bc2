"""Serving on this machine: a certificate, a kubeconfig, and the sockets. Loopback only."""

from __future__ import annotations

import asyncio
import base64
import os
import random
import secrets
import socket
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Final

import uvicorn
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from starlette.applications import Starlette

from arcfsm.domain.instant import Instant
from arcfsm.sim.apiserver.asgi import api_app, control_app
from arcfsm.sim.apiserver.authentication import Authenticator
from arcfsm.sim.apiserver.backend import OWN_DEFINITIONS
from arcfsm.sim.apiserver.message import ADMIN
from arcfsm.sim.apiserver.server import ApiServer, load_definitions

LOOPBACK: Final = "127.0.0.1"
_LIFETIME: Final = timedelta(days=30)


def host_time() -> Instant:
    """Return the time of this machine. Simulations never ask for it."""
    return time.time_ns() // 1000


@dataclass(frozen=True)
class Certificate:
    """A key and a certificate that is its own authority, in PEM."""

    certificate: bytes
    key: bytes


def make_certificate() -> Certificate:
    """Make a certificate for the loopback address."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "arcfsm simulated API server")])
    now = datetime.now(UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address(LOOPBACK)), x509.DNSName("localhost")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + _LIFETIME)
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return Certificate(certificate.public_bytes(pem), private)


def kubeconfig(url: str, certificate: bytes, token: str) -> str:
    """Return a kubeconfig for the server's administrator."""
    name = "arcfsm-sim"
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": name,
                "cluster": {"server": url, "certificate-authority-data": base64.b64encode(certificate).decode()},
            }
        ],
        "users": [{"name": name, "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name, "namespace": "default"}}],
        "current-context": name,
    }
    return yaml.safe_dump(config, sort_keys=False)


def bind(port: int) -> socket.socket:
    """Take a port of the loopback address, any free one for 0. Raises OSError."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((LOOPBACK, port))
    except OSError:
        found.close()
        raise
    return found


def serve(
    *,
    port: int,
    control_port: int | None,
    config_path: Path,
    definitions: Path | None,
    collect: bool,
    ready: Callable[[str, str], None],
) -> None:
    """Serve until interrupted; `ready` is told the addresses. Raises OSError, ValueError, yaml.YAMLError at the start."""
    found = load_definitions(definitions or OWN_DEFINITIONS)
    server = ApiServer(host_time, random.Random(secrets.randbits(64)), collect=collect, definitions=found)  # noqa: S311
    token = secrets.token_urlsafe(24)
    tokens = server.engine.tokens
    tokens[token] = ADMIN
    main, control = bind(port), None if control_port is None else bind(control_port)
    certificate = make_certificate()
    url = f"https://{LOOPBACK}:{main.getsockname()[1]}"
    descriptor = os.open(config_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(kubeconfig(url, certificate.certificate, token))
    app = api_app(server, Authenticator(server.engine.access, tokens))
    with tempfile.TemporaryDirectory() as folder:
        certificate_path, key_path = Path(folder) / "cert.pem", Path(folder) / "key.pem"
        certificate_path.write_bytes(certificate.certificate)
        key_path.touch(0o600)
        key_path.write_bytes(certificate.key)
        servers = [(_server(app, certificate_path, key_path), main)]
        if control is not None:
            servers.append((_server(control_app(server)), control))
        control_url = "" if control is None else f"http://{LOOPBACK}:{control.getsockname()[1]}"
        asyncio.run(_run(servers, lambda: ready(url, control_url)))


async def _run(servers: list[tuple[uvicorn.Server, socket.socket]], ready: Callable[[], None]) -> None:
    async def announce() -> None:
        while not all(each.started for each, _ in servers):
            if any(each.should_exit for each, _ in servers):
                return
            await asyncio.sleep(0.01)
        ready()

    async def together(server: uvicorn.Server, sock: socket.socket) -> None:
        await server.serve(sockets=[sock])
        for each, _ in servers:
            each.should_exit = True

    await asyncio.gather(announce(), *(together(*pair) for pair in servers))


def _server(app: Starlette, certificate: Path | None = None, key: Path | None = None) -> uvicorn.Server:
    config = uvicorn.Config(
        app,
        log_level="error",
        lifespan="off",
        ssl_certfile=None if certificate is None else str(certificate),
        ssl_keyfile=None if key is None else str(key),
        timeout_graceful_shutdown=1,
        timeout_keep_alive=60,
    )
    return uvicorn.Server(config)
