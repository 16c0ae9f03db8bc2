"""A simulated API server in this process, and a link to it that can be listened to, held up and cut."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import threading
from pathlib import Path

import yaml

from arcfsm.sim.api import serving
from arcfsm.sim.api.serving import LOOPBACK, Service


class Running:
    """A server that runs in a thread of its own, with a kubeconfig for it."""

    def __init__(self, folder: Path, **options):
        self.service = Service(**{"crds": None, "collects": False, "seed": 1, **options})
        self.kubeconfig = folder / "kubeconfig"
        self.kubeconfig.write_text(self.service.kubeconfig())
        self.port = int(self.service.url.rpartition(":")[2])
        started = threading.Event()
        self._thread = threading.Thread(target=self.service.run, args=(started.set,), daemon=True)
        self._thread.start()
        assert started.wait(20)

    def config(self) -> dict:
        return yaml.safe_load(self.kubeconfig.read_text())

    def in_thread(self, action):
        """Do something to the server on its own loop, where nothing else happens meanwhile."""
        loop = self.service._servers[0][0].servers[0].get_loop()
        done = threading.Event()
        loop.call_soon_threadsafe(lambda: (action(self.service.api), done.set()))
        assert done.wait(10)

    def stop(self):
        self.service.stop()
        self._thread.join(20)
        assert not self._thread.is_alive()


class Link:
    """A TLS gateway before a server: it records what the client receives, and fails on demand."""

    def __init__(self, running: Running, folder: Path):
        self._target = running.port
        self._trust = ssl.create_default_context(cadata=running.service.certificate.certificate.decode())
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certificate, key = folder / "link.crt", folder / "link.key"
        certificate.write_bytes(running.service.certificate.certificate)
        serving.write_private(key, running.service.certificate.key)
        self._context.load_cert_chain(certificate, key)
        self._listening = serving.listen(0)
        self.received = b""
        self.connections = 0
        self.silent = False
        """Whether what the server says is kept from the client."""
        self._writers: set[asyncio.StreamWriter] = set()
        config = running.config()
        config["clusters"][0]["cluster"]["server"] = f"https://{LOOPBACK}:{self._listening.getsockname()[1]}"
        self.kubeconfig = folder / "linked"
        self.kubeconfig.write_text(yaml.safe_dump(config))
        self._loop = asyncio.new_event_loop()
        self._ended = asyncio.Event()
        self._thread = threading.Thread(target=lambda: self._loop.run_until_complete(self._serve()), daemon=True)
        self._thread.start()

    def cut(self):
        """Break all connections without a word."""
        asyncio.run_coroutine_threadsafe(self._cut(), self._loop).result(5)

    def close(self):
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(10)
        assert not self._thread.is_alive()
        self._loop.close()

    async def _cut(self):
        for writer in tuple(self._writers):
            writer.transport.abort()

    async def _serve(self):
        server = await asyncio.start_server(self._connected, sock=self._listening, ssl=self._context)
        await self._ended.wait()
        server.close()
        await self._cut()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.wait(others, timeout=5) if others else None
        await asyncio.sleep(0.05)

    async def _connected(self, reader, writer):
        self._writers.add(writer)
        self.connections += 1
        there, back = await asyncio.open_connection(LOOPBACK, self._target, ssl=self._trust, server_hostname=LOOPBACK)
        self._writers.add(back)
        await asyncio.gather(self._pass(reader, back, there=True), self._pass(there, writer, there=False))
        self._writers -= {writer, back}

    async def _pass(self, source, sink, *, there):
        with contextlib.suppress(OSError):
            while data := await source.read(1 << 16):
                if self.silent and not there:
                    continue
                if not there:
                    self.received += data
                sink.write(data)
                await sink.drain()
        sink.transport.abort()
