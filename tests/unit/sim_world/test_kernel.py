"""The kernel: a total order that depends on the seed alone."""

from __future__ import annotations

import pytest

from arcfsm.domain.instant import SECOND
from arcfsm.sim.clock import SIMULATION_START, ManualClock, VirtualClock, timestamp
from arcfsm.sim.kernel import Channel, Future, Kernel, SimulationError, random_stream

END = SIMULATION_START + 100 * SECOND


def test_things_happen_in_order_of_time():
    kernel, seen = Kernel(1), []
    kernel.after(2 * SECOND, lambda: seen.append(("b", kernel.now())))
    kernel.after(1 * SECOND, lambda: seen.append(("a", kernel.now())))
    kernel.run(END)
    assert seen == [("a", SIMULATION_START + SECOND), ("b", SIMULATION_START + 2 * SECOND)]
    assert kernel.now() == END


def test_a_lane_keeps_its_order():
    kernel, seen = Kernel(5), []
    for number in range(20):
        kernel.after(0, lambda number=number: seen.append(number), "one")
    kernel.run(END)
    assert seen == list(range(20))


def orders(seed):
    kernel, seen = Kernel(seed), []
    for lane in "abcdef":
        kernel.after(0, lambda lane=lane: seen.append(lane), lane)
    kernel.run(END)
    return "".join(seen)


def test_lanes_interleave_as_the_seed_says():
    assert orders(3) == orders(3)
    assert len({orders(seed) for seed in range(20)}) > 10


def test_a_cancelled_timer_does_nothing():
    kernel, seen = Kernel(1), []
    timer = kernel.after(SECOND, lambda: seen.append(1))
    timer.cancel()
    kernel.run(END)
    assert seen == []


def test_coroutines_sleep_and_return():
    kernel = Kernel(1)

    async def work():
        await kernel.sleep(3 * SECOND)
        return kernel.now()

    task = kernel.spawn(work(), "w")
    kernel.run(END)
    assert task.result() == SIMULATION_START + 3 * SECOND


def test_the_first_future_wins():
    kernel = Kernel(1)

    async def work():
        return await kernel.first(kernel.sleep(3 * SECOND), kernel.sleep(SECOND))

    task = kernel.spawn(work(), "w")
    kernel.run(END)
    assert task.result() == 1


def test_a_killed_task_stops_between_awaits():
    kernel, seen = Kernel(1), []

    async def work():
        seen.append("begun")
        await kernel.sleep(SECOND)
        seen.append("ended")

    task = kernel.spawn(work(), "w")
    kernel.run(SIMULATION_START + SECOND // 2)
    task.kill()
    kernel.run(END)
    assert (seen, task.done) == (["begun"], False)


def test_a_channel_is_read_in_order_and_drained_after_close():
    kernel, seen = Kernel(1), []
    channel: Channel[int] = Channel()

    async def read():
        while (item := await channel.get()) is not None:
            seen.append(item)
        seen.append("end")

    kernel.spawn(read(), "r")

    def fill():
        channel.put(1)
        channel.put(2)
        channel.close()
        channel.put(3)

    kernel.after(SECOND, fill)
    kernel.run(END)
    assert seen == [1, 2, "end"]


def test_an_actor_that_breaks_ends_the_run():
    kernel = Kernel(1)

    async def work():
        raise ValueError("no")

    kernel.spawn(work(), "w")
    with pytest.raises(SimulationError, match=r"w broke at .*ValueError: no"):
        kernel.run(END)


def test_an_error_goes_to_who_waits_for_it():
    kernel = Kernel(1)

    async def work():
        await kernel.sleep(1)
        raise ValueError("no")

    async def wait():
        try:
            await kernel.spawn(work(), "w")
        except ValueError:
            return "caught"

    task = kernel.spawn(wait(), "v")
    kernel.run(END)
    assert task.result() == "caught"


def test_a_world_without_rest_is_stopped():
    kernel = Kernel(1)

    def again():
        kernel.after(0, again)

    again()
    with pytest.raises(SimulationError, match="no rest after 100 turns"):
        kernel.run(END, turns_max=100)


def test_close_kills_what_still_runs():
    kernel = Kernel(1)

    async def work():
        await kernel.sleep(SECOND)

    task = kernel.spawn(work(), "w")
    kernel.close()
    assert task.killed
    assert kernel.idle


def test_streams_are_independent_and_fixed():
    assert random_stream(1, "a").random() == random_stream(1, "a").random()
    assert random_stream(1, "a").random() != random_stream(1, "b").random()
    assert [int(random_stream(7, "x").random() * 1000), random_stream(7, "x").getrandbits(16)] == [
        int(random_stream(7, "x").random() * 1000),
        random_stream(7, "x").getrandbits(16),
    ]


def test_a_future_is_set_once():
    future: Future[int] = Future()
    future.resolve(1)
    future.resolve(2)
    assert future.result() == 1
    with pytest.raises(SimulationError, match="before it was there"):
        Future().result()


def test_clocks_jump_alone():
    source = ManualClock()
    one, other = VirtualClock(source), VirtualClock(source, offset=5)
    one.jump(-60 * SECOND)
    source.advance(SECOND)
    assert one.now() == SIMULATION_START - 59 * SECOND
    assert other.now() == SIMULATION_START + SECOND + 5
    with pytest.raises(ValueError, match="jump a VirtualClock"):
        source.advance(-1)
    source.move_to(SIMULATION_START)
    assert source.now() == SIMULATION_START + SECOND


def test_timestamps_are_whole_seconds():
    assert timestamp(SIMULATION_START + 999_999) == "2026-12-01T06:00:00Z"
