"""Faults to be planted in the library, and programs whose exploration must find each.

Each function plants one and returns what takes it out again. Runs in MicroPython, too.
"""

import sys

import cspcore.channel
import cspcore.process
from cspcore.channel import GIVEN, POISON, READ, TAKEN, WAITING, BaseChannel, last_of, link
from cspcore.buffered import BaseBufferedChannel
from cspcore.calls import Calls, Request
from cspcore.choice import Choice
from cspcore.life import Life, Share
from cspcore.meeting import Drops, Rounds, Seat, Table
from tasks_noted import Alternative, CancelledError, csp, engine
from uapycsp import extended, pool
from uapycsp.guards import Ended
from uapycsp.wait import Waiting, coroutine

channel = sys.modules["uapycsp.channel"]
process = sys.modules["uapycsp.process"]
within = sys.modules["uapycsp.within"]


def put(where, name, value):
    """Replace an attribute; returns what puts the old one back."""
    old = getattr(where, name)
    setattr(where, name, value)
    return lambda: setattr(where, name, old)


def loser_not_withdrawn():
    def paired(self, offer):
        self._chosen = offer.index
        self.waits = False
        offer.channel.withdraw(offer)
        return self.party()

    return put(Choice, "paired", paired)


def cancelled_not_withdrawn():
    old = Waiting.cancelled

    def cancelled(self):
        if self.op <= READ + 1 and self.value is not POISON:
            if (self.value is WAITING) if self.op == READ else (self.value is not TAKEN):
                return False
        return old(self)

    return put(Waiting, "cancelled", cancelled)


def give_back_dropped():
    return put(BaseChannel, "give_back", lambda self, offer, value: None)


def give_back_behind_the_writers():
    def give_back(self, offer, value):
        if self._writers is not None and self._writers.op == READ + 1:
            offer.op = GIVEN
            offer.alt = None
            offer.value = value
            self._writers = link(self._writers, offer)
            return None
        return old(self, offer, value)

    old = BaseChannel.give_back
    return put(BaseChannel, "give_back", give_back)


def give_back_passes_readers_by():
    def give_back(self, offer, value):
        readers = self._readers
        if readers is None or readers is cspcore.channel.DEAD:
            return old(self, offer, value)
        self._readers = None
        try:
            return old(self, offer, value)
        finally:
            self._readers = readers

    old = BaseChannel.give_back
    return put(BaseChannel, "give_back", give_back)


def given_back_in_the_order_of_cancels():
    def insert(head, offer):
        if head is not None and head.op == GIVEN and head is last_of(head):
            offer.seq = head.seq + 1
        return old(head, offer)

    old = cspcore.channel.insert_given
    return put(cspcore.channel, "insert_given", insert)


def cancel_later_forgotten():
    return put(engine, "cancel_later", lambda: None)


def write_raises_though_it_has_happened():
    def cancel_now():
        raise CancelledError

    return put(engine, "cancel_later", cancel_now)


def only_the_first_is_woken():
    def wake_chain(party):
        if party is not None:
            engine.wake(party)

    return put(channel, "wake_chain", wake_chain)


def close_ends_writers():
    return put(BaseChannel, "end_close", BaseChannel.end_writing)


def poison_takes_back_what_was_paired():
    old = channel.ReadEnd.csp_read

    @coroutine
    def read(self):
        v = yield from old(self)
        if self._channel.poisoned:
            raise csp.PoisonException
        return v

    return put(channel.ReadEnd, "__call__", read)


def fair_select_is_not_fair():
    def poll(self, fair):
        return old(self, False)

    old = Choice.poll
    return put(Choice, "poll", poll)


def timer_not_disarmed():
    return put(engine, "unlimit", lambda parked: None)


def children_not_cancelled():
    return put(process.Process, "cancel", lambda self: None)


def parallel_gives_nothing_back():
    def cancelled(self):
        for m in self.members:
            o = process._offer_of(m)
            if o is not None and o.alt is None:
                o.value = POISON
        return old(self)

    old = csp.Parallel.cancelled
    return put(csp.Parallel, "cancelled", cancelled)


def end_not_propagated():
    return put(process.Process, "die", lambda self, er: er)


def held_writer_let_go_at_once():
    return put(extended._Hold, "keep", lambda self, party: engine.wake(party))


def writer_that_meets_an_extended_read_goes_on():
    def paired(self, offer):
        engine.wake(self.alone())

    return put(extended.Extended, "paired", paired)


def cancelled_extended_read_drops_its_value():
    def cancelled(self):
        if self.value is WAITING:
            return old(self)
        self._let_go()
        return True

    old = extended.Extended.cancelled
    return put(extended.Extended, "cancelled", cancelled)


def one_retires_for_all():
    def retire(self):
        if not self.retired:
            life = self.real._life
            life.readers = min(life.readers, 1)
            life.writers = min(life.writers, 1)
        return old(self)

    old = Share.retire
    return put(Share, "retire", retire)


def retirement_wakes_nobody():
    def retire(self):
        old(self)

    old = Share.retire
    return put(Share, "retire", retire)


def barrier_opens_early():
    def look(self):
        self._waiting += 1
        old(self)
        self._waiting -= 1

    old = Rounds._look
    return put(Rounds, "_look", look)


def resignation_completes_nothing():
    def resign(self):
        old(self)

    old = Rounds.resign
    return put(Rounds, "resign", resign)


def one_is_flushed():
    def flush(self):
        if self._writers is None:
            return old(self)
        return [1, self.release(self._writers, None)]

    old = Drops.flush
    return put(Drops, "flush", flush)


def alting_barrier_opens_early():
    def look(self):
        self.waiting += 1
        old(self)
        self.waiting -= 1

    old = Table.look
    return put(Table, "look", look)


def who_has_chosen_another_guard_is_counted():
    def withdraw(self, offer):
        self._writers = None

    return put(Seat, "withdraw", withdraw)


def poison_forgets_the_calls_that_were_taken():
    return put(Calls, "_end_readers", BaseChannel._end_readers)


def an_early_answer_is_lost():
    return put(Request, "take", lambda self: (None, None))


def hidden_guards_are_chosen():
    return put(Choice, "mask", lambda self, ready: None)


def what_is_in_time_is_late():
    @coroutine
    def wait(guard, timer):
        yield from Alternative(guard, timer).select()
        raise engine.TimeoutError

    return put(within, "_wait", wait)


def a_full_buffer_keeps_the_wrong_value():
    def append(self, value):
        if self._limit is None or self._count < len(self._ring):
            old(self, value)
        elif self.overflow == "keep_newest":
            return
        else:
            self._popleft()
            old(self, value)

    old = BaseBufferedChannel._append
    return put(BaseBufferedChannel, "_append", append)


def poison_acts_on_what_is_immune():
    def resists(self, channel, strength):
        channel._life = self
        self.note(channel, strength)
        return False

    return put(Life, "resists", resists)


def later_poison_softens():
    def note(self, channel, cause):
        self.cause = cause

    return put(Life, "note", note)


def a_process_poisons_harder_than_it_was():
    return put(cspcore.process, "strength_of", lambda er: None)


def who_waits_for_an_end_is_not_told():
    return put(Life, "ring", lambda self, chain: chain)


def the_end_of_a_process_is_not_told():
    return put(Ended, "tell", lambda self: None)


def an_end_works_on_when_it_has_retired():
    return put(Share, "__getattr__", lambda self, name: getattr(self.real, name))


def a_farm_writes_what_is_done_first():
    def farm(function, n, ordered, **how):
        return old(function, n, False, **how)

    old = pool.Farm
    return put(pool, "Farm", farm)


FAULTS = {
    loser_not_withdrawn: ("chosen_input", "chosen_output", "self_choice_and_others"),
    cancelled_not_withdrawn: ("pair", "two_writers"),
    give_back_dropped: ("two_each", "given_back"),
    give_back_behind_the_writers: ("two_each",),
    give_back_passes_readers_by: ("two_readers_one_write",),
    given_back_in_the_order_of_cancels: ("given_back_both",),
    cancel_later_forgotten: ("written_again", "buffer_0_twice"),
    write_raises_though_it_has_happened: ("pair", "two_writers"),
    only_the_first_is_woken: ("poisoned",),
    close_ends_writers: ("closed",),
    poison_takes_back_what_was_paired: ("poisoned",),
    fair_select_is_not_fair: ("chosen_fairly",),
    timer_not_disarmed: ("timer",),
    children_not_cancelled: ("parallel",),
    parallel_gives_nothing_back: ("guards", "operations"),
    held_writer_let_go_at_once: ("held",),
    writer_that_meets_an_extended_read_goes_on: ("held",),
    cancelled_extended_read_drops_its_value: ("held_two_readers",),
    one_retires_for_all: ("writers_retire", "readers_retire"),
    retirement_wakes_nobody: ("writers_retire", "readers_retire"),
    barrier_opens_early: ("barrier_of_three", "barrier_again"),
    resignation_completes_nothing: ("barrier_resigned",),
    one_is_flushed: ("bucket",),
    alting_barrier_opens_early: ("alting_all_or_pairs", "alting_resigned"),
    who_has_chosen_another_guard_is_counted: ("alting", "alting_in_time"),
    poison_forgets_the_calls_that_were_taken: ("called_and_poisoned", "called_and_dying"),
    an_early_answer_is_lost: ("called",),
    hidden_guards_are_chosen: ("masked",),
    what_is_in_time_is_late: ("within",),
    a_full_buffer_keeps_the_wrong_value: ("oldest_kept", "newest_kept"),
    poison_acts_on_what_is_immune: ("immune", "immune_chosen"),
    later_poison_softens: ("harder",),
    a_process_poisons_harder_than_it_was: ("immune_chain",),
    who_waits_for_an_end_is_not_told: ("end_awaited", "ends_awaited"),
    the_end_of_a_process_is_not_told: ("end_of_a_process",),
    an_end_works_on_when_it_has_retired: ("one_retires_another",),
    a_farm_writes_what_is_done_first: ("farm",),
    end_not_propagated: ("failing", "failing_between", "farm_failing"),
}
