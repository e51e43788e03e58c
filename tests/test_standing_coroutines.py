"""Writes of uapycsp that have been read when their process is cancelled: they return, whoever
cancels and whatever else is ready, and the cancellation comes at the next wait."""

import sys

from ufuture_support import (
    CancelledError,
    asyncio,
    raises,
    renew_loop,
    settle,
    sleep_ms,
    until,
)

from uapycsp import Channel, Spawn, process, run
from ufuture import gather
from ufuture.loop import engine

MANY = 3 * getattr(engine, "LIMIT", 64)  # more than the driver resumes before it gives way


class Writer:
    """A process that waits in a write, and then goes on to another wait; what it has met."""

    def __init__(self, stubborn=False):
        self.ch = Channel("ch")
        self.log = []
        self.stubborn = stubborn
        self.handle = Spawn(self.writes())

    @process
    async def writes(self):
        for i in range(2):
            try:
                self.log.append(await self.ch.write(i))
            except CancelledError:
                self.log.append("cancelled")
                if not self.stubborn:
                    raise

    async def ready(self):
        while not self.ch.queue_len():
            await sleep_ms(0)

    def stood(self):
        return self.log == [0, "cancelled"] and self.ch.queue_len() == 0


class Others:
    """So many processes that wait, each for a value of its own."""

    def __init__(self, n):
        self.chans = [Channel("c%d" % i) for i in range(n)]
        self.handles = [Spawn(self.reads(ch)) for ch in self.chans]

    @process
    async def reads(self, ch):
        await ch.read()

    async def wake(self):
        for ch in self.chans:
            await ch.write(None)


async def read_and_cancel(writer, others, times):
    await others.wake()
    assert await writer.ch.read() == 0
    for _ in range(times):
        writer.handle.cancel()


@process
async def reads_and_cancels(*args):
    await read_and_cancel(*args)


async def test_a_write_stands_however_many_are_ready_before_its_process():
    for n in (0, 1, MANY // 3 - 2, MANY // 3, MANY):
        for cancels in (read_and_cancel, reads_and_cancels):
            for times in (1, 2):
                writer, others = Writer(), Others(n)
                await writer.ready()
                await settle()
                await cancels(writer, others, times)
                while writer.ch.queue_len() or len(writer.log) < 2:
                    await sleep_ms(0)
                assert writer.stood(), (n, cancels, times, writer.log)


async def test_a_write_stands_that_is_cancelled_again_before_its_process_goes_on():
    writer, others = Writer(), Others(MANY)
    await writer.ready()
    await settle()

    async def again():
        while not writer.log:
            writer.handle.cancel()
            await asyncio.sleep(0)

    await others.wake()
    task = asyncio.create_task(again())
    assert await writer.ch.read() == 0
    writer.handle.cancel()
    await task
    await settle()
    assert writer.stood()


async def test_a_write_stands_in_what_a_cancelled_process_waits_for():
    ch = Channel("ch")
    log = []

    @process
    async def writes():
        log.append(await ch.write(0))
        await sleep_ms(60000)

    async def gathers():
        await gather(writes())

    @process
    async def cancels_itself():
        await sleep_ms(1)  # asyncio resumes it then
        assert await ch.read() == 0
        h.cancel()
        await task

    task = asyncio.create_task(gathers())
    h = Spawn(cancels_itself())
    with raises(CancelledError):
        await h.join()
    assert log == [0] and task.done()


async def test_a_process_that_ends_with_the_write_is_not_cancelled():
    ch = Channel("ch")
    h = Spawn(process(ch.write)(5))
    while not ch.queue_len():
        await sleep_ms(0)
    assert await ch.read() == 5
    h.cancel()
    assert await h.join() == 0


def test_an_interrupt_just_after_the_cancel_leaves_nothing_to_the_next_run():
    for n in (0, MANY):

        async def main():
            writer, others = Writer(), Others(n)
            await writer.ready()
            await settle()

            @process
            async def interrupts():
                await read_and_cancel(writer, others, 1)
                raise KeyboardInterrupt

            await interrupts()

        with raises(KeyboardInterrupt):
            run(main())
        assert run(stands_alone()) is True


def test_a_new_loop_knows_nothing_of_a_write_that_stood_in_another():
    async def main():
        writer = Writer()
        await writer.ready()
        await read_and_cancel(writer, Others(0), 1)
        raise KeyboardInterrupt

    with raises(KeyboardInterrupt):
        asyncio.run(main())
    renew_loop()
    assert run(stands_alone()) is True


async def stands_alone():
    writer = Writer()
    await writer.ready()
    await read_and_cancel(writer, Others(0), 1)
    await settle()
    return writer.stood()


if sys.implementation.name == "micropython":
    import micropython

    def test_who_asyncio_resumed_after_an_interrupt_is_not_resumed_again():
        kept = []

        @process
        async def interrupts(writer):
            await read_and_cancel(writer, Others(0), 1)
            raise KeyboardInterrupt

        async def main():
            kept.append(Writer(stubborn=True))
            await kept[0].ready()
            Spawn(interrupts(kept[0]))
            await sleep_ms(60000)

        async def goes_on():
            await settle()
            v = await kept[0].ch.read()
            await kept[0].handle.join()
            return v, kept[0].log

        try:
            with raises(KeyboardInterrupt):
                asyncio.run(main())
            assert asyncio.run(goes_on()) == (1, ["cancelled", 0])
        finally:
            renew_loop()

    def without_memory(writer):
        micropython.heap_lock()
        try:
            writer.handle.cancel()
            return False
        except MemoryError:
            return True
        finally:
            micropython.heap_unlock()

    async def test_a_cancel_that_finds_no_memory_changes_nothing():
        writer = Writer()
        await writer.ready()
        assert await writer.ch.read() == 0
        assert without_memory(writer)
        await settle()
        assert writer.log == [0] and await writer.ch.read() == 1
        await settle()
        assert writer.log == [0, 0] and await writer.handle.join() is None

    async def test_who_has_written_and_then_waits_for_nothing_is_cancelled_all_the_same():
        ch, after = Channel("ch"), Channel("after")
        log = []

        @process
        async def writes():
            log.append(await ch.write(0))
            await [1]  # from which nobody wakes it
            await after.read()

        h = Spawn(writes())
        await until(lambda: ch.queue_len())
        assert await ch.read() == 0
        h.cancel()
        await until(h.done)
        with raises(CancelledError):
            await h.join()
        assert log == [0] and after.queue_len() == 0
