"""Guards of the user's own: enable, disable, and schedule from any task or thread."""

import _thread

import csp

from rules_support import (
    LIB,
    POISONED,
    THREADS,
    Log,
    asyncio,
    block_ms,
    choose,
    idle,
    join,
    par,
    posted,
    raises,
    skip,
    ticks_diff,
    ticks_ms,
    until,
    waiting_readers,
    waiting_writers,
)


class Logged(csp.Guard):
    """Writes down what it is asked; ready as told."""

    def __init__(self, name, log, ready=False, value=None):
        self.name = name
        self.log = log
        self.ready = ready
        self.value = value
        self.alt = None

    def enable(self, alt):
        self.alt = alt
        self.log.add(("enable", self.name))
        return self.ready, self.value

    def disable(self, alt):
        assert alt is self.alt
        self.log.add(("disable", self.name))


async def test_a_ready_guard_is_chosen_with_its_value():
    log = Log()
    g = Logged("g", log, True, "value")
    assert await csp.Alternative(g).select() == (g, "value")
    assert log.items() == [("enable", "g")]


async def test_guards_are_enabled_in_their_order_until_one_is_ready():
    log = Log()
    gs = [Logged(i, log, i == 2, "v") for i in range(4)]
    assert await csp.Alternative(*gs).select() == (gs[2], "v")
    enabled = [i for what, i in log.items() if what == "enable"]
    assert enabled == [0, 1, 2]
    disabled = sorted(i for what, i in log.items() if what == "disable")
    assert disabled == [0, 1]


async def test_disable_is_called_once_for_each_guard_that_was_enabled_and_not_ready():
    log = Log()
    ch = csp.Channel("c")
    gs = [Logged(i, log) for i in range(3)]
    h = await posted(ch, choose(gs[0], gs[1], ch.read, gs[2]), 1)
    assert sorted(log.items()) == [("enable", 0), ("enable", 1), ("enable", 2)]
    await ch.write("v")
    assert await join(h) == (ch.read, "v")
    disabled = sorted(i for what, i in log.items() if what == "disable")
    assert disabled == [0, 1, 2]
    assert log.count() == 6


async def test_guards_are_enabled_and_disabled_again_at_each_select():
    log = Log()
    g = Logged("g", log)
    skip = csp.Skip()
    alt = csp.Alternative(g, skip)
    for _ in range(3):
        assert await alt.select() == (skip, None)
    assert log.items() == [("enable", "g"), ("disable", "g")] * 3


async def test_a_ready_channel_before_it_may_win_but_after_it_may_not():
    log = Log()
    ch = csp.Channel("c")
    g = Logged("g", log, True, "own")
    (h,) = await waiting_writers(ch, (1,))
    assert await csp.Alternative(g, ch.read).select() == (g, "own")
    assert ch.queue_len() == 1
    assert await csp.Alternative(ch.read, g).select() == (ch.read, 1)
    assert await join(h) == 0
    # The second time it was not enabled, as an earlier guard was ready.
    assert log.items() == [("enable", "g")]


async def test_schedule_chooses_the_guard_with_its_value():
    log = Log()
    ch = csp.Channel("c")
    g = Logged("g", log)
    other = Logged("other", log)
    h = await posted(ch, choose(other, ch.read, g), 1)
    assert g.alt.schedule(g, "now")
    assert await join(h) == (g, "now")
    assert idle(ch)
    assert log.items().count(("disable", "other")) == 1


async def test_schedule_is_false_for_what_is_a_channels_or_no_guard_of_it():
    log = Log()
    a, b = csp.Channel("a"), csp.BufferedChannel("b", 1)
    await b.write("full")
    g = Logged("g", log)
    w = b.write.alt_pending_write("lost")
    h = await posted(a, choose(a.read, g, w), 1)
    for other in (a.read, w, b.write, csp.Skip(), None):
        assert not g.alt.schedule(other, "wrong")
    assert (a.queue_len(), b.queue_len()) == (1, 2)
    await a.write("v")
    assert await join(h) == (a.read, "v")
    assert idle(a)
    assert await b.read() == "full" and idle(b)


async def test_schedule_is_false_when_the_alternative_is_decided_already():
    log = Log()
    ch = csp.Channel("c")
    g = Logged("g", log)
    h = await posted(ch, choose(ch.read, g), 1)
    assert g.alt.schedule(g, "first")
    assert not g.alt.schedule(g, "second")
    assert await join(h) == (g, "first")
    assert not g.alt.schedule(g, "third")
    h = await posted(ch, choose(ch.read, g), 1)
    await ch.write("from the channel")
    assert not g.alt.schedule(g, "too late")
    assert await join(h) == (ch.read, "from the channel")


async def test_schedule_is_false_when_the_alternative_is_not_waiting():
    log = Log()
    g = Logged("g", log)
    skip = csp.Skip()
    alt = csp.Alternative(g, skip)
    assert not alt.schedule(g, 1)
    assert await alt.select() == (skip, None)
    assert not alt.schedule(g, 1)
    assert await alt.select() == (skip, None)


async def test_schedule_after_poison_is_false():
    log = Log()
    ch = csp.Channel("c")
    g = Logged("g", log)
    h = await posted(ch, choose(g, ch.read), 1)
    ch.poison()
    assert not g.alt.schedule(g, 1)
    assert await join(h) == POISONED
    assert log.items() == [("enable", "g"), ("disable", "g")]


async def test_schedule_withdraws_the_offers_on_channels():
    log = Log()
    a = csp.Channel("a")
    b = csp.Channel("b")
    g = Logged("g", log)
    h = await posted(b, choose(a.read, g, b.write.alt_pending_write(1)), 1)
    assert g.alt.schedule(g, "v")
    assert idle(a, b)
    assert await join(h) == (g, "v")


async def test_schedule_from_another_thread_wakes_the_select():
    log = Log()
    for i in range(20):
        g = Logged("g", log)
        h = csp.Spawn(choose(g))
        await until(lambda: g.alt is not None)
        in_thread(g, i)
        assert await join(h) == (g, i)


def in_thread(guard, value, delay_ms=0):
    def schedule_when_waiting():
        if delay_ms:
            block_ms(delay_ms)
        while not guard.alt.schedule(guard, value):
            block_ms(1)

    _thread.start_new_thread(schedule_when_waiting, ())


async def test_schedule_from_another_thread_wakes_a_library_with_nothing_else_to_do():
    log = Log()
    g = Logged("g", log)
    start = ticks_ms()
    chosen = await par(starts_thread_then_selects(g))
    assert chosen == [(g, "woken")]
    assert ticks_diff(ticks_ms(), start) < 30000


@csp.process
async def starts_thread_then_selects(g):
    def wait_then_schedule():
        while g.alt is None:
            block_ms(1)
        block_ms(100)
        while not g.alt.schedule(g, "woken"):
            block_ms(1)

    _thread.start_new_thread(wait_then_schedule, ())
    return await csp.Alternative(g).select()


class Button(csp.Guard):
    """As many write one: it has an alternative as long as somebody waits for it."""

    alt = None

    def enable(self, alt):
        assert alt
        self.alt = alt
        return False, None

    def disable(self, alt):
        assert alt
        self.alt = None

    def press(self):
        return bool(self.alt) and self.alt.schedule(self, "pressed")


async def test_an_alternative_is_true_for_who_asks_before_it_schedules():
    button = Button()
    c = csp.Channel("c")
    for others in ((), (csp.Timer(seconds=60),), (c.read, csp.Timer(seconds=60), c.read)):
        for alt in (csp.Alternative(button, *others), csp.Alternative(*others + (button,))):
            for _ in range(2):
                assert alt
                h = csp.Spawn(selects(alt))
                await until(lambda: button.alt is not None)
                assert button.press()
                assert await join(h) == (button, "pressed")
                assert alt and not button.press()
            await pressed_by_a_thread(button, alt)
    assert csp.Parallel(c.read)


async def pressed_by_a_thread(button, alt):
    def press():
        while not button.press():
            block_ms(1)

    h = csp.Spawn(selects(alt))
    _thread.start_new_thread(press, ())
    assert await join(h) == (button, "pressed")


@csp.process
async def selects(alt):
    return await alt.select()


async def test_schedule_during_enabling_is_not_lost():
    # The guard's event happens in a thread as soon as the guard has been enabled, and only once.
    for i in range(30):
        g = Once(i)
        assert await csp.Alternative(g, csp.Timer(ms=60000)).select() == (g, i)


class Once(csp.Guard):
    def __init__(self, value):
        self.value = value

    def enable(self, alt):
        _thread.start_new_thread(alt.schedule, (self, self.value))
        return False, None

    def disable(self, alt):
        pass


async def test_schedule_races_with_channels_and_exactly_one_wins():
    log = Log()
    a = csp.Channel("a")
    got_value = 0
    for i in range(60):
        g = Logged("g", log)
        h = await posted(a, choose(a.read, g), 1)
        result = Log()
        _thread.start_new_thread(schedule_and_tell, (g, result))
        guard = a.write.alt_pending_write(i)
        skip = csp.Skip()
        chosen, _none = await csp.Alternative(guard, skip).select()
        await until(lambda: result.count() == 1)
        (scheduled,) = result.items()
        if chosen is guard:
            got_value += 1
            assert not scheduled
            assert await join(h) == (a.read, i)
        else:
            await until(lambda: h.done())
            assert scheduled
            assert await join(h) == (g, "scheduled")
        assert idle(a)


def schedule_and_tell(guard, result):
    result.add(guard.alt.schedule(guard, "scheduled"))


class Happening(csp.Guard):
    """While it is enabled another party is set going; its enable does not wait for that party."""

    def __init__(self, happen):
        self.happen = happen

    def enable(self, alt):
        self.happen()
        return False, None

    def disable(self, alt):
        pass


class Starter:
    """Starts a function that acts as soon as the library lets it."""

    def __init__(self, act):
        self.act = act
        self.task = None

    def __call__(self):
        if LIB == "uapycsp":
            self.task = asyncio.get_event_loop().create_task(self.later())
        else:
            self.start()

    def start(self):
        _thread.start_new_thread(self.act, ())

    if LIB == "uapycsp":

        async def later(self):
            self.act()


async def test_poison_during_enabling_ends_the_select():
    # The guard that sets it going stands before, and after, the channel that is poisoned.
    for place in range(2):
        for _ in range(10):
            a = csp.Channel("a")
            b = csp.Channel("b")
            happening = Happening(Starter(a.poison))
            guards = [a.read, b.write.alt_pending_write(1)]
            guards.insert(place, happening)
            with raises(csp.PoisonException):
                await csp.Alternative(*guards).select()
            assert idle(a, b)
            assert a.poisoned and not b.poisoned


async def test_close_during_enabling_ends_the_select():
    for _ in range(10):
        a = csp.Channel("a")
        b = csp.Channel("b")
        happening = Happening(Starter(a.close))
        with raises(csp.PoisonException):
            await csp.Alternative(b.read, happening, a.read).select()
        assert idle(a, b)


async def test_poison_during_enabling_does_not_spoil_a_ready_guard_before_it():
    for _ in range(10):
        a = csp.Channel("a")
        b = csp.Channel("b")
        (h,) = await waiting_readers(b, 1)
        happening = Happening(Starter(a.poison))
        guard = b.write.alt_pending_write("v")
        assert await csp.Alternative(guard, happening, a.read).select() == (guard, 0)
        assert await join(h) == "v"


async def test_an_exception_in_enable_comes_out_and_leaves_nothing_posted():
    a = csp.Channel("a")
    log = Log()
    first = Logged("first", log)
    with raises(KeyError):
        await csp.Alternative(first, a.read, Failing()).select()
    assert idle(a)
    assert log.items() == [("enable", "first"), ("disable", "first")]
    (h,) = await waiting_readers(a, 1)
    await a.write(1)
    assert await join(h) == 1


class Failing(csp.Guard):
    def enable(self, alt):
        raise KeyError("in enable")

    def disable(self, alt):
        pass


class Refusing(Logged):
    """Raises when it is disabled."""

    def disable(self, alt):
        super().disable(alt)
        raise ValueError(self.name)


@csp.process
async def chooses_with_refusing(guards, log):
    try:
        await csp.Alternative(*guards).select()
    except ValueError as e:
        log.add(e.args[0])


async def test_an_exception_in_disable_comes_out_and_loses_no_message():
    for outer in (False, True):  # whether the writer comes while the alternative waits
        log = Log()
        ch = csp.Channel("c")
        g = Refusing("g", log)
        last = Logged("last", log)
        if outer:
            h = await posted(ch, chooses_with_refusing([last, g, ch.read], log), 1)
            await ch.write("v")
        else:
            (w,) = await waiting_writers(ch, ("v",))
            h = csp.Spawn(chooses_with_refusing([last, g, ch.read], log))
        await join(h)
        assert log.items()[-1] == "g", log.items()
        assert log.items().count(("disable", "last")) == 1
        assert await ch.read() == "v"
        assert not last.alt.schedule(last, 1)
        if not outer:
            await join(w)
        assert idle(ch)


async def test_an_alternative_is_usable_after_a_guard_refused():
    log = Log()
    ch = csp.Channel("c")
    g = Refusing("g", log)
    alt = csp.Alternative(g, ch.read, csp.Timer(ms=1))
    for _ in range(3):
        with raises(ValueError):
            await alt.select()
    g.ready = True
    assert await alt.select() == (g, None)
    assert idle(ch)


async def test_fair_select_uses_users_guards_too():
    log = Log()
    gs = [Logged(i, log, True, i) for i in range(3)]
    alt = csp.Alternative(*gs)
    values = []
    for _ in range(6):
        g, v = await alt.fair_select()
        assert gs[v] is g
        values.append(v)
    assert sorted(values[:3]) == [0, 1, 2] and values[3:] == values[:3]


async def test_who_always_finds_a_guard_of_its_own_ready_lets_others_run():
    if THREADS:
        skip("threads need nobody's leave")
    log = Log()
    g = Logged("g", Log(), True, "value")
    alt = csp.Alternative(g)
    for select in (alt.select, alt.fair_select):
        for _ in range(3):  # and does not forget to
            n = log.count()
            h = csp.Spawn(notes(log))
            selections = 0
            while log.count() == n:
                assert await select() == (g, "value")
                selections += 1
                assert selections < 1000
            await join(h)


async def test_who_never_waits_in_its_parallels_lets_others_run():
    if THREADS:
        skip("threads need nobody's leave")
    log = Log()
    a = csp.BufferedChannel("a", 5, "keep_newest")
    b = csp.BufferedChannel("b", 5, "keep_newest")

    async def writes_guards(i):
        await csp.Parallel(a.write.alt_pending_write(i), b.write.alt_pending_write(i))

    async def writes(i):
        await csp.Parallel(a.write(i), b.write(i))

    async def copies(i):
        await a.write(i)
        await csp.Parallel(a.read, b.write.alt_pending_write(i))

    for once in (writes_guards, writes, copies):
        for _ in range(3):
            n = log.count()
            h = csp.Spawn(notes(log))
            rounds = 0
            while log.count() == n:
                await once(rounds)
                rounds += 1
                assert rounds < 1000
            await join(h)


@csp.process
async def notes(log):
    log.add("here")


async def test_the_guards_of_the_library_are_guards():
    assert isinstance(csp.Skip(), csp.Guard)
    assert isinstance(csp.Timer(1), csp.Guard)


async def test_a_guard_with_a_poisoned_channel_behind_it_is_chosen_first():
    log = Log()
    ch = csp.Channel("c")
    ch.poison()
    g = Logged("g", log, True, 1)
    assert await csp.Alternative(g, ch.read).select() == (g, 1)
    g.ready = False
    with raises(csp.PoisonException):
        await csp.Alternative(g, ch.read).select()
    assert log.items() == [("enable", "g"), ("enable", "g"), ("disable", "g")]
