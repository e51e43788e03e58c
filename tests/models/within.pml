/*
MODEL Operations with a time limit, others without time and plain ones, on one channel, while their
    time passes at any moment, and cancels, interrupts, poison and close come.
RULE 6: a limited operation has one outcome, of the meeting and the time the first; TimeoutError
    means that its time has passed and that nothing was read or written, and leaves neither its
    offer nor its alarm (assertions); who waits with a limit does not wait for ever (assertions)
RULE 1: though the lock is let go of between the look and the choice, nobody waits beside a
    counterpart (assertions after every step)
RULE 8: a cancelled or interrupted one leaves nothing, gives back what it had read, and what it had
    written stands, also in the moment when its time passes (assertions)
FULL -DREADERS=2 -DWRITERS=1 -DK=1 -DENDS -DINTERRUPTS=1
FULL -DREADERS=1 -DWRITERS=1 -DK=2 -DENDS -DINTERRUPTS=2
FULL -DREADERS=1 -DWRITERS=2 -DK=2 -DINTERRUPTS=0
FULL -DREADERS=1 -DWRITERS=1 -DK=3 -DINTERRUPTS=1 -DREUSED
FULL -DREADERS=2 -DWRITERS=2 -DK=1 -DENDS -DCOROUTINES -DCANCELS=2
FULL -DREADERS=1 -DWRITERS=2 -DK=2 -DCOROUTINES -DCANCELS=2
BOUNDED -DREADERS=1 -DWRITERS=1 -DK=1 -DENDS -DINTERRUPTS=1
BOUNDED -DREADERS=1 -DWRITERS=1 -DK=2 -DINTERRUPTS=1 -DREUSED
BOUNDED -DREADERS=2 -DWRITERS=1 -DK=1 -DENDS -DCOROUTINES -DCANCELS=1
BOUNDED -DREADERS=1 -DWRITERS=1 -DK=2 -DCOROUTINES -DCANCELS=2
FAULT POSTS_BLIND who found nobody at the first look posts without another one
FAULT BOTH the time passes for who was met already
FAULT OFFER_STAYS who is late leaves its offer in the queue
FAULT ALARM_STAYS who was met leaves its alarm armed
FAULT OVERTAKEN -DREADERS=1 -DWRITERS=1 -DK=2 -DINTERRUPTS=1 -DREUSED an alarm that was armed again
    ends the later selection when it rings for the earlier one
FAULT LATE_IS_LATE who was met and whose time has passed before it runs is late
FAULT VALUE_LOST a cancelled or interrupted read keeps the value that it was given
FAULT WRITE_RAISES -DREADERS=1 -DWRITERS=1 -DK=2 -DCOROUTINES -DCANCELS=2 a limited write that has
    happened raises its cancellation
MAPS first_look | upycsp/within.py:read | ready = ch._writers is not None
MAPS first_look | upycsp/within.py:write | ready = ch._readers is not None
MAPS first_look | uapycsp/within.py:_read | if ch._writers is not None:
MAPS first_look | uapycsp/within.py:_write | if ch._readers is not None:
MAPS no_time | upycsp/within.py:_wait | if timer.ms > 0:
MAPS no_time | uapycsp/within.py:_wait | yield turn()
MAPS second_look | upycsp/alternative.py:Alternative.select | i = self.poll(
MAPS arm | upycsp/alternative.py:Alternative._begin | self._alarm.start(self._limit[0])
MAPS post_it | upycsp/alternative.py:Alternative._begin | self.post()
MAPS park_ms | uapycsp/alternative.py:Alternative.select | if self._limit is None:
MAPS pops | uthreading/clock.py:_next | alarm.due = None
MAPS rings | upycsp/alternative.py:Alternative._due | if alarm.due is not None or self._limit is None:
MAPS decide | cspcore/choice.py:Choice | def _decide(self, i):
MAPS is_time | cspcore/choice.py:Choice.schedule_core | if not self.waits:
MAPS rung | upycsp/alternative.py:Alternative._due | party.wake()
MAPS expires | uapycsp/alternative.py:Alternative._waits_on | self.expired()
MAPS expires_aside | ufuture/cpython.py:_expire | parked.expired()
MAPS unlimit | uapycsp/alternative.py:Alternative.party | engine.unlimit(self)
MAPS disarm | upycsp/alternative.py:Alternative.disarm | self._alarm.stop()
MAPS ends | upycsp/within.py:_wait | if g is guard:
MAPS ends | uapycsp/within.py:_wait | if g is guard:
MAPS interrupted | upycsp/alternative.py:Alternative._interrupted | chosen = not self.waits
MAPS retire | upycsp/alternative.py:Alternative._interrupted | me.retire()
MAPS cancelled | uapycsp/alternative.py:Alternative.cancelled | i = self._chosen
MAPS wrote | uapycsp/alternative.py:Alternative.select | if not self._wrote():
*/
#define PARTIES (READERS + WRITERS)
#define MOST 4 /* of the parties */
#ifdef COROUTINES
#define INTERRUPTS 0
#endif
#define OFFERS (PARTIES + INTERRUPTS) /* one more for each thread that was interrupted */
#define MESSAGES (WRITERS * K)

#define READ 0
#define WRITE 1

#define WAITING 0 /* messages are 1, 2, ... */
#define TAKEN 254
#define POISON 255

/* What a look found, if not whom to wake. */
#define NOBODY 255
#define REFUSED 254
#define GIVEN 253 /* a value that was given back */

#define PLAIN 0
#define LIMITED 1
#define NO_TIME 2

/* Of a choice between the operation and the time. */
#define NONE 0
#define OPERATION 1
#define TIME 2

/* The queues, oldest first: parties, and before them values that were given back. */
#define BACK 100
chan readers = [PARTIES] of { byte };
chan writers = [PARTIES + 2] of { byte };
bit ended; /* nobody may write any more */
bit dead;  /* and values given back are dropped */

byte val[MOST], chosen[MOST];
bit stands[MOST]; /* a plain operation is in its queue */
bit waits[MOST];  /* a choice is, and is not decided */
bit over[MOST];   /* the time of the operation that is under way has passed */
#ifdef COROUTINES
#define RUNS 0
#define PARKED 1
#define WOKEN 2
#define CANCELLED 3
byte state[MOST], how_of[MOST];
bit timed[MOST]; /* it is in asyncio's queue, or a handle of the loop will call */
bit later[MOST]; /* its cancellation is to be raised at its next wait */
byte cancels;
#define OFFER(party) party
#else
byte own[MOST]; /* the offer, and so the bolt, of each thread */
bit woken[OFFERS];
#define OFFER(party) (party < PARTIES -> own[party] : party) /* whom to wake */
bit limit[MOST], armed[MOST]; /* of its alternative */
byte alt[MOST];               /* which one, of those that it has made */
byte interrupts, spares;
#endif

/* What the checks know: a message has left its writer; it was given back; its outcome. */
bit taken[MESSAGES + 1], back[MESSAGES + 1], read_it[MESSAGES + 1], wrote_it[MESSAGES + 1];

hidden byte x_h, x_i, x_n, x_v, x_party;

/* Meeting */

inline decide(p, how) {
#ifndef FAULT_BOTH
  assert(waits[p] && chosen[p] == NONE);
#endif
  chosen[p] = how;
  waits[p] = 0
}

/* Whoever heads a queue is met: it is out of it. */
inline paired(p) {
  if
  :: waits[p] ->
     decide(p, OPERATION);
#ifdef COROUTINES
unlimit:
#ifndef FAULT_ALARM_STAYS
     timed[p] = 0
#else
     skip
#endif
#endif
  :: else ->
     assert(stands[p]);
     stands[p] = 0
  fi
}

inline withdraw(p, kind) {
  if
  :: kind == READ ->
     readers??eval(p)
  :: else ->
     writers??eval(p)
  fi
}

inline post(p, kind) {
  if
  :: kind == READ ->
     readers!p
  :: else ->
     writers!p
  fi
}

/* A message leaves its writer, or the channel that it was given back to. */
inline leaves(v) {
  assert(v != WAITING && v <= MESSAGES && taken[v] == back[v] && !read_it[v]);
  taken[v] = 1;
  back[v] = 0
}

/* Write v to the first reader. */
inline give(v, party) {
  readers?x_h;
  assert(val[x_h] == WAITING);
  leaves(v);
  val[x_h] = v;
  paired(x_h);
  party = x_h
}

/* What happens at once, if anything does. */
inline look(p, kind, v, party) {
  party = NOBODY;
  if
  :: kind == READ && len(writers) > 0 ->
     writers?x_h;
     if
     :: x_h > BACK ->
        v = x_h - BACK;
        party = GIVEN
     :: else ->
        v = val[x_h];
        val[x_h] = TAKEN;
        paired(x_h);
        party = x_h
     fi;
     leaves(v)
  :: kind == READ && len(writers) == 0 && ended ->
     party = REFUSED
  :: kind == WRITE && ended ->
     party = REFUSED
  :: kind == WRITE && !ended && len(readers) > 0 ->
     give(v, party)
  :: else
  fi
}

inline drops(v) {
  assert(back[v] && !read_it[v]);
  back[v] = 0;
  read_it[v] = 1 /* nobody will */
}

inline give_back(v) {
  assert(taken[v] && !back[v]);
  back[v] = 1;
  if
  :: dead ->
     drops(v);
     x_party = NOBODY
  :: !dead && len(readers) > 0 ->
     give(v, x_party)
  :: else -> /* before all writers */
     writers!BACK + v;
     x_n = len(writers) - 1;
     do
     :: x_n > 0 ->
        writers?x_h;
        writers!x_h;
        x_n--
     :: else ->
        break
     od;
     x_party = NOBODY
  fi
}

/* After each step. */
inline verify() {
  assert(len(readers) == 0 || len(writers) == 0);
  x_i = 0;
  do
  :: x_i < PARTIES ->
     assert((readers??[eval(x_i)] || writers??[eval(x_i)]) == (waits[x_i] || stands[x_i]));
     assert(!waits[x_i] || chosen[x_i] == NONE);
     x_i++
  :: else ->
     break
  od;
  x_i = 0;
  x_h = 0;
  x_n = 0;
  x_v = 0
}

/* Outcomes: in the step after which the process knows. */

inline done(p, kind, v) {
  assert(v != WAITING && v <= MESSAGES && taken[v]);
  if
  :: kind == READ ->
     assert(!read_it[v] && !back[v]);
     read_it[v] = 1
  :: else ->
     assert(!wrote_it[v]);
     wrote_it[v] = 1
  fi;
  forgets(p, v)
}

/* It has not happened. */
inline not_done(p, kind, v) {
  assert(kind == READ || !taken[v]);
  forgets(p, v)
}

inline late(p, kind, v, how) {
  assert(how == NO_TIME || how == LIMITED && over[p]);
  not_done(p, kind, v)
}

inline forgets(p, v) {
  assert(!waits[p] && !stands[p]);
#ifdef COROUTINES
  assert(!timed[p]);
  state[p] = RUNS;
#else
  assert(!armed[p] && !limit[p]);
#endif
  val[p] = WAITING;
  chosen[p] = NONE;
  over[p] = 0;
  v = 0;
  verify()
}

#ifdef REUSED
#define LOOKS(how) (how == PLAIN)
#else
#define LOOKS(how) true
#endif

inline any_operation(p, kind, v, how) {
  round++;
  v = (kind == WRITE -> (p - READERS) * K + round : 0);
  if
  :: how = PLAIN
  :: how = LIMITED
#ifndef REUSED
  :: how = NO_TIME
#endif
  fi
}

#ifndef COROUTINES

/* Threads: the lock guards one atomic step. */

inline wake(o) {
  if
  :: o != NOBODY && o != GIVEN ->
     assert(!woken[o]); /* a bolt is released once */
     woken[o] = 1
  :: else
  fi
}

inline disarm(p) {
  limit[p] = 0;
#ifndef FAULT_ALARM_STAYS
  armed[p] = 0
#endif
}

proctype Party(byte p; bit kind) {
  byte v, party, round, how;
  do
  :: round < K ->
     atomic {
       any_operation(p, kind, v, how);
       party = NOBODY;
       if
       :: LOOKS(how) ->
first_look:
          look(p, kind, v, party);
          party = OFFER(party)
       :: else
       fi;
       if
       :: party == NOBODY && how == PLAIN ->
          val[p] = v;
          stands[p] = 1;
          post(p, kind)
       :: else
       fi;
       verify()
     }
     if
     :: party == NOBODY && how == NO_TIME ->
no_time:
        atomic {
          late(p, kind, v, how);
          goto next
        }
     :: party == NOBODY && how == LIMITED ->
second_look:
        atomic {
#ifndef FAULT_POSTS_BLIND
          look(p, kind, v, party);
          party = OFFER(party);
#endif
          if
          :: party == NOBODY ->
arm:
             limit[p] = 1;
             armed[p] = 1;
             over[p] = 0;
#ifndef REUSED
             alt[p]++;
#endif
post_it:
             val[p] = v;
             waits[p] = 1;
             post(p, kind)
          :: else
          fi;
          verify()
        }
     :: else
     fi;
     if
     :: party == REFUSED ->
        atomic {
          not_done(p, kind, v);
          goto next
        }
     :: party != NOBODY && party != REFUSED ->
        wake(party);
        atomic {
          done(p, kind, v);
          goto next
        }
     :: else
     fi;
end_waits:
     if
     :: atomic {
          woken[own[p]] ->
          woken[own[p]] = 0
        }
#if INTERRUPTS
     :: atomic {
          how == LIMITED && interrupts < INTERRUPTS ->
          interrupts++;
          woken[own[p]] = 0 /* it may have taken its bolt, and not know it yet */
        }
interrupted:
        atomic {
          x_party = NOBODY;
          if
          :: waits[p] ->
             waits[p] = 0;
             withdraw(p, kind);
             disarm(p);
             not_done(p, kind, v)
          :: else ->
             x_v = val[p];
             v = (kind == READ && chosen[p] == OPERATION && x_v != POISON -> 0 : v);
             disarm(p);
             if
#ifndef FAULT_VALUE_LOST
             :: kind == READ && chosen[p] == OPERATION && x_v != POISON ->
                give_back(x_v);
                forgets(p, v)
#endif
             :: kind == WRITE && chosen[p] == OPERATION && x_v == TAKEN ->
                done(p, kind, v)
             :: else ->
                not_done(p, kind, v)
             fi;
retire:
             own[p] = PARTIES + spares;
             spares++
          fi;
          party = OFFER(x_party)
        }
        wake(party);
        goto next
#endif
     fi;
     atomic {
       if
       :: how == LIMITED ->
          disarm(p)
       :: else
       fi;
ends:
       if
#ifdef FAULT_LATE_IS_LATE
       :: how == LIMITED && (over[p] || chosen[p] == TIME) ->
#else
       :: how == LIMITED && chosen[p] == TIME ->
#endif
          late(p, kind, v, how)
       :: !(how == LIMITED && chosen[p] == TIME) && val[p] == POISON ->
          not_done(p, kind, v)
       :: else ->
          v = (kind == READ -> val[p] : v);
          done(p, kind, v)
       fi
     }
next:
     atomic {
       party = 0;
       how = 0
     }
  :: else ->
     break
  od
}

/* The timer thread. */
inline pops(q) {
  armed[q] = 0;
  over[q] = 1;
  p = q;
  whose = alt[q]
}

active proctype Clock() {
  byte p, whose, party;
end_rests:
  do
  :: if
     :: atomic {
          armed[0] ->
          pops(0)
        }
     :: atomic {
          armed[1] ->
          pops(1)
        }
     :: atomic {
          armed[2] ->
          pops(2)
        }
     :: atomic {
          armed[3] ->
          pops(3)
        }
     fi;
     atomic {
       party = NOBODY;
rings:
       if
#ifdef FAULT_OVERTAKEN
       :: !limit[p] || alt[p] != whose
#else
       :: armed[p] || !limit[p] || alt[p] != whose
#endif
       :: else ->
is_time:
          if
#ifdef FAULT_BOTH
          :: true ->
#else
          :: waits[p] ->
#endif
             decide(p, TIME);
#ifndef FAULT_OFFER_STAYS
             if
             :: readers??[eval(p)] ->
                readers??eval(p)
             :: writers??[eval(p)] ->
                writers??eval(p)
#ifdef FAULT_BOTH
             :: else
#endif
             fi;
#endif
             party = own[p]
          :: else
          fi
       fi;
       verify()
     }
rung:
     wake(party);
     atomic {
       p = 0;
       whose = 0;
       party = 0
     }
  od
}

#else

/* Coroutines: one atomic step is what happens between two awaits. */

inline wake(p) {
  if
  :: p < PARTIES ->
     assert(state[p] == PARKED);
     state[p] = WOKEN
  :: else
  fi
}

inline cancel(p, kind) {
  timed[p] = 0;
  if
  :: how_of[p] == NO_TIME /* a turn */
  :: how_of[p] == PLAIN && stands[p] ->
     stands[p] = 0;
     withdraw(p, kind);
     val[p] = POISON
  :: how_of[p] == LIMITED && waits[p] ->
cancelled:
     waits[p] = 0;
     withdraw(p, kind)
  :: else ->
     if
     :: kind == READ && val[p] != POISON && chosen[p] != TIME ->
        x_v = val[p];
        val[p] = POISON;
        chosen[p] = NONE;
#ifndef FAULT_VALUE_LOST
        give_back(x_v);
        wake(x_party)
#endif
     :: else
     fi
  fi;
  state[p] = CANCELLED;
  later[p] = 0
}

inline park(p, kind, how) {
  state[p] = PARKED;
  how_of[p] = how;
  if
  :: later[p] -> /* before anybody else runs */
     cancel(p, kind)
  :: else
  fi
}

inline expires(p, kind) {
  timed[p] = 0;
  over[p] = 1;
#ifndef FAULT_BOTH
  if
  :: waits[p] ->
#endif
     decide(p, TIME);
#ifndef FAULT_OFFER_STAYS
     withdraw(p, kind)
#endif
#ifndef FAULT_BOTH
  fi
#endif
}

proctype Party(byte p; bit kind) {
  byte v, party, round, how;
  do
  :: round < K ->
     atomic {
       any_operation(p, kind, v, how);
first_look:
       look(p, kind, v, party);
       wake(party);
       if
       :: party == REFUSED ->
          not_done(p, kind, v);
          goto next
       :: party != NOBODY && party != REFUSED ->
          done(p, kind, v);
          goto next
       :: party == NOBODY && how == PLAIN ->
          val[p] = v;
          stands[p] = 1;
          post(p, kind);
          park(p, kind, how)
       :: party == NOBODY && how == NO_TIME ->
no_time:
          park(p, kind, how);
          state[p] = (state[p] == PARKED -> WOKEN : state[p])
       :: party == NOBODY && how == LIMITED ->
          val[p] = v;
          waits[p] = 1;
          post(p, kind);
park_ms:
          timed[p] = 1;
          park(p, kind, how)
       fi;
       verify()
     }
end_waits:
     if
     :: atomic { /* asyncio resumes it, on MicroPython */
          state[p] == PARKED && timed[p] ->
          expires(p, kind);
          late(p, kind, v, how)
        }
     :: atomic { /* a handle of the loop, on CPython */
          state[p] == PARKED && timed[p] ->
expires_aside:
          expires(p, kind);
          wake(p);
          verify();
          goto end_waits
        }
     :: atomic {
          state[p] == WOKEN ->
ends:
          if
#ifdef FAULT_LATE_IS_LATE
          :: how == LIMITED && chosen[p] != NONE ->
             over[p] = 1;
#else
          :: how == LIMITED && chosen[p] == TIME ->
#endif
             late(p, kind, v, how)
          :: how == NO_TIME ->
             late(p, kind, v, how)
          :: how != NO_TIME && chosen[p] != TIME && val[p] == POISON ->
             not_done(p, kind, v)
          :: else ->
             v = (kind == READ -> val[p] : v);
             done(p, kind, v)
          fi
        }
     :: atomic {
          state[p] == CANCELLED ->
wrote:
          if
          :: kind == WRITE && how != NO_TIME && chosen[p] != TIME && val[p] == TAKEN ->
#ifdef FAULT_WRITE_RAISES
             if
             :: how == LIMITED ->
                not_done(p, kind, v)
             :: else ->
                later[p] = 1;
                done(p, kind, v)
             fi
#else
             later[p] = 1;
             done(p, kind, v)
#endif
          :: else ->
             not_done(p, kind, v)
          fi
        }
     fi;
next:
     atomic {
       party = 0;
       how = 0
     }
  :: else ->
     break
  od
}

inline cancels_it(p) {
  cancels++;
  cancel(p, (p < READERS -> READ : WRITE));
  verify()
}

#define MAY_CANCEL(p) (cancels < CANCELS && (state[p] == PARKED || state[p] == WOKEN))

active proctype Canceller() {
end_idle:
  do
  :: atomic {
       MAY_CANCEL(0) ->
       cancels_it(0)
     }
  :: atomic {
       MAY_CANCEL(1) ->
       cancels_it(1)
     }
  :: atomic {
       MAY_CANCEL(2) ->
       cancels_it(2)
     }
  :: atomic {
       MAY_CANCEL(3) ->
       cancels_it(3)
     }
  od
}
#endif

#ifdef ENDS
inline end_offer(queue) {
  queue?x_h;
  if
  :: x_h > BACK ->
     drops(x_h - BACK)
  :: else ->
     paired(x_h);
     val[x_h] = POISON;
     chain!OFFER(x_h)
  fi
}

inline wake_chain(chain, party) {
  do
  :: len(chain) > 0 ->
     chain?party;
     wake(party)
  :: else ->
     break
  od
}

/* Poison or close at any moment. */
active proctype End() {
  chan chain = [PARTIES] of { byte };
  byte party;
end_never:
  atomic {
    do
    :: len(readers) > 0 ->
       end_offer(readers)
    :: else ->
       break
    od;
    ended = 1;
    if
    :: true ->
       dead = 1;
       do
       :: len(writers) > 0 ->
          end_offer(writers)
       :: else ->
          break
       od
    :: true /* closed: what waits can be read */
    fi;
    verify();
#ifdef COROUTINES
    wake_chain(chain, party)
#endif
  }
#ifndef COROUTINES
  wake_chain(chain, party)
#endif
}
#endif

init {
  byte p;
  atomic {
    do
    :: p < PARTIES ->
#ifndef COROUTINES
       own[p] = p;
#endif
       run Party(p, (p < READERS -> READ : WRITE));
       p++
    :: else ->
       break
    od;
    p = 0
  }
  timeout; /* nobody goes on: who waits has no limit, and nobody could meet it */
  atomic {
    verify();
    do
    :: p < PARTIES ->
       assert(!waits[p] && !over[p]);
#ifdef COROUTINES
       assert(!timed[p] && state[p] == (stands[p] -> PARKED : RUNS));
#else
       assert(!armed[p] && !limit[p] && !woken[own[p]]);
#endif
       p++
    :: else ->
       break
    od;
    p = 1;
    do
    :: p <= MESSAGES ->
       assert(wrote_it[p] == taken[p] && read_it[p] + back[p] == taken[p]);
       assert(!writers??[eval(BACK + p)] == !back[p]);
       p++
    :: else ->
       break
    od
  }
}
