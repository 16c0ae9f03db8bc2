"""Lives of pods: what a cluster's users see of a scripted pod, in order, on virtual time."""

from __future__ import annotations

import pytest

from arcfsm.domain.instant import MINUTE, SECOND
from arcfsm.domain.kinds import RESOURCES, Kind
from arcfsm.sim.scenario import Scenario
from arcfsm.sim.world import World

PODS = RESOURCES[Kind.POD]
NAMESPACE = "arc-runners"


class Cluster:
    """A world without scale sets, in which a test makes pods and watches them."""

    def __init__(self, *lives, pods_max=110):
        content = {"name": "pods", "scale_sets": [], "lives": list(lives), "pods_max": pods_max, "duration": "2h"}
        self.world = World(Scenario.model_validate(content), seed=1)
        self.world.start()
        self.link = self.world.link_as("platform-admin")
        self.events = []
        self._do(self._watch())

    def create(self, name="p", *, restart="Never", inits=(), containers=("main",), grace=30, labels=None):
        spec = {
            "restartPolicy": restart,
            "terminationGracePeriodSeconds": grace,
            "containers": [{"name": each, "image": f"{each}:1"} for each in containers],
        }
        if inits:
            spec["initContainers"] = list(inits)
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels or {}}, "spec": spec}
        return self._do(self.link.create(PODS, NAMESPACE, body))

    def delete(self, name="p", **options):
        return self._do(self.link.delete(PODS, NAMESPACE, name, **options))

    def get(self, name="p"):
        found = [i for i in self.world.cluster.objects(Kind.POD, NAMESPACE) if i["metadata"]["name"] == name]
        return found[0] if found else None

    def run(self, span):
        self.world.kernel.run(self.world.kernel.now() + span)

    def seen(self, name="p"):
        """What happened to a pod: kind of event, phase, reason and states of its containers; repetitions left out."""
        lines = []
        for kind, pod in self.events:
            if pod["metadata"]["name"] != name:
                continue
            line = (kind if kind == "DELETED" else "", *summary(pod))
            if not lines or lines[-1] != line:
                lines.append(line)
        return lines

    def close(self):
        self.world.end()

    def _do(self, work):
        answers = []

        async def run():
            answers.append(await work)

        self.world.kernel.spawn(run(), "test")
        self.run(SECOND // 100)
        return answers[0] if answers else None

    async def _watch(self):
        watch = await self.link.watch(PODS, NAMESPACE)

        async def follow():
            while (event := await watch.events.get()) is not None:
                self.events.append((event["type"], event["object"]))

        self.world.kernel.spawn(follow(), "test/watch")


def summary(pod):
    status = pod["status"]
    states = []
    for each in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
        kind, state = next(iter(each["state"].items()))
        states.append(f"{each['name']}:{state.get('reason') or kind}{state.get('exitCode', '')}")
    return status["phase"], status.get("reason", ""), " ".join(states)


@pytest.fixture
def make():
    made = []

    def build(*lives, **options):
        made.append(Cluster(*lives, **options))
        return made[-1]

    yield build
    for cluster in made:
        cluster.close()


def conditions(pod):
    return {each["type"]: each["status"] for each in pod["status"]["conditions"]}


def test_an_ordinary_pod_starts_and_runs(make):
    cluster = make()
    cluster.create()
    cluster.run(10 * SECOND)
    assert cluster.seen() == [
        ("", "Pending", "", ""),
        ("", "Pending", "", "main:ContainerCreating"),
        ("", "Running", "", "main:running"),
    ]
    pod = cluster.get()
    assert pod["spec"]["nodeName"] == "node-1"
    assert conditions(pod) == {
        "PodScheduled": "True",
        "Initialized": "True",
        "ContainersReady": "True",
        "Ready": "True",
    }
    status = pod["status"]["containerStatuses"][0]
    assert (status["ready"], status["started"], status["restartCount"], status["lastState"]) == (True, True, 0, {})
    assert pod["status"]["podIP"] == pod["status"]["podIPs"][0]["ip"]


@pytest.mark.parametrize(
    ("life", "phase", "state"),
    [
        ({"run_for": "5s"}, "Succeeded", "main:Completed0"),
        ({"run_for": "5s", "exit_code": 1}, "Failed", "main:Error1"),
        ({"run_for": "5s", "exit_code": 7}, "Failed", "main:Error7"),
        ({"run_for": "5s", "oom_killed": True}, "Failed", "main:OOMKilled137"),
    ],
)
def test_a_container_ends_as_scripted(make, life, phase, state):
    cluster = make({"containers": {"main": life}})
    cluster.create()
    cluster.run(20 * SECOND)
    assert cluster.seen()[-1] == ("", phase, "", state)
    terminated = cluster.get()["status"]["containerStatuses"][0]["state"]["terminated"]
    assert terminated["finishedAt"] > terminated["startedAt"]
    assert conditions(cluster.get())["Ready"] == "False"


def test_image_pulls_fail_and_back_off(make):
    cluster = make({"pull_failures": 2})
    cluster.create()
    cluster.run(MINUTE)
    assert [line[3] for line in cluster.seen()] == [
        "",
        "main:ContainerCreating",
        "main:ErrImagePull",
        "main:ImagePullBackOff",
        "main:ErrImagePull",
        "main:ImagePullBackOff",
        "main:running",
    ]


def test_an_image_that_never_comes_keeps_the_pod_pending(make):
    cluster = make({"pull_failures": -1})
    cluster.create()
    cluster.run(30 * MINUTE)
    assert {line[1] for line in cluster.seen()} == {"Pending"}


def test_a_failing_init_container_fails_a_pod_that_is_never_restarted(make):
    cluster = make({"init_exit_code": 3})
    cluster.create(inits=[{"name": "init", "image": "i:1"}])
    cluster.run(MINUTE)
    assert cluster.seen()[-1] == ("", "Failed", "", "init:Error3 main:PodInitializing")
    assert conditions(cluster.get())["Initialized"] == "False"


def test_a_failing_init_container_is_tried_again_otherwise(make):
    cluster = make({"init_exit_code": 1})
    cluster.create(restart="Always", inits=[{"name": "init", "image": "i:1"}])
    cluster.run(MINUTE)
    states = [line[3].split()[0] for line in cluster.seen() if line[3]]
    assert states[:5] == [
        "init:PodInitializing",
        "init:running",
        "init:Error1",
        "init:CrashLoopBackOff",
        "init:running",
    ]
    assert {line[1] for line in cluster.seen()} == {"Pending"}


def test_init_containers_run_before_the_others(make):
    cluster = make()
    cluster.create(inits=[{"name": "one", "image": "i:1"}, {"name": "two", "image": "i:1"}])
    cluster.run(MINUTE)
    assert [line[3] for line in cluster.seen()] == [
        "",
        "one:PodInitializing two:PodInitializing main:PodInitializing",
        "one:running two:PodInitializing main:PodInitializing",
        "one:Completed0 two:PodInitializing main:PodInitializing",
        "one:Completed0 two:running main:PodInitializing",
        "one:Completed0 two:Completed0 main:PodInitializing",
        "one:Completed0 two:Completed0 main:running",
    ]


def test_a_sidecar_does_not_keep_a_finished_pod_alive(make):
    cluster = make({"containers": {"main": {"run_for": "5s"}}})
    cluster.create(inits=[{"name": "proxy", "image": "p:1", "restartPolicy": "Always"}])
    cluster.run(MINUTE)
    assert cluster.seen()[-1][1] == "Succeeded"
    assert ("", "Running", "", "proxy:running main:running") in cluster.seen()


def test_a_second_container_keeps_the_pod_running(make):
    cluster = make({"containers": {"main": {"run_for": "5s"}}})
    cluster.create(containers=("main", "docker"))
    cluster.run(MINUTE)
    assert cluster.seen()[-1] == ("", "Running", "", "main:Completed0 docker:running")
    assert conditions(cluster.get())["Ready"] == "False"


def test_a_container_is_restarted_when_the_policy_says_so(make):
    cluster = make({"containers": {"main": {"run_for": "5s", "exit_code": 1}}})
    cluster.create(restart="Always")
    cluster.run(MINUTE)
    status = cluster.get()["status"]["containerStatuses"][0]
    assert status["restartCount"] >= 2
    assert status["lastState"]["terminated"]["exitCode"] == 1
    assert "Failed" not in {line[1] for line in cluster.seen()}
    assert "main:CrashLoopBackOff" in {line[3] for line in cluster.seen()}


def test_a_rejected_pod_fails_without_containers(make):
    cluster = make({"rejected": "OutOfpods"})
    cluster.create()
    cluster.run(MINUTE)
    assert cluster.seen()[-1] == ("", "Failed", "OutOfpods", "")
    assert "enough resource: pods" in cluster.get()["status"]["message"]


def test_an_evicted_pod_fails_with_its_reason(make):
    cluster = make({"evicted_after": "5s"})
    cluster.create()
    cluster.run(MINUTE)
    assert cluster.seen()[-1] == ("", "Failed", "Evicted", "")


def test_a_deleted_pod_stops_gracefully(make):
    cluster = make({"containers": {"main": {"stop_takes": "4s"}}})
    cluster.create()
    cluster.run(5 * SECOND)
    cluster.delete()
    cluster.run(3 * SECOND)
    assert cluster.get()["metadata"]["deletionGracePeriodSeconds"] == 30
    assert cluster.get()["status"]["phase"] == "Running"
    cluster.run(3 * SECOND)
    assert cluster.get() is None
    assert [line[0] for line in cluster.seen()][-1] == "DELETED"
    assert ("", "Failed", "", "main:Error143") in cluster.seen()


def test_a_container_that_ignores_the_signal_is_killed_after_the_grace_period(make):
    cluster = make({"containers": {"main": {"ignores_term": True}}})
    cluster.create(grace=10)
    cluster.run(5 * SECOND)
    cluster.delete()
    cluster.run(9 * SECOND)
    assert cluster.get() is not None
    cluster.run(2 * SECOND)
    assert cluster.get() is None
    assert ("", "Failed", "", "main:Error137") in cluster.seen()


def test_a_shorter_grace_period_hurries(make):
    cluster = make({"containers": {"main": {"ignores_term": True}}})
    cluster.create(grace=600)
    cluster.run(5 * SECOND)
    cluster.delete()
    cluster.run(5 * SECOND)
    cluster.delete(grace=1)
    cluster.run(5 * SECOND)
    assert cluster.get() is None


def test_a_forced_deletion_is_immediate(make):
    cluster = make()
    cluster.create()
    cluster.run(5 * SECOND)
    cluster.delete(grace=0)
    assert cluster.get() is None
    assert cluster.world.node.workers == {}


def test_a_finished_pod_is_gone_as_soon_as_it_is_deleted(make):
    cluster = make({"containers": {"main": {"run_for": "1s"}}})
    cluster.create()
    cluster.run(5 * SECOND)
    cluster.delete()
    assert cluster.get() is None


def test_a_lost_node_leaves_a_running_pod_that_is_cleared_up_late(make):
    cluster = make({"node_lost_after": "5s"})
    cluster.create()
    cluster.run(10 * SECOND)
    assert cluster.get()["status"]["phase"] == "Running"
    assert conditions(cluster.get())["Ready"] == "False"
    cluster.run(5 * MINUTE)
    assert cluster.get()["metadata"]["deletionTimestamp"]
    cluster.run(2 * MINUTE)
    assert cluster.get() is None
    failed = next(pod for _, pod in cluster.events if pod["status"]["phase"] == "Failed")
    assert "running" in failed["status"]["containerStatuses"][0]["state"]
    assert conditions(failed)["DisruptionTarget"] == "True"


def test_a_full_node_makes_pods_wait(make):
    cluster = make(pods_max=1)
    cluster.create("one")
    cluster.create("two")
    cluster.run(5 * SECOND)
    waiting = cluster.get("two")
    assert waiting["spec"].get("nodeName") is None
    assert waiting["status"]["conditions"][0]["reason"] == "Unschedulable"
    cluster.delete("one", grace=0)
    cluster.run(5 * SECOND)
    assert cluster.get("two")["status"]["phase"] == "Running"


def test_a_successor_of_the_same_name_has_a_life_of_its_own(make):
    cluster = make({"nth": [1], "containers": {"main": {"run_for": "3s", "exit_code": 1}}})
    cluster.create()
    cluster.run(10 * SECOND)
    assert cluster.get()["status"]["phase"] == "Failed"
    cluster.delete()
    cluster.create()
    cluster.run(10 * SECOND)
    assert cluster.get()["status"]["phase"] == "Running"


def test_lives_are_chosen_by_label_and_name(make):
    cluster = make(
        {"labels": {"a": "1"}, "containers": {"main": {"run_for": "1s"}}},
        {"name_prefix": "x-", "rejected": "OutOfcpu"},
    )
    cluster.create("p", labels={"a": "1"})
    cluster.create("x-1")
    cluster.create("q")
    cluster.run(10 * SECOND)
    assert [cluster.get(name)["status"]["phase"] for name in ("p", "x-1", "q")] == ["Succeeded", "Failed", "Running"]


def test_reports_are_repeated_until_the_server_takes_them(make):
    cluster = make({"containers": {"main": {"run_for": "5s"}}})
    cluster.create()
    cluster.run(3 * SECOND)
    cluster.world.cluster.go_down()
    cluster.run(10 * SECOND)
    cluster.world.cluster.come_up()
    cluster.run(20 * SECOND)
    assert cluster.get()["status"]["phase"] == "Succeeded"
