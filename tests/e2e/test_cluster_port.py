"""The engine's port of the API server, over real HTTPS against the simulated one."""

from __future__ import annotations

import asyncio
import copy
import os
import stat
import sys
import threading
import time

import pytest
import yaml

from arcfsm.cluster.connection import AccessSource, ClusterAccess, HttpCluster, NoClusterError
from arcfsm.cluster.connection import access as access_module
from arcfsm.cluster.connection import streams as streams_module
from arcfsm.cluster.connection.survey import RELIED_ON, discover
from arcfsm.domain.exchange import NO_ANSWER, Reply
from arcfsm.domain.kinds import RESOURCES, Kind, Resource
from arcfsm.sim.api import load_crds, serving
from arcfsm.sim.api.rbac import MASTERS, Identity
from tests.e2e.served import Link, Running

POD, SECRET, MAP, RUNNER = (RESOURCES[kind] for kind in (Kind.POD, Kind.SECRET, Kind.CONFIG_MAP, Kind.RUNNER))
LEASE = Resource("coordination.k8s.io", "v1", "leases")


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    made = Running(tmp_path_factory.mktemp("served"))
    yield made
    made.stop()


@pytest.fixture
def link(running, tmp_path):
    made = Link(running, tmp_path)
    yield made
    made.close()


@pytest.fixture
def namespace(running):
    name = f"n{time.monotonic_ns()}"
    body = {"metadata": {"name": name}}
    made = run(running.kubeconfig, lambda port: port.create(Resource("", "v1", "namespaces"), "", body))
    assert made.status == 201
    return name


def run(kubeconfig, scenario, **options):
    """Run a scenario with a port of its own, and close it whatever happens."""
    source = kubeconfig if isinstance(kubeconfig, AccessSource) else AccessSource(str(kubeconfig))

    async def all_of_it():
        port = HttpCluster(ClusterAccess(source, connections=4), **options)
        try:
            return await scenario(port)
        finally:
            port.close()

    result = asyncio.run(all_of_it())
    until(lambda: not [thread for thread in threading.enumerate() if thread.name.startswith(("watch", "request-"))])
    return result


def until(check, seconds=5):
    deadline = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.01)


def config_map(name, text="x"):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"text": text}}


async def version_of(port, resource, namespace):
    return (await port.list(resource, namespace)).body["metadata"]["resourceVersion"]


async def soon(stream, seconds=10):
    return await asyncio.wait_for(stream.next(), seconds)


class TestRequests:
    def test_an_object_from_creation_to_deletion(self, running, namespace):
        seen = []

        async def scenario(port):
            made = await port.create(MAP, namespace, config_map("a"))
            assert made.status == 201
            assert (await port.create(MAP, namespace, config_map("a"))).body["reason"] == "AlreadyExists"
            patched = await port.patch(MAP, namespace, "a", {"data": {"text": None, "more": "y"}})
            assert patched.body["data"] == {"more": "y"}
            stale = {"metadata": {"resourceVersion": made.body["metadata"]["resourceVersion"]}, "data": {"z": "z"}}
            assert (await port.patch(MAP, namespace, "a", stale)).status == 409
            assert (await port.delete(MAP, namespace, "a", uid="another")).status == 409
            assert (await port.delete(MAP, namespace, "a", uid=made.body["metadata"]["uid"])).ok
            gone = await port.get(MAP, namespace, "a")
            assert (gone.status, gone.body["reason"], gone.detail) == (404, "NotFound", "")

        run(running.kubeconfig, scenario, observer=lambda *told: seen.append(told))
        assert [told[:3] for told in seen] == [
            ("create", MAP, 201), ("create", MAP, 409), ("patch", MAP, 200), ("patch", MAP, 409), ("delete", MAP, 409),
            ("delete", MAP, 200), ("get", MAP, 404),
        ]  # fmt: skip
        assert all(0 < told[3] < 10 for told in seen)

    def test_status_and_grace_period(self, running, namespace):
        async def scenario(port):
            body = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}
            assert (await port.create(POD, namespace, body)).body["status"]["phase"] == "Pending"
            patched = await port.patch(POD, namespace, "p", {"status": {"phase": "Failed"}}, subresource="status")
            assert patched.body["status"]["phase"] == "Failed"
            assert (await port.delete(POD, namespace, "p", grace_period_s=0)).ok
            assert (await port.get(POD, namespace, "p")).status == 404

        run(running.kubeconfig, scenario)

    def test_items_carry_their_kind(self, running, namespace):
        async def scenario(port):
            await port.create(MAP, namespace, config_map("a"))
            await port.create(LEASE, namespace, {"metadata": {"name": "l"}, "spec": {"holderIdentity": "x"}})
            for resource, kind in ((MAP, "ConfigMap"), (LEASE, "Lease")):
                listed = await port.list(resource, namespace)
                assert [(one["apiVersion"], one["kind"]) for one in listed.body["items"]] == [
                    (resource.api_version, kind)
                ]

        run(running.kubeconfig, scenario)

    def test_pages_and_labels(self, running, namespace):
        async def scenario(port):
            for number in range(5):
                body = config_map(f"m{number}")
                body["metadata"]["labels"] = {"odd": "yes" if number % 2 else "no"}
                await port.create(MAP, namespace, body)
            names, token = [], ""
            while True:
                page = await port.list(MAP, namespace, limit=2, token=token)
                names += [one["metadata"]["name"] for one in page.body["items"]]
                token = page.body["metadata"].get("continue", "")
                if not token:
                    break
            assert names == [f"m{number}" for number in range(5)]
            odd = await port.list(MAP, namespace, labels="odd=yes")
            assert len(odd.body["items"]) == 2
            everywhere = await port.list(MAP)
            assert len(everywhere.body["items"]) >= 5

        run(running.kubeconfig, scenario)

    def test_a_token_that_is_too_old_is_told_as_it_is(self, running, namespace):
        async def scenario(port):
            for name in "abc":
                await port.create(MAP, namespace, config_map(name))
            page = await port.list(MAP, namespace, limit=1)
            await port.create(MAP, namespace, config_map("d"))
            running.in_thread(lambda api: api.compact(caches=False))
            rest = await port.list(MAP, namespace, limit=1, token=page.body["metadata"]["continue"])
            assert (rest.status, rest.body["reason"]) == (410, "Expired")

        run(running.kubeconfig, scenario)

    def test_many_at_once(self, running, namespace):
        async def scenario(port):
            replies = await asyncio.gather(*(port.create(MAP, namespace, config_map(f"m{n}")) for n in range(40)))
            assert {reply.status for reply in replies} == {201}

        run(running.kubeconfig, scenario)

    def test_what_is_forbidden(self, running, namespace, tmp_path):
        running.service.api.tokens["nobody's"] = Identity("nobody", ("system:authenticated",))
        config = running.config()
        config["users"][0]["user"]["token"] = "nobody's"
        (tmp_path / "k").write_text(yaml.safe_dump(config))

        async def scenario(port):
            refused = await port.list(SECRET, namespace)
            assert (refused.status, refused.body["reason"]) == (403, "Forbidden")
            refused = await port.watch(SECRET, namespace, version="1")
            assert isinstance(refused, Reply)
            assert (refused.status, refused.body["reason"]) == (403, "Forbidden")

        run(tmp_path / "k", scenario)


class TestFailures:
    def test_a_server_that_is_not_there(self, running, tmp_path):
        config = running.config()
        with serving.listen(0) as taken:
            config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{taken.getsockname()[1]}"
        (tmp_path / "k").write_text(yaml.safe_dump(config))

        async def scenario(port):
            for reply in (await port.get(POD, "default", "a"), await port.watch(POD, "default", version="1")):
                assert reply == Reply(NO_ANSWER, detail="no connection: Connection refused")

        run(tmp_path / "k", scenario)

    def test_a_certificate_of_somebody_else(self, running, tmp_path):
        config = running.config()
        del config["clusters"][0]["cluster"]["certificate-authority-data"]
        (tmp_path / "k").write_text(yaml.safe_dump(config))

        async def scenario(port):
            reply = await port.get(POD, "default", "a")
            assert reply.status == NO_ANSWER
            assert "certificate is not trusted: self-signed certificate" in reply.detail.replace(
                "self signed", "self-signed"
            )

        run(tmp_path / "k", scenario)

    def test_a_server_that_does_not_answer(self, link):
        async def scenario(port):
            assert (await port.get(POD, "default", "a")).status == 404
            link.silent = True
            before = time.monotonic()
            # More than there are connections: who never gets one is answered in time as well.
            replies = await asyncio.gather(*(port.get(POD, "default", "a") for _ in range(9)))
            opened = await port.watch(POD, "default", version="1")
            assert time.monotonic() - before < 2.5
            assert {(reply.status, reply.detail) for reply in (*replies, opened)} == {(NO_ANSWER, "no answer in time")}
            link.silent = False

        run(link.kubeconfig, scenario, deadline_s=0.7)

    def test_what_waited_past_its_deadline_is_never_sent(self, link, running, namespace):
        async def scenario(port):
            link.silent = True
            bodies = [config_map(f"late{number}") for number in range(12)]
            await asyncio.gather(*(port.create(MAP, namespace, body) for body in bodies))
            await asyncio.sleep(0.5)

        run(link.kubeconfig, scenario, deadline_s=0.5)

        async def check(port):
            assert len((await port.list(MAP, namespace)).body["items"]) <= 4

        run(running.kubeconfig, check)

    def test_connections_closed_while_idle(self, link):
        async def scenario(port):
            for _ in range(3):
                assert (await port.get(POD, "default", "a")).status == 404
                link.cut()
                assert (await port.get(POD, "default", "a")).status == 404

        run(link.kubeconfig, scenario)

    def test_connections_are_kept(self, link):
        async def scenario(port):
            for _ in range(20):
                assert (await port.get(POD, "default", "a")).status == 404

        run(link.kubeconfig, scenario)
        assert link.connections <= 4

    def test_a_cancelled_request(self, link):
        async def scenario(port):
            link.silent = True
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(port.get(POD, "default", "a"), 0.2)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(port.watch(POD, "default", version="1"), 0.2)
            assert not port._open

        run(link.kubeconfig, scenario, deadline_s=1.0)

    def test_a_restart(self, tmp_path, monkeypatch):
        first = Running(tmp_path)
        monkeypatch.setattr(serving, "self_signed", lambda: first.service.certificate)
        again = []

        async def scenario(port):
            assert (await port.create(MAP, "default", config_map("a"))).status == 201
            stream = await port.watch(MAP, "default", version=await version_of(port, MAP, "default"))
            await asyncio.to_thread(first.stop)
            assert await soon(stream) is None
            down = await port.get(MAP, "default", "a")
            assert (down.status, down.detail) == (NO_ANSWER, "no connection: Connection refused")
            second = await asyncio.to_thread(lambda: Running(tmp_path / "..", port=first.port))
            again.append(second)
            second.service.api.tokens[first.service.token] = Identity("admin", (MASTERS,))
            assert (await port.get(MAP, "default", "a")).status == 404
            refused = await port.watch(MAP, "default", version="999999")
            if isinstance(refused, Reply):
                assert refused.status in {410, 504}
            else:
                refused.close()

        config = tmp_path / "kept"
        config.write_text(first.kubeconfig.read_text())
        run(config, scenario)
        again[0].stop()


class TestWatches:
    def test_changes_in_order(self, running, namespace):
        async def scenario(port):
            stream = await port.watch(MAP, namespace, version=await version_of(port, MAP, namespace))
            await port.create(MAP, namespace, config_map("a"))
            await port.patch(MAP, namespace, "a", {"data": {"text": "y"}})
            await port.delete(MAP, namespace, "a")
            lines = [await soon(stream) for _ in range(3)]
            assert [line["type"] for line in lines] == ["ADDED", "MODIFIED", "DELETED"]
            assert {line["object"]["kind"] for line in lines} == {"ConfigMap"}
            stream.close()
            assert await soon(stream) is None

        run(running.kubeconfig, scenario)

    def test_a_selector_and_a_kind_we_have_no_name_for(self, running, namespace):
        async def scenario(port):
            version = await version_of(port, LEASE, namespace)
            stream = await port.watch(LEASE, namespace, version=version, labels="a=b")
            await port.create(LEASE, namespace, {"metadata": {"name": "x"}, "spec": {}})
            await port.create(LEASE, namespace, {"metadata": {"name": "y", "labels": {"a": "b"}}, "spec": {}})
            line = await soon(stream)
            assert (line["object"]["metadata"]["name"], line["object"]["kind"]) == ("y", "Lease")
            stream.close()

        run(running.kubeconfig, scenario)

    def test_the_server_ends_it(self, running, namespace):
        async def scenario(port):
            stream = await port.watch(MAP, namespace, version=await version_of(port, MAP, namespace))
            started = time.monotonic()
            assert await soon(stream) is None
            assert time.monotonic() - started < 8
            assert not port._open

        run(running.kubeconfig, scenario, watch_s=(1, 2), jitter=lambda: 0.5)

    def test_a_version_that_is_too_old(self, running, namespace):
        async def scenario(port):
            version = await version_of(port, MAP, namespace)
            await port.create(MAP, namespace, config_map("a"))
            running.in_thread(lambda api: api.compact())
            stream = await port.watch(MAP, namespace, version=version)
            if isinstance(stream, Reply):
                assert (stream.status, stream.body["reason"]) == (410, "Expired")
            else:
                line = await soon(stream)
                assert (line["type"], line["object"]["code"]) == ("ERROR", 410)
                assert await soon(stream) is None

        run(running.kubeconfig, scenario)

    def test_bookmarks(self, running, namespace, monkeypatch):
        from arcfsm.sim.api import asgi, watching

        monkeypatch.setattr(watching, "BOOKMARK_EVERY", 200_000)
        monkeypatch.setattr(asgi, "_LOOK_AGAIN_S", 0.1)

        async def scenario(port):
            version = await version_of(port, RUNNER, namespace)
            stream = await port.watch(RUNNER, namespace, version=version)
            await port.create(MAP, namespace, config_map("elsewhere"))
            line = await soon(stream)
            while int(line["object"]["metadata"]["resourceVersion"]) <= int(version):
                line = await soon(stream)
            assert (line["type"], line["object"]["kind"]) == ("BOOKMARK", "EphemeralRunner")
            stream.close()

        run(running.kubeconfig, scenario)

    def test_a_slow_consumer_is_waited_for(self, running, namespace, monkeypatch):
        monkeypatch.setattr(streams_module, "LINES_WAITING_MAX", 5)

        async def scenario(port):
            stream = await port.watch(MAP, namespace, version=await version_of(port, MAP, namespace))
            for number in range(60):
                await port.create(MAP, namespace, config_map(f"m{number:02}", "x" * 2_000))
            await asyncio.sleep(0.3)
            # What one chunk of the server held is one step of the reader.
            assert len(stream._lines) <= 5 + 10
            names = [(await soon(stream))["object"]["metadata"]["name"] for _ in range(60)]
            assert names == [f"m{number:02}" for number in range(60)]
            stream.close()

        run(running.kubeconfig, scenario)

    def test_closing_while_the_reader_waits_for_room(self, running, namespace, monkeypatch):
        monkeypatch.setattr(streams_module, "BYTES_WAITING_MAX", 1)

        async def scenario(port):
            stream = await port.watch(MAP, namespace, version=await version_of(port, MAP, namespace))
            for number in range(10):
                await port.create(MAP, namespace, config_map(f"m{number}"))
            await asyncio.sleep(0.1)
            stream.close()
            stream.close()
            assert await soon(stream) is None

        run(running.kubeconfig, scenario)

    def test_a_line_longer_than_any_read(self, running, namespace):
        async def scenario(port):
            stream = await port.watch(MAP, namespace, version=await version_of(port, MAP, namespace))
            await port.create(MAP, namespace, config_map("big", "y" * 700_000))
            await port.create(MAP, namespace, config_map("small"))
            assert len((await soon(stream))["object"]["data"]["text"]) == 700_000
            assert (await soon(stream))["object"]["metadata"]["name"] == "small"
            stream.close()

        run(running.kubeconfig, scenario)

    def test_one_who_waits_is_told_of_the_end(self, running, namespace):
        async def scenario(port):
            stream = await port.watch(MAP, namespace, version=await version_of(port, MAP, namespace))
            waiting = asyncio.ensure_future(stream.next())
            await asyncio.sleep(0.1)
            assert not waiting.done()
            port.close()
            assert await asyncio.wait_for(waiting, 2) is None

        run(running.kubeconfig, scenario)

    def test_a_connection_that_breaks(self, link, namespace):
        async def scenario(port):
            stream = await port.watch(MAP, namespace, version=await version_of(port, MAP, namespace))
            await port.create(MAP, namespace, config_map("a"))
            assert (await soon(stream))["type"] == "ADDED"
            link.cut()
            assert await soon(stream, 3) is None

        run(link.kubeconfig, scenario)

    def test_a_server_that_fell_silent(self, link, namespace, monkeypatch):
        from arcfsm.cluster.connection import port as port_module

        monkeypatch.setattr(port_module, "_SILENCE_ALLOWED_S", 0.5)

        async def scenario(port):
            stream = await port.watch(MAP, namespace, version=await version_of(port, MAP, namespace))
            link.silent = True
            started = time.monotonic()
            assert await soon(stream) is None
            assert 0.9 < time.monotonic() - started < 4

        run(link.kubeconfig, scenario, watch_s=(1, 1))


class TestMetadataOnly:
    def test_no_content_of_secrets_is_received(self, link, running, namespace):
        body = {"metadata": {"name": "s", "labels": {"a": "b"}}, "stringData": {"password": "hunter2-hunter2"}}
        coded = b"aHVudGVyMi1odW50ZXIy"

        async def scenario(port):
            direct = HttpCluster(ClusterAccess(AccessSource(str(running.kubeconfig))))
            assert (await direct.create(SECRET, namespace, body)).status == 201
            listed = await port.list(SECRET, namespace, metadata_only=True)
            (one,) = listed.body["items"]
            assert (one["apiVersion"], one["kind"], one["metadata"]["labels"]) == ("v1", "Secret", {"a": "b"})
            assert set(one) == {"apiVersion", "kind", "metadata"}
            version = listed.body["metadata"]["resourceVersion"]
            stream = await port.watch(SECRET, namespace, version=version, metadata_only=True)
            await direct.patch(SECRET, namespace, "s", {"metadata": {"labels": {"c": "d"}}})
            line = await soon(stream)
            assert (line["type"], line["object"]["kind"], line["object"]["apiVersion"]) == ("MODIFIED", "Secret", "v1")
            assert "data" not in line["object"]
            stream.close()
            direct.close()

        run(link.kubeconfig, scenario)
        assert b'"PartialObjectMetadata' in link.received
        assert coded not in link.received
        assert b"hunter2" not in link.received

        async def whole(port):
            assert (await port.get(SECRET, namespace, "s")).ok

        run(link.kubeconfig, whole)
        assert coded in link.received, "the link sees content where there is some"


class TestConfiguration:
    def refused(self, **source):
        with pytest.raises(NoClusterError) as refused:
            ClusterAccess(AccessSource(**source))
        text = str(refused.value)
        assert "\n" not in text
        return text

    @pytest.fixture(autouse=True)
    def nowhere(self, monkeypatch, tmp_path):
        for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HOME", str(tmp_path))

    def write(self, tmp_path, config):
        path = tmp_path / "written"
        path.write_text(config if isinstance(config, str) else yaml.safe_dump(config))
        return str(path)

    def test_none_at_all(self):
        assert "no cluster to talk to: no --kubeconfig, no KUBECONFIG" in self.refused()

    def test_no_such_file(self):
        assert self.refused(kubeconfig="/nowhere/config") == "kubeconfig /nowhere/config: no such file"

    @pytest.mark.parametrize(
        ("content", "told"),
        [
            ("a: [", "not YAML"),
            ("", "empty"),
            ("[]", "not a kubeconfig"),
            ("just text", "not a kubeconfig"),
            ("{}", ""),
        ],
    )
    def test_not_a_kubeconfig(self, content, told, tmp_path):
        path = self.write(tmp_path, content)
        text = self.refused(kubeconfig=path)
        assert text.startswith(f"kubeconfig {path}: ")
        assert told in text

    def test_unknown_context(self, running):
        text = self.refused(kubeconfig=str(running.kubeconfig), context="prod")
        assert "prod" in text
        assert str(running.kubeconfig) in text

    def test_a_server_that_is_no_url(self, running, tmp_path):
        config = running.config()
        config["clusters"][0]["cluster"]["server"] = "example.test:443"
        assert "'example.test:443' is not an http(s) URL" in self.refused(kubeconfig=self.write(tmp_path, config))

    def test_from_the_environment_and_the_home_folder(self, running, tmp_path, monkeypatch):
        async def scenario(port):
            assert (await port.get(POD, "default", "a")).status == 404

        monkeypatch.setenv("KUBECONFIG", f"/nowhere/config{os.pathsep}{running.kubeconfig}")
        run("", scenario)
        monkeypatch.delenv("KUBECONFIG")
        (tmp_path / ".kube").mkdir()
        (tmp_path / ".kube" / "config").write_text(running.kubeconfig.read_text())
        run("", scenario)

    def plugin(self, running, tmp_path, text):
        script = tmp_path / "plugin"
        script.write_text(f"#!{sys.executable}\n{text}")
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        config = running.config()
        config["users"][0]["user"] = {
            "exec": {
                "apiVersion": "client.authentication.k8s.io/v1",
                "command": str(script),
                "interactiveMode": "Never",
            }
        }
        return self.write(tmp_path, config)

    def test_a_plugin_is_asked_again_when_its_token_is_refused(self, running, tmp_path, monkeypatch):
        monkeypatch.setattr(access_module, "RENEW_AT_MOST_EVERY_S", 0.0)
        for token in ("first", "second"):
            running.service.api.tokens[token] = Identity("admin", (MASTERS,))
        (tmp_path / "token").write_text("first")
        path = self.plugin(
            running,
            tmp_path,
            "import json, pathlib\n"
            f"token = pathlib.Path({str(tmp_path / 'token')!r}).read_text()\n"
            "print(json.dumps({'apiVersion': 'client.authentication.k8s.io/v1', 'kind': 'ExecCredential',"
            " 'status': {'token': token}}))\n",
        )

        async def scenario(port):
            assert (await port.get(POD, "default", "a")).status == 404
            del running.service.api.tokens["first"]
            assert (await port.get(POD, "default", "a")).status == 401
            (tmp_path / "token").write_text("second")
            replies = await asyncio.gather(*(port.get(POD, "default", "a") for _ in range(6)))
            assert {reply.status for reply in replies} == {404}
            stream = await port.watch(POD, "default", version=await version_of(port, POD, "default"))
            stream.close()

        run(path, scenario)

    def test_a_plugin_that_fails(self, running, tmp_path):
        path = self.plugin(running, tmp_path, "import sys\nsys.exit('no login; run: login --now')\n")
        text = self.refused(kubeconfig=path)
        assert "exec: process returned 1" in text
        assert "no login; run: login --now" in text

    def test_a_service_account_whose_token_rotates(self, running, tmp_path, monkeypatch):
        monkeypatch.setattr(access_module, "RENEW_AT_MOST_EVERY_S", 0.0)
        host, port_number = running.service.url.removeprefix("https://").split(":")
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port_number)
        (tmp_path / "ca").write_bytes(running.service.certificate.certificate)
        (tmp_path / "token").write_text("old\n")
        source = AccessSource(token_file=str(tmp_path / "token"), authority_file=str(tmp_path / "ca"))
        running.service.api.tokens["old"] = Identity("admin", (MASTERS,))

        async def scenario(port):
            assert (await port.get(POD, "default", "a")).status == 404
            running.service.api.tokens["new"] = running.service.api.tokens.pop("old")
            (tmp_path / "token").write_text("new")
            assert (await port.get(POD, "default", "a")).status == 404

        run(source, scenario)
        (tmp_path / "ca").unlink()
        with pytest.raises(NoClusterError, match="service account of this pod: Service certification file"):
            ClusterAccess(source)


class TestSurvey:
    def test_a_server_with_everything(self, running):
        survey = run(running.kubeconfig, discover)
        assert survey.reached
        assert (survey.missing, survey.pruned, survey.unread, survey.faults, survey.warnings) == ((), (), (), (), ())

    def test_old_definitions(self, tmp_path):
        old = copy.deepcopy(load_crds())
        for definition in old:
            schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
            for part, field in (
                ("spec", "phase"), ("spec", "actionableRevision"), ("status", "observedGeneration"),
                ("status", "appliedActionableRevision"), ("status", "finishedRunnerCleanupPatchID"),
            ):  # fmt: skip
                schema.get(part, {}).get("properties", {}).pop(field, None)
        old = [each for each in old if each["spec"]["names"]["kind"] != "EphemeralRunner"]
        running = Running(tmp_path, crds=old)
        survey = run(running.kubeconfig, discover)
        running.stop()
        assert survey.missing == (Kind.RUNNER,)
        assert set(survey.pruned) == {
            (Kind.SCALE_SET, "status.observedGeneration"), (Kind.RUNNER_SET, "spec.actionableRevision"),
            (Kind.RUNNER_SET, "status.appliedActionableRevision"),
            (Kind.RUNNER_SET, "status.finishedRunnerCleanupPatchID"), (Kind.LISTENER, "spec.phase"),
        }  # fmt: skip
        assert any("EphemeralRunner (actions.github.com/v1alpha1) is not served" in line for line in survey.faults)
        assert len(survey.warnings) == 5

    def test_no_definitions_at_all(self, tmp_path):
        running = Running(tmp_path, crds=[])
        survey = run(running.kubeconfig, discover)
        running.stop()
        assert survey.reached
        assert len(survey.missing) == len(survey.faults) == 4

    def test_definitions_that_may_not_be_read(self, running, tmp_path):
        running.service.api.tokens["reader"] = Identity("reader", ("system:authenticated",))
        config = running.config()
        config["users"][0]["user"]["token"] = "reader"
        (tmp_path / "k").write_text(yaml.safe_dump(config))
        survey = run(tmp_path / "k", discover)
        assert survey.reached
        assert set(survey.unread) == set(RELIED_ON)
        assert "whether they are too old is not known" in survey.warnings[0]
        assert not survey.faults

    def test_out_of_reach(self, running, tmp_path):
        config = running.config()
        config["users"][0]["user"]["token"] = "unknown"
        (tmp_path / "k").write_text(yaml.safe_dump(config))
        survey = run(tmp_path / "k", discover)
        assert not survey.reached
        assert "does not accept our credentials (401)" in survey.faults[0]
