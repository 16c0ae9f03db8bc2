"""The real client over real sockets: against the simulated service, through proxies, over TLS, against bad servers."""

from __future__ import annotations

import asyncio
import logging
import time

import pytest

from arcfsm.actions.over_http import ANSWER_BYTES_MAX, HttpTransports
from arcfsm.actions.transport import HttpRequest, TransportError
from arcfsm.actions.trust import trusting
from arcfsm.domain.exchange import FailureKind, ProxySetting, ServiceFailure
from arcfsm.domain.instant import MILLISECOND, SECOND
from arcfsm.domain.manifests.credentials import AppCredentials, TokenCredentials
from arcfsm.sim.api.serving import LOOPBACK
from tests.unit.actions.served import NAMED, PAT, Proxy, access, clients, raw, simulated
from tests.unit.actions.test_secrecy import everything_told

PASSWORD = "open%2Fse%40same"
USERINFO = "me:open/se@same"
WRONG = "ghp_" + "wrong" * 5


@pytest.fixture(autouse=True)
def logged(caplog):
    """Whatever is logged, down to the libraries' debugging, holds no credential."""
    caplog.set_level(logging.DEBUG)
    yield
    told = caplog.text
    for secret in (PAT, PASSWORD, USERINFO.partition(":")[2], "RemoteAuth ey"):
        assert secret not in told


async def whole_life(service, world):
    """Everything that a controller asks for, once."""
    assert await service.find_scale_set("a&b #1%", "") is None
    made = await service.create_scale_set("a&b #1%", "", ("gpu",))
    assert await service.find_scale_set("A&B #1%", "") == made
    assert [label["name"] for label in world.scale_sets[0].labels] == ["a&b #1%", "gpu"]
    world.add_group("Göteborg & co")
    moved = await service.update_scale_set(made.id, name="demo", group="göteborg & co")
    assert (moved.name, moved.group) == ("demo", "Göteborg & co")
    assert await service.get_scale_set(made.id) == moved
    found = await service.jit_configuration(made.id, "r+1", "_work")
    assert await service.find_runner("r+1") == found.runner
    with pytest.raises(ServiceFailure) as caught:
        await service.jit_configuration(made.id, "r+1", "_work")
    assert caught.value.kind is FailureKind.RUNNER_EXISTS
    assert "ActivityId activity-" in str(caught.value)
    await service.remove_runner(found.runner.id)
    with pytest.raises(ServiceFailure) as caught:
        await service.remove_runner(found.runner.id)
    assert caught.value.kind is FailureKind.NOT_FOUND
    await service.delete_scale_set(made.id)
    await service.delete_scale_set(made.id)
    with pytest.raises(ServiceFailure) as caught:
        await service.get_scale_set(made.id)
    assert caught.value.kind is FailureKind.NOT_FOUND


def test_a_whole_life_over_one_connection():
    async def main():
        async with simulated() as world, clients() as made:
            await whole_life(made.service(access(world.url)), world.service)
            assert world.connections == 1

    asyncio.run(main())


def test_R4_a_runner_at_work_is_busy():
    async def main():
        async with simulated(assign_delay=0) as world, clients() as made:
            service = made.service(access(world.url))
            scale_set = await service.create_scale_set("demo", "", ())
            found = await service.jit_configuration(scale_set.id, "r", "")
            jobs = world.service.jobs
            job = jobs.queue(scale_set.id)
            jobs.acquire(scale_set.id, [job.request_id])
            world.service.connect_agent(found.encoded)
            world.service.settle()
            with pytest.raises(ServiceFailure) as caught:
                await service.remove_runner(found.runner.id)
            assert caught.value.kind is FailureKind.BUSY

    asyncio.run(main())


def test_X2_a_github_app_over_the_wire():
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)

    async def main():
        async with simulated(app_keys={"Iv1.client": public.decode()}) as world, clients() as made:
            good = made.service(access(world.url, credentials=AppCredentials("Iv1.client", 7, pem)))
            assert await good.find_runner("r") is None
            bad = made.service(access(world.url, number=1, credentials=AppCredentials("other", 7, pem)))
            with pytest.raises(ServiceFailure) as caught:
                await bad.find_runner("r")
            assert caught.value.kind is FailureKind.UNAUTHORIZED

    asyncio.run(main())


def test_a_refused_token_is_unauthorized_and_not_shown():
    async def main():
        async with simulated() as world, clients() as made:
            with pytest.raises(ServiceFailure) as caught:
                await made.service(access(world.url, credentials=TokenCredentials(WRONG))).find_runner("r")
            assert caught.value.kind is FailureKind.UNAUTHORIZED
            assert WRONG not in everything_told(caught.value)

    asyncio.run(main())


@pytest.mark.parametrize("trouble", [{"outage": 503}, {"throttled_until": 2**62}])
def test_an_outage_is_told_and_over_when_it_is_over(trouble):
    async def main():
        async with simulated() as world, clients() as made:
            service = made.service(access(world.url))
            for name, value in trouble.items():
                setattr(world.service, name, value)
            with pytest.raises(ServiceFailure) as caught:
                await service.find_runner("r")
            assert caught.value.kind in {FailureKind.FAILED, FailureKind.THROTTLED}
            world.service.outage, world.service.throttled_until = None, 0
            assert await service.find_runner("r") is None

    asyncio.run(main())


# --- proxies ----------------------------------------------------------------------------------------------------------


def through_proxy(userinfo_given, *, no_proxy=(), environment=False, folder=None):
    """Log in through a proxy that wants USERINFO; returns what the proxy saw and how it ended."""

    async def main():
        async with simulated(folder=folder, host=NAMED if folder is None else LOOPBACK) as world:
            proxy = Proxy(world.port, USERINFO)
            async with raw(proxy.handle) as (port, _):
                at = f"http://{userinfo_given}{LOOPBACK}:{port}"
                setting = ProxySetting(at, at, tuple(no_proxy))
                variables = {"HTTP_PROXY": at, "no_proxy": ",".join(no_proxy)} if environment else {}
                async with clients(variables) as made:
                    of = access(world.url, proxy=ProxySetting() if environment else setting)
                    try:
                        found = await made.service(of).find_runner("r")
                    except ServiceFailure as failure:
                        told = everything_told(failure)
                        assert PASSWORD not in told
                        assert USERINFO not in told
                        return proxy.seen, failure
                    return proxy.seen, found

    return asyncio.run(main())


@pytest.mark.parametrize("environment", [False, True])
def test_requests_go_through_the_proxy_with_its_credentials(environment):
    seen, ended = through_proxy(f"me:{PASSWORD}@", environment=environment)
    assert ended is None
    assert seen
    assert all(f" http://{NAMED}:" in line for line in seen)


def test_a_proxy_that_refuses_is_no_answer_of_the_service():
    seen, failure = through_proxy("me:wrong@")
    assert failure.kind is FailureKind.UNREACHABLE
    assert seen


@pytest.mark.parametrize("no_proxy", [["*"], [NAMED], ["example.test"], [".example.test"]])
def test_whom_no_proxy_names_is_reached_directly(no_proxy):
    seen, failure = through_proxy(f"me:{PASSWORD}@", no_proxy=no_proxy)
    # Nobody knows that name, but for the proxy.
    assert (seen, failure.kind) == ([], FailureKind.UNREACHABLE)


def test_TLS_goes_through_the_proxy_in_a_tunnel(tmp_path):
    async def main(userinfo):
        async with simulated(folder=tmp_path, host=NAMED) as world:
            proxy = Proxy(world.port, USERINFO)
            async with raw(proxy.handle) as (port, _), clients() as made:
                at = f"http://{userinfo}{LOOPBACK}:{port}"
                of = access(world.url, proxy=ProxySetting("", at), root_ca=world.certificate)
                try:
                    await whole_life(made.service(of), world.service)
                except ServiceFailure as failure:
                    return proxy.seen, everything_told(failure)
                return proxy.seen, ""

    seen, told = asyncio.run(main(f"me:{PASSWORD}@"))
    assert told == ""
    assert len(seen) == 1, "one tunnel serves all calls"
    assert seen[0].startswith(f"CONNECT {NAMED}:")
    _, told = asyncio.run(main("me:wrong@"))
    assert "the proxy does not connect: 407" in told
    assert PASSWORD not in told


@pytest.mark.parametrize("url", ["socks5://me:sesame@h:1", "http://", "http://me:sesame@h:port", "http://[me:sesame@"])
def test_a_proxy_that_is_none_is_invalid_and_not_quoted(url):
    async def main():
        async with clients() as made:
            with pytest.raises(ServiceFailure, match="URL of the proxy") as caught:
                made.service(access("https://ghe.corp", proxy=ProxySetting(url)))
            assert caught.value.kind is FailureKind.INVALID
            assert "sesame" not in everything_told(caught.value)

    asyncio.run(main())


# --- trust ------------------------------------------------------------------------------------------------------------


def test_an_authority_of_ones_own_is_trusted_beside_the_systems(tmp_path):
    async def main():
        async with simulated(folder=tmp_path) as world, clients() as made:
            with pytest.raises(ServiceFailure, match="certificate is not trusted") as caught:
                await made.service(access(world.url)).find_runner("r")
            assert caught.value.kind is FailureKind.UNREACHABLE
            trusted = access(world.url, number=1, root_ca=world.certificate)
            await whole_life(made.service(trusted), world.service)
            assert len(trusting(world.certificate).get_ca_certs()) == len(trusting("").get_ca_certs()) + 1
            assert trusting(world.certificate).check_hostname

    asyncio.run(main())


def test_a_bundle_without_certificates_is_invalid():
    async def main():
        async with clients() as made:
            with pytest.raises(ServiceFailure, match="githubServerTLS"):
                made.service(access("https://ghe.corp", root_ca="no PEM"))

    asyncio.run(main())


# --- servers that misbehave -------------------------------------------------------------------------------------------


async def silence(reader, writer):
    await reader.read(65536)
    await asyncio.sleep(5)


async def hang_up(reader, writer):
    await reader.read(65536)


async def drip(reader, writer):
    await reader.read(65536)
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")
    for _ in range(50):
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.05)


async def flood(reader, writer):
    await reader.read(65536)
    writer.write(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * (ANSWER_BYTES_MAX + 1))
    await writer.drain()


async def gibberish(reader, writer):
    await reader.read(65536)
    writer.write(b"SSH-2.0-OpenSSH\r\n\r\n")


async def bad_gzip(reader, writer):
    await reader.read(65536)
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 4\r\n\r\nnope")


@pytest.mark.parametrize(
    ("handler", "detail"),
    [
        (silence, "no answer in time"),
        (drip, "no answer in time"),
        (hang_up, "the connection broke"),
        (flood, "the answer is larger"),
        (gibberish, "the connection broke"),
        (bad_gzip, "the answer can't be decompressed"),
    ],
)
def test_a_server_that_misbehaves_is_given_up_in_time(handler, detail):
    async def main():
        transports = HttpTransports({})
        async with raw(handler) as (port, _):
            transport = transports.open(access("http://x"))
            started = time.monotonic()
            with pytest.raises(TransportError, match=detail) as caught:
                await transport.send(
                    HttpRequest("POST", f"http://{LOOPBACK}:{port}/", {"a": "b"}, b"{}", deadline=300 * MILLISECOND)
                )
            assert caught.value.sent
            assert time.monotonic() - started < 3
            await transports.close()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("url", "headers", "detail"),
    [
        (f"http://{LOOPBACK}:1/", {}, "no connection"),
        ("http://no-such-host.invalid/", {}, "no connection"),
        ("ftp://x/", {}, "not an http"),
        ("http://x:99999/", {}, "."),
        (f"http://{LOOPBACK}:1/", {"authorization": "Bearer a\nb"}, "."),
    ],
)
def test_what_never_left_is_told_apart(url, headers, detail):
    async def main():
        transports = HttpTransports({})
        with pytest.raises(TransportError, match=detail) as caught:
            await transports.open(access("http://x")).send(HttpRequest("GET", url, headers))
        assert not caught.value.sent
        assert "Bearer" not in str(caught.value)
        await transports.close()

    asyncio.run(main())


def test_redirects_are_not_followed():
    async def elsewhere(reader, writer):
        await reader.read(65536)
        writer.write(b"HTTP/1.1 307 Elsewhere\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n")

    async def main():
        async with raw(elsewhere) as (port, _), clients() as made:
            with pytest.raises(ServiceFailure, match="redirects") as caught:
                await made.service(access(f"http://{LOOPBACK}:{port}")).find_runner("r")
            assert caught.value.kind is FailureKind.INVALID

    asyncio.run(main())


# --- closing ----------------------------------------------------------------------------------------------------------


def test_an_evicted_client_keeps_no_connection_and_still_finishes_what_it_began():
    async def main():
        async with simulated() as world, clients(kept=1) as made:
            first = made.service(access(world.url))
            await first.find_runner("r")
            second = made.service(access(world.url, number=2))
            await asyncio.sleep(0.1)
            assert world.connections == 0
            assert await first.find_runner("r") is None
            assert await second.find_runner("r") is None
            await asyncio.sleep(0.1)
            assert world.connections == 1

    asyncio.run(main())


def test_a_call_under_way_survives_the_eviction_of_its_client():
    async def slow(reader, writer):
        await reader.read(65536)
        await asyncio.sleep(0.2)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")

    async def main():
        transports = HttpTransports({})
        async with raw(slow) as (port, _):
            transport = transports.open(access("http://x"))
            request = HttpRequest("GET", f"http://{LOOPBACK}:{port}/", {}, deadline=5 * SECOND)
            call = asyncio.create_task(transport.send(request))
            await asyncio.sleep(0.05)
            transport.close()
            assert (await call).body == b"ok"
            await asyncio.sleep(0.05)
            assert transport.closed
            await transports.close()

    asyncio.run(main())
