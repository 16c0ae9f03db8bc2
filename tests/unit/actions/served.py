"""Servers on real sockets: the simulated service, a proxy before it, and one that misbehaves as told."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import datetime as dt
from urllib.parse import urlsplit

import uvicorn
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from arcfsm.actions import ActionsClients, HttpTransports
from arcfsm.domain.client_identity import ClientIdentity
from arcfsm.domain.exchange import ServiceAccess
from arcfsm.domain.instant import SECOND
from arcfsm.domain.manifests.credentials import TokenCredentials
from arcfsm.sim.api.serving import LOOPBACK, Certificate, listen, self_signed, write_private
from arcfsm.sim.service import ActionsService, HostClock, ServiceFace, ServiceSettings, actions_app

PAT = "ghp_realWirePersonalToken0123456789"
NAMED = "github.example.test"
"""A host that no name server knows: only a proxy gets there."""


@contextlib.asynccontextmanager
async def simulated(*, folder=None, host=LOOPBACK, **settings):
    """The simulated Actions service; with a folder over TLS, under a certificate that nobody trusts yet."""
    sock = listen(0)
    port = sock.getsockname()[1]
    options = {}
    certificate = None
    if folder is not None:
        certificate = self_signed() if host == LOOPBACK else signed_for(host)
        (folder / "crt").write_bytes(certificate.certificate)
        write_private(folder / "key", certificate.key)
        options = {"ssl_certfile": str(folder / "crt"), "ssl_keyfile": str(folder / "key")}
    clock = HostClock()
    url = f"{'https' if folder else 'http'}://{host}:{port}"
    service = ActionsService(clock, 1, ServiceSettings(base_url=url, pats=frozenset({PAT}), **settings))
    config = uvicorn.Config(
        actions_app(ServiceFace(service, clock)), log_config=None, access_log=False, lifespan="off", **options
    )
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve(sockets=[sock]))
    while not server.started:  # noqa: ASYNC110  # uvicorn has no event to wait for
        await asyncio.sleep(0.01)
    try:
        yield Simulated(url, port, service, server, certificate)
    finally:
        server.should_exit = True
        await task
        sock.close()


class Simulated:
    def __init__(self, url, port, service, server, certificate):
        self.url, self.port, self.service, self.server = url, port, service, server
        self.certificate = certificate.certificate.decode() if certificate is not None else ""

    @property
    def connections(self):
        return len(self.server.server_state.connections)


@contextlib.asynccontextmanager
async def raw(handle):
    """A server whose every connection is handled by a function of (reader, writer); yields its port and a counter."""
    writers = []

    async def connected(reader, writer):
        writers.append(writer)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await handle(reader, writer)
        writer.close()

    server = await asyncio.start_server(connected, LOOPBACK, 0)
    try:
        yield server.sockets[0].getsockname()[1], writers
    finally:
        for writer in writers:
            writer.close()
        server.close()
        await server.wait_closed()


class Proxy:
    """A forwarding proxy that leads every target to one port, and asks who one is."""

    def __init__(self, port, userinfo=""):
        self._port = port
        self._wanted = f"Basic {base64.b64encode(userinfo.encode()).decode()}" if userinfo else ""
        self.seen = []
        """First lines of the requests that came."""

    async def handle(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines if ": " in line)
        self.seen.append(first)
        if self._wanted and f"proxy-authorization: {self._wanted}".lower() not in head.lower():
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n")
            return
        there_reader, there_writer = await asyncio.open_connection(LOOPBACK, self._port)
        try:
            if first.startswith("CONNECT"):
                writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
                await self._both_ways(reader, writer, there_reader, there_writer)
            else:
                method, url, version = first.split(" ")
                parts = urlsplit(url)
                target = parts.path + (f"?{parts.query}" if parts.query else "")
                kept = [line for line in lines if not line.lower().startswith(("proxy-", "connection:"))]
                origin = "\r\n".join([f"{method} {target} {version}", "connection: close", *kept])
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                there_writer.write(origin.encode("latin-1") + body)
                await self._pour(there_reader, writer)
        finally:
            there_writer.close()

    async def _both_ways(self, reader, writer, there_reader, there_writer):
        await asyncio.gather(self._pour(reader, there_writer), self._pour(there_reader, writer))

    async def _pour(self, source, target):
        with contextlib.suppress(ConnectionError):
            while chunk := await source.read(65536):
                target.write(chunk)
                await target.drain()
        target.close()


def signed_for(host):
    """A certificate for a name, signed by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return Certificate(certificate.public_bytes(serialization.Encoding.PEM), private)


@contextlib.asynccontextmanager
async def clients(environment=None, sleep=None, **options):
    """The real client, closed at the end."""
    transports = HttpTransports(environment or {})

    async def waited(span):
        await asyncio.sleep(0 if sleep is None else span / SECOND)

    try:
        yield ActionsClients(transports.open, now=HostClock().now, sleep=waited, **options)
    finally:
        await transports.close()


def access(url, *, number=0, credentials=None, **more):
    identity = ClientIdentity(url, "arc-runners", f"github@uid@{number}", "", "")
    return ServiceAccess(identity, f"{url}/acme", credentials or TokenCredentials(PAT), **more)
