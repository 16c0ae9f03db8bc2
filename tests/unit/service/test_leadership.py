"""Leader election: tables for the pure part; candidates that are late, lost, stopped and deleted for the loop."""

from __future__ import annotations

import random

import pytest

from arcfsm.domain.exchange import Reply
from arcfsm.domain.instant import SECOND
from arcfsm.domain.jsonvalue import text_at
from arcfsm.service.leadership import own_identity, steady_clock
from arcfsm.service.lease import (
    Candidate,
    LeaseView,
    Step,
    Timing,
    attempting,
    body_of,
    changes_at,
    holds,
    lease_name,
    next_step,
    read_lease,
    seen,
    written,
)
from arcfsm.service.rivals import rival_lease
from tests.unit.service.electorate import NAME, Electorate, Process

TIMING = Timing()


def view(holder, *, version="1", renewed="a", duration=15 * SECOND, transitions=3):
    return LeaseView(version, holder, duration, transitions, {"holderIdentity": holder, "renewTime": renewed})


def candidate(**fields):
    return Candidate("me", TIMING, **fields)


class TestSteps:
    @pytest.mark.parametrize(
        ("known", "now_s", "step"),
        [
            (None, 0, Step.CREATE),
            (view("me"), 0, Step.RENEW),
            (view(""), 0, Step.TAKE),
            (view("other"), 0, Step.WAIT),
            (view("other"), 14.9, Step.WAIT),
            (view("other"), 15, Step.TAKE),
            (view("other", duration=0), 14.9, Step.WAIT),
            (view("other", duration=60 * SECOND), 59.9, Step.WAIT),
            (view("other", duration=60 * SECOND), 60, Step.TAKE),
        ],
    )
    def test_next_step(self, known, now_s, step):
        assert next_step(candidate(view=known), int(now_s * SECOND)) is step

    def test_only_a_changed_record_starts_the_wait_anew(self):
        first = seen(candidate(), view("other"), 100)
        assert first.seen_at == 100
        relabelled = seen(first, view("other", version="2"), 200)
        assert (relabelled.seen_at, relabelled.view.version) == (100, "2")
        assert seen(first, view("other", version="2", renewed="b"), 200).seen_at == 200

    def test_a_lease_that_went_is_lost_at_once(self):
        ours = candidate(view=view("me"), renewed_at=100)
        assert holds(ours, 100)
        assert seen(ours, view("me", version="2"), 200).renewed_at == 100
        for found in (None, view("other"), view("")):
            assert not holds(seen(ours, found, 200), 200)

    def test_holding_ends_by_itself(self):
        ours = candidate(view=view("me"), renewed_at=0)
        assert holds(ours, TIMING.give_up)
        assert not holds(ours, TIMING.give_up + 1)
        assert changes_at(ours, 0) == TIMING.give_up + 1
        assert changes_at(ours, TIMING.give_up + 1) is None

    def test_who_created_waits_for_one_who_may_not_know(self):
        ours = written(attempting(candidate(), Step.CREATE, 50), view("me"), 50, 60)
        assert not holds(ours, 60)
        assert changes_at(ours, 60) == 50 + TIMING.give_up
        assert holds(ours, 50 + TIMING.give_up)
        assert attempting(ours, Step.RENEW, 70).not_before == ours.not_before
        assert attempting(ours, Step.TAKE, 70).not_before == 0

    def test_a_write_that_shows_another_holder_is_none_of_ours(self):
        assert not holds(written(candidate(), view("other"), 0, 0), 0)

    def test_bodies(self):
        wall = 1_700_000_000 * SECOND
        fresh = body_of(candidate(), Step.CREATE, wall)
        assert "metadata" not in fresh
        assert fresh["spec"] == {
            "holderIdentity": "me", "leaseDurationSeconds": 15, "renewTime": "2023-11-14T22:13:20.000000Z",
            "acquireTime": "2023-11-14T22:13:20.000000Z", "leaseTransitions": 0,
        }  # fmt: skip
        taken = body_of(candidate(view=view("other", version="7")), Step.TAKE, wall)
        assert taken["metadata"] == {"resourceVersion": "7"}
        assert taken["spec"]["leaseTransitions"] == 4
        renewed = body_of(candidate(view=view("me", version="8")), Step.RENEW, wall + 1)
        assert renewed["metadata"] == {"resourceVersion": "8"}
        assert set(renewed["spec"]) == {"holderIdentity", "leaseDurationSeconds", "renewTime"}
        assert renewed["spec"]["renewTime"].endswith("20.000001Z")

    def test_a_lease_of_odd_shape(self):
        assert read_lease({"spec": {"leaseDurationSeconds": -1, "holderIdentity": None}}).holder == ""
        assert read_lease({}).duration == 0

    @pytest.mark.parametrize("fields", [{"give_up": 15 * SECOND}, {"renew_every": 10 * SECOND}, {"poll_every": 0}])
    def test_timing_that_does_not_protect(self, fields):
        with pytest.raises(ValueError, match="a lease needs"):
            Timing(**fields)

    def test_names(self):
        assert lease_name([]) == lease_name(())
        assert lease_name(["b", "a"]) == lease_name(["a", "b", "a"]) != lease_name(["a"])
        assert lease_name([]).startswith("arcfsm-")
        assert own_identity({"POD_NAME": "pod-1"}).startswith("pod-1_")
        assert own_identity({}) != own_identity({})
        assert steady_clock() <= steady_clock()


class TestElection:
    def led_by(self, number, count=2, **options):
        """Candidates of whom one has been leading for a while."""
        made = Electorate(count, **options)
        made.leases.hold(NAME, "")
        made.start(number)
        made.until(lambda: made.leaders() == [number])
        made.start(*(other for other in range(count) if other != number))
        made.run(12)
        assert made.leaders() == [number]
        return made

    def test_one_of_three_leads_and_renews(self):
        made = Electorate(3)
        made.start()
        took = made.until(lambda: bool(made.leaders()))
        assert 9.9 < took < 11, "nobody knew of the lease, so a holder that does not know was waited for"
        (leader,) = made.leaders()
        before = len(made.processes[leader].requests)
        made.run(60, lambda: None if made.leaders() == [leader] else pytest.fail("it lost its lease"))
        assert 11 <= len(made.processes[leader].requests) - before <= 13
        assert set(made.processes[leader].requests[-10:]) == {"patch"}
        assert made.candidates[leader].term == 0

    def test_a_released_lease_is_taken_at_once(self):
        made = Electorate(1)
        made.leases.hold(NAME, "", leaseTransitions=4)
        made.start()
        assert made.until(lambda: made.leaders() == [0]) < 1
        assert made.candidates[0].term == 5

    def test_hand_over(self):
        made = self.led_by(0)
        made.processes[0].spawn(made.candidates[0].release())
        made.run(0.1)
        assert made.leaders() == []
        assert text_at(made.leases.stored[NAME], "spec", "holderIdentity") in {"", "p1"}
        assert made.until(lambda: made.leaders() == [1]) < 5
        assert [(name, leads) for _, name, leads in made.told] == [("p0", True), ("p0", False), ("p1", True)]
        requests = len(made.processes[0].requests)
        made.run(30)
        assert len(made.processes[0].requests) == requests, "who released stands no more"

    def test_a_leader_that_releases_leads_no_more_though_the_server_does_not_know(self):
        made = self.led_by(0)
        made.processes[0].lost = 1.0
        made.processes[0].spawn(made.candidates[0].release())
        made.run(0.1)
        assert made.leaders() == []
        assert made.told[-1][1:] == ("p0", False)
        assert made.until(lambda: made.leaders() == [1]) > 9

    def test_release_while_a_renewal_is_under_way(self):
        made = self.led_by(0)
        made.processes[0].latency = 1 * SECOND
        count = len(made.processes[0].requests)
        made.until(lambda: len(made.processes[0].requests) > count)
        made.processes[0].spawn(made.candidates[0].release())
        assert made.until(lambda: made.leaders() == [1]) < 8
        made.run(30)
        assert made.leaders() == [1]

    def test_release_by_one_who_never_led(self):
        made = self.led_by(0)
        made.processes[1].spawn(made.candidates[1].release())
        made.run(20)
        assert made.leaders() == [0]
        made = Electorate(1)
        made.processes[0].spawn(made.candidates[0].release())
        made.run(20)
        assert NAME not in made.leases.stored

    def test_a_leader_that_is_cut_off(self):
        made = self.led_by(0)
        cut_at = made.kernel.now()
        made.processes[0].lost = 1.0
        ended = made.until(lambda: made.leaders() == [])
        assert ended <= 10.1
        told = [at for at, name, leads in made.told if name == "p0" and not leads]
        assert told
        assert told[0] - cut_at <= 10.1 * SECOND, "it is told though its loop waits for an answer"
        assert made.until(lambda: made.leaders() == [1]) < 12
        assert "no answer in time" in made.candidates[0].trouble
        made.processes[0].lost = 0.0
        made.run(10)
        assert made.leaders() == [1]
        assert made.candidates[0].holder == "p1"
        assert made.candidates[0].trouble == ""

    def test_a_leader_that_is_stopped(self):
        made = self.led_by(0)
        made.processes[0].stopped_until = made.kernel.now() + 40 * SECOND
        made.run(11)
        assert not made.candidates[0].holds(), "what it would find out if it were to write as its first act"
        made.until(lambda: made.leaders() == [1])
        made.run(40)
        assert made.leaders() == [1]
        assert made.told[-1][1:] == ("p1", True) or ("p0", False) in [each[1:] for each in made.told]

    def test_a_short_stop_costs_nothing(self):
        made = self.led_by(0)
        made.processes[0].stopped_until = made.kernel.now() + 4 * SECOND
        made.run(30, lambda: None if made.leaders() == [0] else pytest.fail("it lost its lease"))

    def test_one_lost_answer_costs_nothing(self):
        made = self.led_by(0)
        made.processes[0].lost = 1.0
        made.run(3)
        made.processes[0].lost = 0.0
        made.run(30, lambda: None if made.leaders() == [0] else pytest.fail("it lost its lease"))

    def test_jumps_of_the_wall_clock_mean_nothing(self):
        made = self.led_by(0)
        for offset in (3600, -7200, 10**6):
            made.processes[0].wall_offset = offset * SECOND
            made.processes[1].wall_offset = -offset * SECOND
            made.run(30, lambda: None if made.leaders() == [0] else pytest.fail("it lost its lease"))

    def test_touched_by_a_person(self):
        made = self.led_by(0)
        for _ in range(5):
            made.leases.patch(NAME, {"metadata": {"labels": {"a": str(made.kernel.now())}}})
            made.run(7, lambda: None if made.leaders() == [0] else pytest.fail("it lost its lease"))

    @pytest.mark.parametrize("delay_s", [0, 1, 2, 3, 4])
    def test_deleted_by_a_person(self, delay_s):
        made = self.led_by(0)
        made.run(delay_s)
        made.leases.delete(NAME)
        made.until(
            lambda: (
                len(made.leaders()) == 1
                and made.candidates[made.leaders()[0]].holder != ""
                and NAME in made.leases.stored
            )
        )
        made.run(60)
        assert len(made.leaders()) == 1

    def test_given_to_another_by_a_person(self):
        made = self.led_by(0)
        made.leases.patch(NAME, {"spec": {"holderIdentity": "kubectl"}})
        made.run(6)
        assert made.leaders() == []
        made.until(lambda: bool(made.leaders()))

    def test_no_right_to_leases(self):
        made = Electorate(1)
        made.processes[0].refusal = Reply(403, {"message": 'leases "x" is forbidden'})
        made.start()
        made.run(10)
        assert made.leaders() == []
        assert made.candidates[0].trouble == 'lease: read: 403 leases "x" is forbidden'
        assert len(made.processes[0].requests) <= 6

    def test_a_busy_server_is_left_alone(self):
        made = Electorate(1)
        made.leases.hold(NAME, "")
        made.start()
        made.until(lambda: made.leaders() == [0])
        made.processes[0].refusal = Reply(429, {"message": "busy"}, retry_after_s=4)
        before = len(made.processes[0].requests)
        made.run(9.5)
        assert len(made.processes[0].requests) - before <= 4

    @pytest.mark.parametrize("seed", range(25))
    def test_never_two_whatever_happens(self, seed):
        chance = random.Random(seed)
        made = Electorate(3, seed=seed)
        made.start()
        for _ in range(40):
            made.run(chance.uniform(0.5, 12))
            process = chance.choice(made.processes)
            what = chance.randrange(7)
            if what == 0:
                process.stopped_until = made.kernel.now() + int(chance.uniform(1, 40) * SECOND)
            elif what == 1:
                process.lost = chance.choice([0.0, 0.3, 0.7, 1.0])
            elif what == 2:
                process.latency = int(chance.uniform(0.001, 4) * SECOND)
            elif what == 3:
                made.leases.delete(NAME)
            elif what == 4:
                process.wall_offset = chance.randrange(-(10**6), 10**6) * SECOND
            elif what == 5:
                made.leases.patch(NAME, {"metadata": {"labels": {"a": str(chance.random())}}})
            else:
                process.lost, process.latency = 0.0, 5_000
        for process in made.processes:
            process.lost, process.latency = 0.0, 5_000
        made.run(90)
        assert len(made.leaders()) == 1


class TestRivals:
    ARC = "arc-gha-rs-controller"

    def look(self, prepare=lambda _: None, *, seconds=200, names=(), refusal=None):
        made = Electorate(0)
        process = Process(made.kernel, made.leases, "looker")
        process.refusal = refusal
        found = []

        async def looking():
            found.append(await rival_lease(process, process, "arc-systems", names=names))

        prepare(made)
        process.spawn(looking())
        started, took = made.kernel.now(), None
        for _ in range(seconds * 10):
            made.run(0.1)
            if found and took is None:
                took = (made.kernel.now() - started) / SECOND
        return found[0], took

    def renewing(self, name, every_s=2, until_s=10**6, duration=15):
        def prepare(made):
            def renew():
                made.leases.hold(name, "manager-0_uid", renewTime=str(made.kernel.now()), leaseDurationSeconds=duration)
                if made.kernel.now() < 10**15 + until_s * SECOND:
                    made.kernel.after(every_s * SECOND, renew)

            renew()

        return prepare

    def test_none(self):
        found, took = self.look()
        assert (found.live, found.dead, found.unknown) == ((), (), "")
        assert took < 1

    def test_one_that_lives(self):
        found, took = self.look(self.renewing(self.ARC))
        assert found.live == ("arc-gha-rs-controller (manager-0_uid)",)
        assert took < 5

    def test_one_that_died(self):
        found, took = self.look(self.renewing(self.ARC, until_s=-1))
        assert (found.live, found.dead) == ((), ("arc-gha-rs-controller (manager-0_uid)",))
        assert 15 < took < 20

    def test_one_that_says_it_takes_longer(self):
        found, took = self.look(self.renewing(self.ARC, every_s=50, duration=60))
        assert found.live
        assert took > 40

    def test_one_that_left(self):
        found, took = self.look(lambda made: made.leases.hold(self.ARC, ""))
        assert (found.live, found.dead) == ((), ())
        assert took < 1

    def test_a_dead_one_is_not_alive_because_another_is_still_watched(self):
        def prepare(made):
            self.renewing(self.ARC, until_s=-1)(made)
            made.leases.hold("b-gha-rs-controller", "x", leaseDurationSeconds=60)

        found, took = self.look(prepare)
        assert not found.live
        assert len(found.dead) == 2
        assert took > 60

    def test_others_are_none_of_our_business(self):
        assert not self.look(self.renewing("kube-scheduler"))[0].live
        assert not self.look(self.renewing(NAME))[0].live
        assert self.look(self.renewing("renamed"), names=["renamed"])[0].live

    def test_no_right_to_look(self):
        found, _ = self.look(refusal=Reply(403, {"message": "forbidden"}))
        assert found.unknown == "leases in arc-systems can't be listed: 403 forbidden"
        assert not found.live
