"""Faults that the exploration has to find: edits of the library's text, made while it is loaded.

    FAULTS[name] = (a program that shows it, module, text, what stands there instead)

A text that is not there exactly once is an error: the fault is to be written anew then. Those in
LINES need points between the lines of the library, too, where no lock is touched.
"""

import importlib.abc
import importlib.machinery
import sys

CHANNEL = "upycsp.channel"
CORE = "cspcore.channel"
CHOICE = "cspcore.choice"
BUFFERED = "cspcore.buffered"
LIFE = "cspcore.life"
POOL = "cspcore.pool"
COUNTED = "upycsp.counted"
ALTERNATIVE = "upycsp.alternative"
PROCESS = "upycsp.process"
WAIT = "upycsp.wait"
WATCH = "upycsp.watch"
KEPT = "uthreading.kept"
MEETING = "cspcore.meeting"
EXTENDED = "upycsp.extended"
WAITING = "uthreading.waiting"
SYNC = "uthreading.sync"
VIRTUAL = "upycsp.virtual"
WITHIN = "upycsp.within"
CALLS = "cspcore.calls"

FAULTS = {
    "what is in time is late": (
        "within",
        WITHIN,
        "        if g is guard:\n            return v\n",
        "        if g is timer:\n            return v\n",
    ),
    "a channel is less immune than it says": (
        "immune_channel",
        LIFE,
        "            if strength <= self.immunity:\n",
        "            if strength < self.immunity:\n",
    ),
    "softer poison softens": (
        "the_harder_poison_counts",
        LIFE,
        "        elif self.cause is not None and (cause is None or cause > self.cause):\n",
        "        else:\n",
    ),
    "the end of a process is not told": (
        "ended",
        "upycsp.guards",
        "        if alt is not None and alt.schedule(self):\n",
        "        if False:\n",
    ),
    "a guard that is hidden takes part": (
        "masked",
        "cspcore.masked",
        "            offers[i] = HIDDEN\n",
        "            pass\n",
    ),
    "a call that was given back is linked twice": (
        "server_interrupted_woken",
        CALLS,
        "        if not request.taken:\n",
        "        if True:\n",
    ),
    "a bucket lets one go": (
        "bucket",
        MEETING,
        "        pair[1] = self.release_all()\n",
        "        pair[1] = self._writers and self.release(self._writers, None)\n",
    ),
    "an interrupted party is still counted": (
        "barrier_interrupted_asleep",
        MEETING,
        "        self._writers = unlink(self._writers, offer)\n        self._waiting -= 1\n",
        "        self._writers = unlink(self._writers, offer)\n",
    ),
    "pmap mixes its results": (
        "mapped",
        POOL,
        "                results[k] = v\n",
        "                results[-k] = v\n",
    ),
    "a read within some time without the lock": (
        "within",
        WITHIN,
        "    with lock:\n        if ch.isr:\n            ch.drain()\n        ready = ch._writers",
        "    if True:\n        if ch.isr:\n            ch.drain()\n        ready = ch._writers",
    ),
    "who waits for a channel's end is not told": (
        "closed_is_told_close",
        LIFE,
        "        return chain if self.watch is None else self.watch.ring(chain)\n",
        "        return chain\n",
    ),
    "a farm writes what is done first": (
        "farm_well",
        POOL,
        "            if not ordered:\n",
        "            if True:\n",
    ),
    "a wake reaches only who sleeps already": (
        "pair",
        WAIT,
        "        self.wake = bolt.release  #",
        "        self.wake = bolt.release_sleeper  #",
    ),
    "next is cleared after the wake": (
        "ends_and_goes_on_channel",
        WAIT,
        "        party.next = None  # before it is woken: then the offer is its thread's again\n"
        "        party.wake()\n",
        "        party.wake()\n        party.next = None\n",
    ),
    "an end lends one thread's offer to another": (
        "two_readers",
        CHANNEL,
        "                if o.ident != get_ident():\n"
        "                    o = self._remember()\n"
        "                o.channel = x\n",
        "                if o.ident is None:\n"
        "                    o = self._remember()\n"
        "                o.channel = x\n",
    ),
    "a value stays in an offer": (
        "interrupted_write_asleep",
        WAIT,
        "            value = self.value\n            self.value = WAITING\n",
        "            value = self.value\n",
    ),
    "who meets an extended read goes on": (
        "held_plain",
        EXTENDED,
        "        self._me.wake()\n        if me is None:\n            return\n",
        "        self._me.wake()\n        return\n",
    ),
    "poison of an extended read holds who poisons": (
        "held_and_poison",
        CORE,
        "        elif offer.alt is offer:\n            party = offer.alone()\n",
        "",
    ),
    "who is interrupted in an extended read keeps its writer": (
        "held_by_one_who_is_interrupted_woken",
        EXTENDED,
        "                    writer = self.hold.release()\n",
        "                    pass\n",
    ),
    "the losers of a choice stay": (
        "select_beside_a_reader",
        CHOICE,
        "        for o in self._offers:  # as withdraw: a thread's stack may be short\n",
        "        for o in ():\n",
    ),
    "select takes the last of the ready guards": (
        "select_of_two_writers",
        CHOICE,
        "            if ch._writers is not None:\n                return i\n"
        "            i += 1\n        return -1\n",
        "            if ch._writers is not None:\n                start = i + 1\n"
        "            i += 1\n        return start - 1\n",
    ),
    "select looks and posts in two steps": (
        "select_of_two_writers",
        ALTERNATIVE,
        "            self._me = me = own()\n            if self._limit is not None:\n",
        "            self._me = me = own()\n"
        "            lock.release()\n            lock.acquire()\n"
        "            if self._limit is not None:\n",
    ),
    "fair_select is not fair": (
        "fair_selects",
        ALTERNATIVE,
        "i = self.poll(fair)",
        "i = self.poll(False)",
    ),
    "a stack instead of a queue": (
        "two_writers",
        CORE,
        "    last = last_of(head)\n    last.next = None  # as",
        "    offer.next = head\n    head.prev = offer\n    return offer\n"
        "    last = last_of(head)\n    last.next = None  # as",
    ),
    "poison undoes a pairing": (
        "ends_beside_a_pair_channel",
        CHANNEL,
        "            x = o.value\n            o.value = WAITING\n            if x is POISON:\n",
        "            x = o.value\n            o.value = WAITING\n"
        "            if x is POISON or o.channel.poisoned:\n",
    ),
    "poison forgets waiting writers": (
        "ends_beside_a_pair_read",
        CORE,
        "                chain = self._end_offer(o, chain)\n",
        "                self.withdraw(o)\n",
    ),
    "close poisons waiting writers": (
        "ends_in_a_crowd_close",
        CHANNEL,
        "            chain = self.end_close()\n",
        "            chain = self.end_writing()\n",
    ),
    "a buffer has one place more": (
        "buffer_of_1",
        BUFFERED,
        "room = self._limit is None or self._count < self._limit",
        "room = self._limit is None or self._count <= self._limit",
    ),
    "a write end's poison drops the buffer": (
        "buffer_ends_of_2_write",
        CHANNEL,
        "            chain = None if ch.resists(strength) else ch.end_writing()\n",
        "            chain = None if ch.resists(strength) else ch.end_all()\n",
    ),
    "a paired value is lost by an interrupt": (
        "interrupted_select_asleep",
        ALTERNATIVE,
        "                    party = o.channel.give_back(Given(o.channel, READ), v)\n",
        "                    pass\n",
    ),
    "an interrupted offer stays": (
        "interrupted_write_asleep",
        WAIT,
        "                self.channel.withdraw(self)\n                return\n",
        "                return\n",
    ),
    "an interrupted thread waits for a wake it has had": (
        "interrupted_read_woken",
        WAIT,
        "            self.retire()\n        if party is not None:\n",
        "        self.wait()\n        if party is not None:\n",
    ),
    "a barrier lets two go where three are needed": (
        "barrier_rounds",
        MEETING,
        "self._waiting + 1 >= self.parties",
        "self._waiting + 2 >= self.parties",
    ),
    "who chose another guard is still counted at a barrier": (
        "alting_ring_once",
        MEETING,
        "        self._writers = None\n        self.table.changed(-1)\n",
        "        self._writers = None\n        self.table.waiting -= 1\n",
    ),
    "a resignation completes nothing": (
        "alting_and_one_who_resigns",
        MEETING,
        "        return table.complete() if table.waiting == len(table.seats) else None\n",
        "        return None\n",
    ),
    "an ended seat is opened again": (
        "alting_and_poison",
        MEETING,
        "        self.look()  # now:",
        "        #",
    ),
    "a server's poison forgets the calls it took": (
        "a_server_that_dies",
        CALLS,
        "            self._open = link(self._open, request)\n",
        "            pass\n",
    ),
    "a Parallel ends with its first operation": (
        "parallel_reads",
        "cspcore.group",
        "        return None if left else self.party()\n",
        "        return self.party()\n",
    ),
    "join looks before it locks": (
        "spawn_and_join_blocks",
        PROCESS,
        "        with lock:\n            me = None if self._ended else own()",
        "        ended = self._ended\n        with lock:\n"
        "            me = None if ended else own()",
    ),
    "a dying process poisons nothing": (
        "failure_beside_a_neighbour_blocks",
        "cspcore.process",
        "        if self._propagate and self._args is not None:\n",
        "        if False:\n",
    ),
    "the watchdog overlooks timers": (
        "no_deadlock_while_a_timer_runs",
        WATCH,
        "    if isinstance(on, Choice) and on.hears_others():\n",
        "    if False:\n",
    ),
    "the watchdog overlooks threads": (
        "no_deadlock_where_others_write_by_a_thread",
        WATCH,
        "    if not _all_wait() or _threads_run():\n",
        "    if not _all_wait():\n",
    ),
    "the watchdog sees nothing": (
        "deadlock_blocks",
        WATCH,
        "        chain = _find_deadlock() if _runs else None\n",
        "        chain = None\n",
    ),
    "a kept thread is woken before it has its job": (
        "threads_started_by_two",
        KEPT,
        "            w.below = None\n            w.job = fn\n            w.after = after\n"
        "            w.bolt.release()\n            return\n    _grow(fn, after)\n",
        "            w.below = None\n            w.bolt.release()\n    if w is None:\n"
        "        _grow(fn, after)\n    else:\n        w.job = fn\n        w.after = after\n",
    ),
    "a timeout opens the bolt of one who was granted": (
        "event_with_a_timeout",
        WAITING,
        "        if self.leave():\n            self.bolt.release()\n",
        "        self.leave()\n        self.bolt.release()\n",
    ),
    "an event looks before it locks": (
        "event_set_while_two_wait",
        SYNC,
        "        with self._queue.mutex:\n            if self._flag:\n"
        "                return True\n",
        "        if self._flag:\n            return True\n        with self._queue.mutex:\n",
    ),
    "a condition lets go before it queues": (
        "condition_queue",
        SYNC,
        "waiter = self._queue.enter()\n        if limited:\n",
        "saved = self._let_go()\n            self._take_back(saved)\n"
        "            waiter = self._queue.enter()\n        if limited:\n",
    ),
    "a release both hands over and frees": (
        "exclusion_by_lock",
        "uthreading.lock",
        "                n -= 1\n",
        "                pass\n",
    ),
    "a write without the lock": (
        "pair",
        CHANNEL,
        "        with lock:\n            o = self._channel._readers\n",
        "        if True:\n            o = self._channel._readers\n",
    ),
    "a read without the lock": (
        "two_readers",
        CHANNEL,
        "        with lock:\n            o = x._writers\n",
        "        if True:\n            o = x._writers\n",
    ),
    "poison without the lock": (
        "ends_beside_a_pair_channel",
        CHANNEL,
        "        with lock:\n            chain = None if self.resists(strength) else self.",
        "        if True:\n            chain = None if self.resists(strength) else self.",
    ),
    "a Parallel counts without the lock": (
        "run_one",
        PROCESS,
        "        with lock:\n            self.left -= 1\n",
        "        if True:\n            self.left -= 1\n",
    ),
    "an end retires without the lock": (
        "writers_retire_of_0",
        COUNTED,
        "        with lock:\n            chain = self._channel.retire()\n",
        "        if True:\n            chain = self._channel.retire()\n",
    ),
    "the last writer that retires drops the buffer": (
        "writers_retire_of_1",
        LIFE,
        "chain = ch.end_close()",
        "chain = ch.end_all()",
    ),
    "the first reader that retires ends the channel": (
        "readers_retire_of_0",
        LIFE,
        "            if life.readers == 1:\n",
        "            if life.readers:\n",
    ),
    "in virtual time two have a turn": (
        "virtual_network",
        VIRTUAL,
        "            if not turns.out:\n                turns.give()\n",
        "            turns.give()\n",
    ),
    "the clock jumps while somebody has a turn": (
        "virtual_timers",
        VIRTUAL,
        "                if self.out or self.over or self.give():\n",
        "                if self.over or self.give():\n",
    ),
    "who lines up while the clock looks is forgotten": (
        "virtual_beside_a_thread",
        VIRTUAL,
        "            if rests and not rang:\n",
        "            if not rang:\n",
    ),
    "who has no turn at the end never has one": (
        "virtual_with_a_rest",
        VIRTUAL,
        "            while self.give():\n                pass\n",
        "            pass\n",
    ),
    "alarms of virtual time are forgotten at its end": (
        "virtual_with_a_rest",
        VIRTUAL,
        "                turns.alarms[0].go_on(now)\n",
        "                pass\n",
    ),
    "a full buffer keeps the wrong value": (
        "overflow_keep_oldest",
        BUFFERED,
        "                return\n            else:\n                self._popleft()\n",
        "                self._popleft()\n            else:\n                return\n",
    ),
}

LINES = (
    "a read within some time without the lock",
    "a write without the lock",
    "a read without the lock",
    "poison without the lock",
    "a Parallel counts without the lock",
    "an end retires without the lock",
)


class _Loader(importlib.machinery.SourceFileLoader):
    edit = None

    def get_code(self, fullname):
        text, instead = self.edit
        source = self.get_source(fullname)
        if source.count(text) != 1:
            raise AssertionError("%s: the text of the fault is not there once" % fullname)
        return compile(source.replace(text, instead), self.path, "exec")


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, module, edit):
        self.module = module
        self.edit = edit

    def find_spec(self, name, path, target=None):
        if name != self.module:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        spec.loader = _Loader(name, spec.loader.path)
        spec.loader.edit = self.edit
        return spec


def seed(name):
    """Put a fault into what is loaded from now on."""
    _, module, text, instead = FAULTS[name]
    sys.meta_path.insert(0, _Finder(module, (text, instead)))
