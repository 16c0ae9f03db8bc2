"""Real clients against the simulated API server over TLS: the Python client, its helpers, kubectl, and our command."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import yaml

from arcfsm.sim.api.serving import LOOPBACK

kubernetes = pytest.importorskip("kubernetes")
from kubernetes import client, config, watch  # noqa: E402  # after the skip
from kubernetes.client.rest import ApiException  # noqa: E402  # after the skip

KUBECTL = shutil.which("kubectl")
GROUP, VERSION = "actions.github.com", "v1alpha1"
needs_kubectl = pytest.mark.skipif(KUBECTL is None, reason="kubectl is not installed")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def runner(name, **metadata):
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "EphemeralRunner",
        "metadata": {"name": name, **metadata},
        "spec": {
            "githubConfigUrl": "https://example.test/org",
            "githubConfigSecret": "s",
            "runnerScaleSetId": 1,
            "spec": {"containers": [{"name": "runner", "image": "example.test/runner:1"}]},
        },
    }


def start(*args, cwd):
    command = [sys.executable, "-m", "arcfsm", "sim", "api", *args]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(
        command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sim-api")
    running = start("--kubeconfig", "kubeconfig", "--gc", cwd=folder)
    assert "simulated API server on https://" in running.stdout.readline(), running.communicate(timeout=10)
    yield folder / "kubeconfig"
    running.terminate()
    running.communicate(timeout=20)


@pytest.fixture(scope="module")
def settings(kubeconfig):
    return yaml.safe_load(kubeconfig.read_text())


@pytest.fixture(scope="module")
def api(settings):
    with config.new_client_from_config_dict(settings) as made:
        yield made


def eventually(check, seconds=10):
    deadline = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.05)


class TestPythonClient:
    def test_pods_through_the_typed_client(self, api):
        core = client.CoreV1Api(api)
        spec = client.V1PodSpec(containers=[client.V1Container(name="a", image="i:1")])
        made = core.create_namespaced_pod("default", client.V1Pod(metadata=client.V1ObjectMeta(name="t"), spec=spec))
        assert made.status.phase == "Pending"
        assert made.spec.containers[0].image_pull_policy == "IfNotPresent"
        patched = core.patch_namespaced_pod_status("t", "default", {"status": {"phase": "Running"}})
        assert int(patched.metadata.resource_version) > int(made.metadata.resource_version)
        core.delete_namespaced_pod("t", "default")
        with pytest.raises(ApiException) as refused:
            core.read_namespaced_pod("t", "default")
        assert refused.value.status == 404

    def test_watch_helper_sees_every_write(self, api):
        custom = client.CustomObjectsApi(api)
        listed = custom.list_namespaced_custom_object(GROUP, VERSION, "default", "ephemeralrunners")
        since = listed["metadata"]["resourceVersion"]

        def write():
            custom.create_namespaced_custom_object(GROUP, VERSION, "default", "ephemeralrunners", runner("w"))
            for phase in ("Pending", "Running"):
                custom.patch_namespaced_custom_object_status(
                    GROUP, VERSION, "default", "ephemeralrunners", "w", {"status": {"phase": phase}}
                )
            custom.delete_namespaced_custom_object(GROUP, VERSION, "default", "ephemeralrunners", "w")

        writer = threading.Timer(0.2, write)
        writer.start()
        stream = watch.Watch()
        seen = []
        for event in stream.stream(
            custom.list_namespaced_custom_object,
            GROUP,
            VERSION,
            "default",
            "ephemeralrunners",
            resource_version=since,
            timeout_seconds=10,
        ):
            seen.append((event["type"], event["object"].get("status", {}).get("phase")))
            if event["type"] == "DELETED":
                stream.stop()
        writer.join()
        assert seen == [("ADDED", None), ("MODIFIED", "Pending"), ("MODIFIED", "Running"), ("DELETED", "Running")]

    def test_dynamic_client(self, api, tmp_path):
        from kubernetes.dynamic import DynamicClient

        dynamic = DynamicClient(api, cache_file=str(tmp_path / "discovery"))
        runners = dynamic.resources.get(api_version=f"{GROUP}/{VERSION}", kind="EphemeralRunner")
        runners.create(body=runner("d", finalizers=["example.test/f"]), namespace="default")
        assert runners.get(name="d", namespace="default").metadata.generation == 1
        runners.delete(name="d", namespace="default")
        held = runners.get(name="d", namespace="default")
        assert held.metadata.deletionTimestamp
        merge = "application/merge-patch+json"
        body = {"metadata": {"finalizers": None}}
        runners.patch(name="d", namespace="default", body=body, content_type=merge)
        with pytest.raises(ApiException) as refused:
            runners.get(name="d", namespace="default")
        assert refused.value.status == 404

    @pytest.mark.parametrize("lock", ["configmaplock.ConfigMapLock", "leaselock.LeaseLock"])
    def test_leader_election_helper(self, settings, lock, monkeypatch):
        import importlib

        from kubernetes.leaderelection import electionconfig, leaderelection

        module, _, kind = lock.partition(".")
        made = importlib.import_module(f"kubernetes.leaderelection.resourcelock.{module}")
        own = config.new_client_from_config_dict(settings)
        monkeypatch.setattr(client.Configuration, "_default", own.configuration)

        def candidate(who):
            settings = electionconfig.Config(
                getattr(made, kind)(f"lead-{module}", "default", who),
                lease_duration=4,
                renew_deadline=3,
                retry_period=1,
                onstarted_leading=lambda: None,
                onstopped_leading=lambda: None,
            )
            return leaderelection.LeaderElection(settings)

        first, second = candidate("first"), candidate("second")
        assert first.acquire()
        assert not second.try_acquire_or_renew()
        assert first.try_acquire_or_renew()
        own.close()

    def test_foreground_deletion_is_finished_by_the_collector(self, api):
        custom = client.CustomObjectsApi(api)
        core = client.CoreV1Api(api)
        place = (GROUP, VERSION, "default", "ephemeralrunners")
        owner = custom.create_namespaced_custom_object(*place, runner("owner"))
        reference = {
            "apiVersion": owner["apiVersion"],
            "kind": owner["kind"],
            "name": "owner",
            "uid": owner["metadata"]["uid"],
            "blockOwnerDeletion": True,
        }
        core.create_namespaced_config_map("default", {"metadata": {"name": "kid", "ownerReferences": [reference]}})
        custom.delete_namespaced_custom_object(*place, "owner", propagation_policy="Foreground")

        def gone(read, *args):
            try:
                read(*args)
            except ApiException as refused:
                return refused.status == 404
            return False

        eventually(lambda: gone(custom.get_namespaced_custom_object, *place, "owner"))
        assert gone(core.read_namespaced_config_map, "kid", "default")

    def test_an_unknown_token_is_refused(self, settings):
        users = [{"name": settings["users"][0]["name"], "user": {"token": "somebody-else"}}]
        with (
            config.new_client_from_config_dict({**settings, "users": users}) as stranger,
            pytest.raises(ApiException) as refused,
        ):
            client.CoreV1Api(stranger).list_namespaced_pod("default")
        assert refused.value.status == 401


@needs_kubectl
class TestKubectl:
    def kubectl(self, kubeconfig, *args, text=None, check=True):
        environment = {**os.environ, "HOME": str(kubeconfig.parent)}
        command = [KUBECTL, "--kubeconfig", str(kubeconfig), *args]
        done = subprocess.run(
            command, input=text, capture_output=True, text=True, timeout=60, env=environment, check=False
        )
        assert not check or done.returncode == 0, done.stderr
        return done

    def test_what_a_user_of_the_demo_does(self, kubeconfig):
        scale_set = {
            "apiVersion": f"{GROUP}/{VERSION}",
            "kind": "AutoscalingRunnerSet",
            "metadata": {"name": "ci", "namespace": "default"},
            "spec": {
                "githubConfigUrl": "https://example.test/org",
                "githubConfigSecret": "s",
                "maxRunners": 3,
                "template": {"spec": {"containers": [{"name": "runner", "image": "i:1"}]}},
            },
        }
        assert "created" in self.kubectl(kubeconfig, "apply", "-f", "-", text=yaml.safe_dump(scale_set)).stdout
        scale_set["spec"]["maxRunners"] = 5
        assert "configured" in self.kubectl(kubeconfig, "apply", "-f", "-", text=yaml.safe_dump(scale_set)).stdout
        assert "unchanged" in self.kubectl(kubeconfig, "apply", "-f", "-", text=yaml.safe_dump(scale_set)).stdout
        shown = self.kubectl(kubeconfig, "get", "autoscalingrunnersets").stdout.split()
        assert shown[:5] == ["NAME", "PHASE", "MIN", "MAX", "AGE"]
        assert shown[5] == "ci"
        patch = '{"spec":{"minRunners":2}}'
        self.kubectl(kubeconfig, "patch", "autoscalingrunnerset", "ci", "--type=merge", "-p", patch)
        read = yaml.safe_load(self.kubectl(kubeconfig, "get", "autoscalingrunnerset", "ci", "-o", "yaml").stdout)
        assert (read["spec"]["minRunners"], read["spec"]["maxRunners"]) == (2, 5)
        assert read["metadata"]["generation"] == 3
        self.kubectl(kubeconfig, "delete", "autoscalingrunnerset", "ci")
        refused = self.kubectl(kubeconfig, "get", "autoscalingrunnerset", "ci", check=False)
        assert 'autoscalingrunnersets.actions.github.com "ci" not found' in refused.stderr

    def test_unknown_fields_are_refused_by_the_server(self, kubeconfig):
        body = runner("odd")
        body["spec"]["bogus"] = 1
        refused = self.kubectl(kubeconfig, "apply", "-f", "-", text=yaml.safe_dump(body), check=False)
        assert refused.returncode != 0
        assert 'unknown field "spec.bogus"' in refused.stderr

    def test_get_watch(self, kubeconfig):
        environment = {**os.environ, "HOME": str(kubeconfig.parent)}
        command = [KUBECTL, "--kubeconfig", str(kubeconfig), "get", "pods", "-w"]
        following = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        try:
            self.kubectl(kubeconfig, "run", "seen", "--image=i:1")
            lines = [following.stdout.readline() for _ in range(2)]
        finally:
            following.terminate()
            following.communicate(timeout=20)
        assert lines[0].split() == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
        assert lines[1].split()[:3] == ["seen", "0/1", "Pending"]
        self.kubectl(kubeconfig, "delete", "pod", "seen")

    def test_pods_of_a_fresh_server(self, kubeconfig):
        assert "No resources found" in self.kubectl(kubeconfig, "get", "pods", "-n", "kube-system").stderr
        namespaces = self.kubectl(kubeconfig, "get", "namespaces", "-o", "name").stdout.split()
        assert namespaces[0] == "namespace/default"


class TestCommand:
    def test_serves_and_writes_a_private_kubeconfig(self, tmp_path):
        running = start("--kubeconfig", "k", "--gc", "--control-port", "0", cwd=tmp_path)
        try:
            line = running.stdout.readline()
            assert line.startswith(f"arcfsm: simulated API server on https://{LOOPBACK}:")
            assert (tmp_path / "k").stat().st_mode & 0o077 == 0
            with config.new_client_from_config(str(tmp_path / "k")) as made:
                assert client.VersionApi(made).get_code().minor == "36"
        finally:
            running.send_signal(signal.SIGINT)
            _, errors = running.communicate(timeout=30)
        assert "Traceback" not in errors

    def refused(self, *args, cwd):
        running = start(*args, cwd=cwd)
        _, errors = running.communicate(timeout=60)
        assert running.returncode == 2
        assert len(errors.strip().splitlines()) == 1, errors
        return errors

    def test_port_in_use(self, tmp_path):
        with socket.create_server((LOOPBACK, 0)) as taken:
            port = str(taken.getsockname()[1])
            assert f"cannot listen on port {port}" in self.refused("--port", port, cwd=tmp_path)

    def test_unreadable_definitions(self, tmp_path):
        assert "nowhere" in self.refused("--crds", "nowhere", cwd=tmp_path)
        (tmp_path / "odd").mkdir()
        assert "no YAML files" in self.refused("--crds", "odd", cwd=tmp_path)
        (tmp_path / "odd" / "a.yaml").write_text("kind: Pod\n")
        assert "a.yaml" in self.refused("--crds", "odd", cwd=tmp_path)
