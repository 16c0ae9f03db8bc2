"""A tiny level-triggered controller to exercise the world with.

It knows no patch ids, no revisions, no drift, no phases of runners. It is a test double: good enough to bring jobs
through, bad enough that nobody mistakes it for the product.
"""

from __future__ import annotations

import base64
import json

from arcfsm.domain import keys
from arcfsm.domain.instant import SECOND
from arcfsm.domain.kinds import RESOURCES, Kind
from arcfsm.sim.faults import Reflector
from arcfsm.sim.service import ServiceRequest

NAMESPACE, SYSTEM = "arc-runners", "arc-systems"
SETS = "/_apis/runtime/runnerscalesets"


def owner(item):
    return {
        "apiVersion": item["apiVersion"],
        "kind": item["kind"],
        "name": item["metadata"]["name"],
        "uid": item["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def owned(items, parent):
    uid = parent["metadata"]["uid"]
    return [i for i in items if any(o["uid"] == uid for o in i["metadata"].get("ownerReferences") or ())]


def ended(pod, container):
    status = pod.get("status") or {}
    if status.get("phase") in {"Failed", "Succeeded"}:
        return True
    return any(
        each["name"] == container and "terminated" in each["state"] for each in status.get("containerStatuses") or ()
    )


class ReferenceController:
    """One incarnation; it keeps nothing."""

    def start(self, ports):
        self.ports = ports
        self.alive = True
        self.busy = set()
        self.base = self.token = ""
        self.serial = ports.incarnation * 1000
        self.caches = {}
        for kind in (Kind.SCALE_SET, Kind.RUNNER_SET, Kind.RUNNER, Kind.LISTENER, Kind.POD):
            reflector = Reflector(ports, ports.cluster, RESOURCES[kind], lambda *_: ports.wake())
            self.caches[kind] = reflector.objects
            ports.spawn(reflector.run())
        ports.spawn(self.tick())

    async def tick(self):
        while True:
            await self.ports.sleep(5 * SECOND)
            self.ports.wake()

    def kill(self):
        self.alive = False

    def step(self):
        for scale_set in self.items(Kind.SCALE_SET):
            self.scale_set(scale_set)
        for runner in self.items(Kind.RUNNER):
            self.runner(runner)
        return False

    def items(self, kind):
        return [i for _, i in sorted(self.caches[kind].items()) if not i["metadata"].get("deletionTimestamp")]

    def once(self, key, work, *arguments, **options):
        if key in self.busy:
            return
        self.busy.add(key)

        async def run():
            await work(*arguments, **options)
            await self.ports.sleep(SECOND // 5)
            self.busy.discard(key)
            self.ports.wake()

        self.ports.spawn(run())

    # --- scale sets

    def scale_set(self, item):
        name = item["metadata"]["name"]
        number = (item["metadata"].get("annotations") or {}).get(keys.SCALE_SET_ID)
        if number is None:
            self.once(("register", name), self.register, item)
            return
        sets = owned(self.items(Kind.RUNNER_SET), item)
        if not sets:
            self.once(("set", name), self.create_set, item, int(number))
            return
        self.listener(item, int(number))
        self.scale(sets[0])
        if (item.get("status") or {}).get("phase") != "Running":
            body = {"status": {"phase": "Running"}}
            cluster = self.ports.cluster
            self.once(("phase", name), cluster.patch, RESOURCES[Kind.SCALE_SET], NAMESPACE, name, body, "status")

    async def register(self, item):
        name = item["spec"]["runnerScaleSetName"]
        found = await self.call("GET", f"{SETS}?runnerGroupId=1&name={name}")
        if found is None or found.status != 200:
            return
        made = found.body["value"][0] if found.body["value"] else None
        if made is None:
            created = await self.call("POST", SETS, {"name": name, "runnerGroupId": 1})
            if created is None or created.status != 200:
                return
            made = created.body
        body = {"metadata": {"annotations": {keys.SCALE_SET_ID: str(made["id"])}}}
        await self.ports.cluster.patch(RESOURCES[Kind.SCALE_SET], NAMESPACE, item["metadata"]["name"], body)

    async def create_set(self, item, number):
        spec = {
            "githubConfigUrl": item["spec"]["githubConfigUrl"],
            "githubConfigSecret": item["spec"]["githubConfigSecret"],
            "runnerScaleSetId": number,
            **item["spec"]["template"],
        }
        await self.create(
            Kind.RUNNER_SET,
            NAMESPACE,
            {"name": item["metadata"]["name"], "ownerReferences": [owner(item)]},
            spec={"replicas": 0, "patchID": 0, "ephemeralRunnerSpec": spec},
        )

    def listener(self, item, number):
        name = f"{item['metadata']['name']}-listener"
        pods = [pod for _, pod in self.caches[Kind.POD].items() if pod["metadata"]["name"] == name]
        if not pods:
            self.once(("listener", name), self.create_listener, item, number, name)
        elif ended(pods[0], keys.LISTENER_CONTAINER) and not pods[0]["metadata"].get("deletionTimestamp"):
            self.once(("listener", name), self.ports.cluster.delete, RESOURCES[Kind.POD], SYSTEM, name)

    async def create_listener(self, item, number, name):
        spec = item["spec"]
        config = {
            "configure_url": spec["githubConfigUrl"],
            "github_token": "simulated-pat",
            "ephemeral_runner_set_namespace": NAMESPACE,
            "ephemeral_runner_set_name": item["metadata"]["name"],
            "runner_scale_set_id": number,
            "runner_scale_set_name": item["metadata"]["name"],
            "min_runners": spec.get("minRunners", 0),
            "max_runners": spec.get("maxRunners", keys.MAX_RUNNERS_DEFAULT),
        }
        data = {"config.json": base64.b64encode(json.dumps(config).encode()).decode()}
        await self.create(Kind.SECRET, SYSTEM, {"name": f"{name}-config"}, data=data)
        volume = {"name": "listener-config", "secret": {"secretName": f"{name}-config"}}
        container = {"name": "listener", "image": "listener:1"}
        pod = {"restartPolicy": "Never", "volumes": [volume], "containers": [container]}
        await self.create(Kind.POD, SYSTEM, {"name": name}, spec=pod)

    # --- runners

    def scale(self, runner_set):
        wanted = runner_set["spec"].get("replicas", 0)
        runners = owned(self.items(Kind.RUNNER), runner_set)
        if len(runners) < wanted:
            self.serial += 1
            self.once(("scale", ""), self.create_runner, runner_set, self.serial)
        elif len(runners) > wanted and runner_set["spec"].get("patchID", 0) == 0:
            idle = [r for r in runners if not (r.get("status") or {}).get("jobId")]
            if idle:
                self.once(("scale", ""), self.remove_idle, idle[0])

    async def create_runner(self, runner_set, number):
        name = f"{runner_set['metadata']['name']}-runner-{number}"
        spec = runner_set["spec"]["ephemeralRunnerSpec"]
        await self.create(Kind.RUNNER, NAMESPACE, {"name": name, "ownerReferences": [owner(runner_set)]}, spec=spec)

    async def remove_idle(self, runner):
        name = runner["metadata"]["name"]
        found = await self.call("GET", f"/_apis/distributedtask/pools/0/agents?agentName={name}")
        if found is None or found.status != 200:
            return
        for agent in found.body["value"]:
            gone = await self.call("DELETE", f"/_apis/distributedtask/pools/0/agents/{agent['id']}")
            if gone is None or gone.status not in {204, 404}:
                return
        await self.ports.cluster.delete(RESOURCES[Kind.RUNNER], NAMESPACE, name)

    def runner(self, runner):
        name = runner["metadata"]["name"]
        pod = self.caches[Kind.POD].get((NAMESPACE, name))
        if pod is None:
            self.once(("runner", name), self.create_pod, runner)
        elif ended(pod, keys.RUNNER_CONTAINER):
            self.once(("runner", name), self.ports.cluster.delete, RESOURCES[Kind.RUNNER], NAMESPACE, name)

    async def create_pod(self, runner):
        name = runner["metadata"]["name"]
        secret = await self.ports.cluster.get(RESOURCES[Kind.SECRET], NAMESPACE, name)
        if secret is None or (not secret.ok and secret.status != 404):
            return
        if secret.status == 404:
            made = await self.call(
                "POST", f"{SETS}/{runner['spec']['runnerScaleSetId']}/generatejitconfig", {"name": name}
            )
            if made is None:
                return
            if made.status != 200:
                # A registration whose answer was lost cannot be used any more: give the runner up.
                if made.status == 409:
                    await self.remove_idle(runner)
                return
            token = base64.b64encode(made.body["encodedJITConfig"].encode()).decode()
            await self.create(
                Kind.SECRET,
                NAMESPACE,
                {"name": name, "ownerReferences": [owner(runner)]},
                data={"jitToken": token},
            )
        reference = {"secretKeyRef": {"name": name, "key": "jitToken"}}
        pod = json.loads(json.dumps(runner["spec"]["spec"]))
        pod["containers"][0]["env"] = [{"name": "ACTIONS_RUNNER_INPUT_JITCONFIG", "valueFrom": reference}]
        metadata = {"name": name, "ownerReferences": [owner(runner)], "labels": {keys.EPHEMERAL_RUNNER: "True"}}
        await self.create(Kind.POD, NAMESPACE, metadata, spec=pod)

    # --- calls

    async def create(self, kind, namespace, metadata, **content):
        body = {"apiVersion": RESOURCES[kind].api_version, "kind": kind.value, "metadata": metadata, **content}
        return await self.ports.cluster.create(RESOURCES[kind], namespace, body)

    async def call(self, method, path, body=None):
        if not self.token and not await self.authenticate():
            return None
        answer = await self.ports.service.send(
            ServiceRequest(method, self.base + path, {"authorization": f"Bearer {self.token}"}, body)
        )
        if answer is not None and answer.status == 401:
            self.token = ""
        return answer

    async def authenticate(self):
        issued = await self.ports.service.send(
            ServiceRequest(
                "POST",
                "/api/v3/orgs/example-org/actions/runners/registration-token",
                {"authorization": "Bearer simulated-pat"},
            )
        )
        if issued is None or issued.status != 201:
            return False
        registered = await self.ports.service.send(
            ServiceRequest(
                "POST",
                "/api/v3/actions/runner-registration",
                {"authorization": f"RemoteAuth {issued.body['token']}"},
                {"url": "http://github.example.test/example-org", "runner_event": "register"},
            )
        )
        if registered is None or registered.status != 200:
            return False
        self.base, self.token = registered.body["url"], registered.body["token"]
        return True
