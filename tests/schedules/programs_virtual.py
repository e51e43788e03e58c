"""Programs of CSP processes in virtual time: whatever the threads do, they do the same."""

import upycsp
from schedules.programs import family, program
from schedules.programs_processes import raised
from schedules.world import kept, scheduler, virtual, watch
from upycsp import DeadlockError, Spawn, run


def sleep(ms):
    upycsp.Alternative(upycsp.Timer(ms=ms)).select()


def sleeper(w, clock, log, name, *times):
    def body(p):
        for ms in times:
            sleep(ms)
            log.append((clock.now_ms(), name))

    return w.process(name, body)


def new_clock():
    watch._watches = True  # nobody helps: no watchdog is started
    return virtual.VirtualClock()


def expect_real_time(w):
    w.expect(virtual._turns is None, "turns are left")
    usual = virtual.Process.start is virtual._start
    w.expect(usual and virtual.timers.engine.ticks_ms is virtual.ticks_ms, "real time is not back")


@program(bound=0, chance=400)
def virtual_timers(w):
    clock, log = virtual.VirtualClock(), []

    def main():
        run(sleeper(w, clock, log, "a", 3, 3), sleeper(w, clock, log, "b", 2, 2, 2), clock=clock)
        wanted = [(2, "b"), (3, "a"), (4, "b"), (6, "a"), (6, "b")]
        w.expect(log == wanted, "another order: %r" % log)
        expect_real_time(w)

    w.main(main)


@program(chance=400)
def virtual_network(w):
    # Who meets whom is the same each time, too.
    clock, log = new_clock(), []
    w.channel("a")

    def writes(name, ms):
        def body(p):
            sleep(ms)
            p.write("a", name + "1")
            p.write("a", name + "2")

        return w.process(name, body, [("write", "a")])

    def reads(name):
        def body(p):
            for _ in range(2):
                log.append(name + p.read("a"))

        return w.process(name, body, [("read", "a")])

    def main():
        run(writes("v", 1), reads("q"), writes("w", 1), reads("r"), clock=clock)
        w.expect(log == ["qv1", "rv2", "qw1", "rw2"], "another order: %r" % log)
        w.expect(clock.now_ms() == 1, "%d ms" % clock.now_ms())
        expect_real_time(w)

    w.main(main)


@program(bound=0, chance=400)
def virtual_deadlock(w):
    clock, log = new_clock(), []
    w.channel("a")
    w.poisoned_by("watchdog", "a")

    def main():
        stuck = w.process("r", lambda p: p.read("a"), [("read", "a")])
        sleeps = sleeper(w, clock, log, "s", 70)
        er = raised(DeadlockError, lambda: run(stuck, sleeps, clock=clock))
        w.expect(str(er) == "1 process waits: r reads a", "told: %s" % er)
        w.expect(log == [(70, "s")], "when: %r" % log)
        expect_real_time(w)

    w.main(main)


@program(bound=0, chance=400)
def virtual_beside_a_thread(w):
    # A thread that is no process takes no turns.
    clock, log = new_clock(), []
    w.channel("a", external=True)
    w.thread("w", lambda p: p.write("a", 1))

    def main():
        reader = w.process("r", lambda p: p.read("a"), [("read", "a")])
        got = run(reader, sleeper(w, clock, log, "s", 5), clock=clock)
        w.expect(got == [1, None] and log == [(5, "s")], "wrong results")
        expect_real_time(w)

    w.main(main)


@program(chance=400)
def virtual_with_a_rest(w):
    # What is left of the run goes on in real time.
    clock, ended = virtual.VirtualClock(), []
    w.channel("a")
    w.channel("b")

    def left(p):
        sleep(9)
        p.read("a")
        sleep(2)
        ended.append(clock.now_ms())

    def starts(p):
        for name in "uv":
            Spawn(w.process(name, left, [("read", "a")]))
        sleep(7)

    def main():
        run(w.process("s", starts), clock=clock)
        expect_real_time(w)
        p = w.actor("main")
        p.write("a", 1)
        p.write("a", 2)

    w.main(main)
    w.must_end()
    w.at_end(lambda: w.expect(ended == [7, 7] and scheduler.now >= 4, "ended: %r" % ended))


@family([("asleep", (False,)), ("woken", (True,))], chance=400)
def virtual_interrupted(w, late):
    clock = virtual.VirtualClock()
    w.channel("a", external=True)
    w.poisoned_by("interrupt", "a")
    told = []

    def main():
        readers = [w.process(name, lambda p: p.read("a"), [("read", "a")]) for name in "qr"]
        try:
            told.append(run(*readers, clock=clock))
        except KeyboardInterrupt as er:
            told.append(er)
        expect_real_time(w)
        w.expect(run(w.process("x", lambda p: 5), clock=clock) == 5, "wrong value later")
        expect_real_time(w)

    def interrupts(p):
        # The reader waits till then.
        while not told and not w.interrupt("main"):
            kept.sleep_ms(1)

    def interrupts_late(p):
        ch = w.channels["a"]
        while not ch.poisoned:
            if ch.queue_len():
                ch.poison()
            kept.sleep_ms(1)
        for _ in range(4):
            if not told and w.interrupt("main", True):
                return
            kept.sleep_ms(1)

    w.main(main)
    w.thread("i", interrupts_late if late else interrupts)
