/*
MODEL Plain operations, an alternative and a Parallel on one channel, each cancelled at any moment.
RULE 8: what is cancelled before it was paired leaves nothing behind; a cancelled paired read has
    given its value back in that moment, to the next reader or before all writers, in the order of
    pairing; a write stands, and its cancellation is raised at the next wait (assertions)
RULE 2: every message that was taken is at exactly one place, after every step (assertions)
RULE 3: poison by a writer and close keep what was given back, poison by a reader drops it
FULL -DREADERS=2 -DWRITERS=2 -DALTS=0 -DGROUPS=0 -DK=2 -DCANCELS=2
FULL -DREADERS=3 -DWRITERS=2 -DALTS=0 -DGROUPS=0 -DK=1 -DCANCELS=3 -DENDS
FULL -DREADERS=1 -DWRITERS=1 -DALTS=1 -DGROUPS=0 -DK=2 -DCANCELS=2 -DENDS
FULL -DREADERS=1 -DWRITERS=2 -DALTS=0 -DGROUPS=1 -DK=1 -DCANCELS=2 -DENDS
FULL -DREADERS=1 -DWRITERS=1 -DALTS=1 -DGROUPS=1 -DK=1 -DCANCELS=1 -DENDS
BOUNDED -DREADERS=2 -DWRITERS=2 -DALTS=0 -DGROUPS=0 -DK=1 -DCANCELS=2 -DENDS
BOUNDED -DREADERS=1 -DWRITERS=1 -DALTS=1 -DGROUPS=0 -DK=1 -DCANCELS=1 -DENDS
BOUNDED -DREADERS=2 -DWRITERS=1 -DALTS=0 -DGROUPS=1 -DK=1 -DCANCELS=1 -DENDS
FAULT OFFER_STAYS a cancelled reader leaves its offer in the queue
FAULT BEHIND_WRITERS a value is given back behind the writers
FAULT NO_ORDER a value is given back before all others, whatever their order of pairing
FAULT LATE a value is given back when the cancelled reader runs, not when it is cancelled
FAULT LOST the value of a cancelled paired read is dropped
FAULT WRITE_RAISES a write that has happened raises its cancellation
FAULT FORGOTTEN -DREADERS=1 -DWRITERS=1 -DALTS=0 -DGROUPS=0 -DK=2 -DCANCELS=1 the cancellation of a write that has happened is never raised
FAULT GUARD_KEEPS a cancelled alternative keeps what it chose
FAULT SELF_GIFT a cancelled Parallel gives back before all its other offers are withdrawn
MAPS link | cspcore/channel.py | def link(head, offer):
MAPS unlink | cspcore/channel.py | def unlink(head, offer):
MAPS insert_given | cspcore/channel.py | def insert_given(head, offer):
MAPS insert_first | cspcore/channel.py:insert_given | offer.prev = last_of(at)
MAPS insert_last | cspcore/channel.py:insert_given | head.prev = offer
MAPS give_back | cspcore/channel.py:BaseChannel.give_back | self._writers = insert_given(self._writers, offer)
MAPS to_reader | cspcore/channel.py:BaseChannel.give_back | return self.give(value)
MAPS take | cspcore/channel.py | def take(self):
MAPS give | cspcore/channel.py | def give(self, value):
MAPS meet_group | cspcore/group.py:Group.paired | offer.channel.withdraw(offer)
MAPS meet_alternative | cspcore/choice.py:Choice.paired | self._chosen = offer.index
MAPS end | cspcore/channel.py | def _end(self, last):
MAPS close | cspcore/channel.py | def end_close(self):
MAPS cancelled_plain | uapycsp/wait.py:Waiting.cancelled | value = self.value
MAPS cancelled_alternative | uapycsp/alternative.py:Alternative.cancelled | i = self._chosen
MAPS cancelled_group | uapycsp/process.py:Parallel.cancelled | woken = not self.left
MAPS group_gives_back | uapycsp/process.py:Parallel.cancelled | v.channel.give_back(v, o.value)
MAPS write_stands | ufuture/micro.py:Owned.remove | self._resume(_Resumed(task))
MAPS guard_stands | uapycsp/alternative.py:Alternative.select | engine.cancel_later()
MAPS group_stands | uapycsp/process.py:Parallel._run | if not (isinstance(er, CancelledError) and self._all_written()):
MAPS group_post | cspcore/group.py:Group.post | ch.post(offer)
*/

#define NIL 0
#define DEAD 1
#define DRAINED 2
#define FIRST 3 /* of the offers that are no markers */
#define MARKER(o) (o == DEAD || o == DRAINED)

#define TASKS (READERS + WRITERS + ALTS + GROUPS)
#define ALT (READERS + WRITERS)
#define GROUP (READERS + WRITERS + ALTS)
#define OWN(p) (FIRST + (p))
#define GUARD(i) (FIRST + TASKS + (i))
#define MEMBER(i) (FIRST + TASKS + 2 * ALTS + (i))
#define POOL (FIRST + TASKS + 2 * ALTS + 2 * GROUPS)
#define BACK (CANCELS + GROUPS) /* how many values can be given back at a time */
#define OFFERS (POOL + BACK)
#define IS_PLAIN(o) (o < FIRST + TASKS)
#define IS_GUARD(o) (o >= FIRST + TASKS && o < FIRST + TASKS + 2 * ALTS)
#define IS_MEMBER(o) (o >= FIRST + TASKS + 2 * ALTS && o < POOL)

#define READ 0
#define WRITE 1
#define GIVEN 2

#define MESSAGES (K * (WRITERS + ALTS + 2 * GROUPS))
#define WAITING 0 /* messages are 1, 2, ... */
#define TAKEN 254
#define POISON 255

/* Of a task: it runs (or has ended), waits, was woken, was cancelled and has not run since. */
#define RUNS 0
#define PARKED 1
#define WOKEN 2
#define CANCELLED 3

#define NOBODY 255

byte readers, writers; /* heads of the queues */
byte next[OFFERS], prev[OFFERS], op[OFFERS], val[OFFERS], seq[OFFERS];
byte state[TASKS], order[TASKS];
bit later[TASKS]; /* its cancellation is to be raised at its next wait */
byte stamps, cancels;
bit waits;       /* the alternative's offers stand in the queue */
byte chosen;     /* by the alternative */
byte missing;       /* members of the Parallel that have not ended */
bit member[2];   /* they wait for the Parallel */

/* What the checks know */
bit taken[MESSAGES + 1], got_it[MESSAGES + 1], back[MESSAGES + 1], dropped[MESSAGES + 1];
byte since[MESSAGES + 1]; /* the order of the pairing of a value that its reader has not got */

hidden byte x_last, x_next, x_before, x_at, x_real, x_o, x_w, x_v, x_party, x_i, x_n, x_new, x_c;
hidden byte x_kept, x_was;

inline last_of(head) {
  if
  :: next[head] == NIL || MARKER(next[head]) ->
     x_last = head
  :: else ->
     x_last = prev[head]
  fi
}

inline link(head, o) {
  if
  :: head == NIL ->
     head = o
  :: else ->
     last_of(head);
     prev[o] = x_last;
     prev[head] = o;
     next[x_last] = o
  fi
}

inline unlink(head, o) {
  x_next = next[o];
  if
  :: o == head ->
     head = x_next;
     if
     :: x_next != NIL ->
        prev[x_next] = prev[o]
     :: else
     fi
  :: else ->
     next[prev[o]] = x_next;
     if
     :: x_next == NIL || MARKER(x_next) ->
        prev[head] = prev[o]
     :: else ->
        prev[x_next] = prev[o]
     fi
  fi;
  next[o] = NIL
}

#ifdef FAULT_NO_ORDER
#define GOES_BEFORE(a, o) 0
#else
#ifdef FAULT_BEHIND_WRITERS
#define GOES_BEFORE(a, o) (op[a] != GIVEN || seq[a] < seq[o])
#else
#define GOES_BEFORE(a, o) (op[a] == GIVEN && seq[a] < seq[o])
#endif
#endif

inline insert_given(o) {
  x_before = NIL;
  x_at = writers;
  do
  :: x_at != NIL && !MARKER(x_at) && GOES_BEFORE(x_at, o) ->
     x_before = x_at;
     x_at = next[x_at]
  :: else ->
     break
  od;
  next[o] = x_at;
  x_real = (x_at != NIL && !MARKER(x_at));
  if
  :: x_before == NIL && x_real ->
insert_first:
     last_of(x_at);
     prev[o] = x_last
  :: x_before == NIL && !x_real
  :: else ->
     next[x_before] = o;
     prev[o] = x_before
  fi;
  if
  :: x_real ->
     prev[x_at] = o
  :: !x_real && x_before != NIL ->
insert_last:
     prev[writers] = o
  :: else
  fi;
  if
  :: x_before == NIL ->
     writers = o
  :: else
  fi
}

inline post(o) {
  if
  :: op[o] == READ ->
     link(readers, o)
  :: else ->
     link(writers, o)
  fi
}

inline withdraw(o) {
  if
  :: op[o] == READ ->
     unlink(readers, o)
  :: else ->
     unlink(writers, o)
  fi
}

inline withdraw_alternative() {
  waits = 0;
  withdraw(GUARD(0));
  withdraw(GUARD(1))
}

inline wake(p) {
  if
  :: p != NOBODY ->
     assert(state[p] == PARKED); /* woken once, and nobody who was cancelled */
     state[p] = WOKEN;
     stamps++;
     order[p] = stamps
  :: else
  fi
}

/* An offer that waits is met, or ends: x_party becomes whom to wake. */
inline meet(o) {
  if
  :: op[o] == GIVEN ->
     unlink(writers, o);
     x_party = NOBODY
#if ALTS
  :: IS_GUARD(o) ->
meet_alternative:
     chosen = o - GUARD(0);
     withdraw_alternative();
     x_party = ALT
#endif
#if GROUPS
  :: IS_MEMBER(o) ->
meet_group:
     withdraw(o);
     member[o - MEMBER(0)] = 0;
     if
     :: op[o] == READ ->
        stamps++;
        seq[o] = stamps;
        x_n = stamps
     :: else
     fi;
     missing--;
     x_party = (missing -> NOBODY : GROUP)
#endif
  :: else ->
     withdraw(o);
     x_party = o - FIRST
  fi
}

/* What the checks ask: a value leaves its writer, or the place where it was given back. */
inline leaves(v) {
  x_c = 1;
  do
  :: x_c <= MESSAGES ->
     /* given back < waiting writers, and of those given back the one that was paired first */
     assert(!back[x_c] || x_c == v || (back[v] && since[v] < since[x_c]));
     x_c++
  :: else ->
     break
  od;
  assert(v != WAITING && v <= MESSAGES && taken[v] == back[v]);
  taken[v] = 1;
  back[v] = 0
}

/* Read from the head of the writers: v, and whom to wake in x_party. */
inline take(v) {
  x_w = writers;
  v = val[x_w];
  leaves(v);
  meet(x_w);
  val[x_w] = (op[x_w] == GIVEN -> WAITING : TAKEN)
}

/* Write v to the head of the readers. */
inline give(v) {
  x_w = readers;
  leaves(v);
  meet(x_w);
  val[x_w] = v;
  since[v] = stamps + (IS_MEMBER(x_w) -> 0 : 1)
}

inline got(v) {
  assert(taken[v] && !back[v] && !got_it[v]);
  got_it[v] = 1
}

/* A paired read was cancelled: v goes back, in that order of its pairing. */
inline give_back(v, its_order) {
#ifdef FAULT_LOST
  skip
#else
  if
  :: writers == DEAD ->
     dropped[v] = 1;
     back[v] = 0
  :: writers != DEAD && readers != NIL && readers != DEAD ->
to_reader:
     give(v);
     wake(x_party)
  :: else ->
     x_new = POOL;
     do
     :: val[x_new] != WAITING ->
        x_new++;
        assert(x_new < OFFERS)
     :: else ->
        break
     od;
     op[x_new] = GIVEN;
     val[x_new] = v;
     seq[x_new] = its_order;
     insert_given(x_new)
  fi
#endif
}

inline is_back(v) {
  assert(taken[v] && !back[v] && !got_it[v]);
  back[v] = 1
}

/* task.cancel() of a task that waits. */
inline cancel(p) {
  x_was = state[p];
  if
#if ALTS
  :: p == ALT ->
cancelled_alternative:
     if
     :: chosen == NOBODY ->
        withdraw_alternative()
     :: chosen != NOBODY && op[GUARD(chosen)] == READ && val[GUARD(chosen)] != POISON ->
        x_v = val[GUARD(chosen)];
        is_back(x_v);
#ifndef FAULT_GUARD_KEEPS
        val[GUARD(chosen)] = WAITING;
        chosen = NOBODY;
        give_back(x_v, order[p])
#endif
     :: else
     fi
#endif
#if GROUPS
  :: p == GROUP ->
cancelled_group:
     x_i = 0;
     do
     :: x_i < 2 ->
        x_o = MEMBER(x_i);
        if
        :: member[x_i] ->
           withdraw(x_o);
           member[x_i] = 0;
           val[x_o] = POISON;
           missing--
#ifdef FAULT_SELF_GIFT
        :: !member[x_i] && op[x_o] == READ && val[x_o] != POISON ->
           x_v = val[x_o];
           is_back(x_v);
           val[x_o] = POISON;
           give_back(x_v, seq[x_o])
#endif
        :: else
        fi;
        x_i++
     :: else ->
        break
     od;
     x_i = 0;
     do
     :: x_i < 2 ->
        x_o = MEMBER(x_i);
        if
        :: op[x_o] == READ && val[x_o] != POISON ->
group_gives_back:
           x_v = val[x_o];
           is_back(x_v);
           val[x_o] = POISON;
           give_back(x_v, seq[x_o])
        :: else
        fi;
        x_i++
     :: else ->
        break
     od
#endif
  :: else ->
cancelled_plain:
     x_o = OWN(p);
     if
     :: val[x_o] == POISON
     :: val[x_o] != POISON && op[x_o] == READ && val[x_o] != WAITING ->
        x_v = val[x_o];
        is_back(x_v);
#ifndef FAULT_LATE
        val[x_o] = POISON;
        give_back(x_v, order[p])
#endif
     :: op[x_o] == WRITE && val[x_o] == TAKEN /* stands */
     :: else ->
#ifndef FAULT_OFFER_STAYS
        withdraw(x_o);
#endif
        val[x_o] = POISON
     fi
  fi;
  assert(state[p] == x_was); /* it is not woken by its own giving back */
  state[p] = CANCELLED;
  later[p] = 0
}

/* The engine cancels a task that is to be cancelled later before anybody else runs. */
inline park(p) {
  state[p] = PARKED;
  if
  :: later[p] ->
#ifndef FAULT_FORGOTTEN
     cancel(p)
#else
     skip
#endif
  :: else
  fi
}

/* After each step: the queues are as the code promises, every message is at one place. */

inline holds(o) {
  if
  :: val[o] != WAITING && val[o] <= MESSAGES ->
     assert(!got_it[val[o]]);
     x_at = (val[o] == x_c -> x_at + 1 : x_at)
  :: else
  fi
}

inline walk(head, is_reading) {
  x_o = head;
  x_before = NIL;
  x_n = 0;
  do
  :: x_o == NIL || MARKER(x_o) ->
     break
  :: else ->
     x_n++;
     assert(x_n < OFFERS);
     assert((op[x_o] == READ) == is_reading);
     assert(x_before == NIL || prev[x_o] == x_before);
     if
     :: op[x_o] == GIVEN ->
        assert(x_before == NIL || op[x_before] == GIVEN && seq[x_before] < seq[x_o]);
        assert(back[val[x_o]])
     :: IS_PLAIN(x_o) ->
        assert(state[x_o - FIRST] == PARKED)
     :: IS_GUARD(x_o) ->
        assert(waits && state[TASKS - GROUPS - 1] == PARKED)
     :: else ->
        assert(member[x_o - MEMBER(0)] && state[TASKS - 1] == PARKED)
     fi;
     x_kept = x_kept + (IS_PLAIN(x_o) || IS_GUARD(x_o) || IS_MEMBER(x_o) -> 1 : 0);
     x_before = x_o;
     x_o = next[x_o]
  od;
  assert(x_before == NIL || x_before == head || prev[head] == x_before)
}

inline verify() {
  x_kept = 0;
  walk(readers, 1);
  x_w = x_n;
  walk(writers, 0);
  /* rule 1; rule 7: but for the two halves of one alternative */
  assert(!x_w || !x_n || x_w == 1 && x_n == 1 && IS_GUARD(readers) && IS_GUARD(writers));
  /* who waits stands in a queue: nobody who was met has been forgotten */
  x_i = 0;
  do
  :: x_i < TASKS ->
     if
     :: state[x_i] == PARKED && x_i < ALT ->
        x_kept--
#if ALTS
     :: state[x_i] == PARKED && x_i == ALT ->
        assert(waits);
        x_kept = x_kept - 2
#endif
#if GROUPS
     :: state[x_i] == PARKED && x_i == GROUP ->
        assert(missing && missing == member[0] + member[1]);
        x_kept = x_kept - missing
#endif
     :: else
     fi;
     x_i++
  :: else ->
     break
  od;
  assert(x_kept == 0);
  /* every message that was taken is at one place */
  x_c = 1;
  do
  :: x_c <= MESSAGES ->
     x_at = got_it[x_c] + dropped[x_c];
     x_o = FIRST;
     do
     :: x_o < OFFERS ->
        if
        :: (op[x_o] == READ && !got_it[x_c]) || op[x_o] == GIVEN ->
           holds(x_o)
        :: else
        fi;
        x_o++
     :: else ->
        break
     od;
     assert(x_at == taken[x_c]);
     x_c++
  :: else ->
     break
  od;
  x_c = 0
}

inline refused(v) {
  assert(!taken[v])
}

proctype Plain(byte p; bit kind) {
  byte v, round;
  do
  :: round < K ->
     atomic {
       v = (kind == WRITE -> 1 + (p - READERS) * K + round : 0);
       round++;
       if
       :: kind == READ && writers == NIL || kind == WRITE && readers == NIL ->
          op[OWN(p)] = kind;
          val[OWN(p)] = v;
          post(OWN(p));
          park(p)
       :: kind == READ && MARKER(writers) || kind == WRITE && readers == DEAD ->
          break
       :: kind == READ && writers != NIL && !MARKER(writers) ->
          take(v);
          wake(x_party);
          got(v)
       :: kind == WRITE && readers != NIL && readers != DEAD ->
          give(v);
          wake(x_party)
       fi;
       verify()
     }
end_waits:
     if
     :: state[p] == RUNS
     :: atomic {
          state[p] == WOKEN ->
          assert(!later[p]);
          state[p] = RUNS;
          if
          :: val[OWN(p)] == POISON ->
             val[OWN(p)] = WAITING;
             if
             :: kind == WRITE ->
                refused(v)
             :: else
             fi;
             break
          :: val[OWN(p)] != POISON && kind == READ ->
             got(val[OWN(p)])
          :: else ->
             assert(taken[v])
          fi;
          val[OWN(p)] = WAITING;
          verify()
        }
     :: atomic {
          state[p] == CANCELLED ->
          state[p] = RUNS;
#ifdef FAULT_LATE
          if
          :: kind == READ && val[OWN(p)] != POISON ->
             x_v = val[OWN(p)];
             val[OWN(p)] = WAITING;
             give_back(x_v, order[p])
          :: else
          fi;
#endif
          if
          :: kind == WRITE && val[OWN(p)] == TAKEN ->
#ifdef FAULT_WRITE_RAISES
             refused(v)
#else
write_stands:
             later[p] = 1
#endif
          :: kind == WRITE && val[OWN(p)] != TAKEN ->
             refused(v)
          :: else
          fi;
          val[OWN(p)] = WAITING;
          verify()
        }
     fi
  :: else ->
     break
  od
}

#if ALTS
/* Its guards read, or one of them writes. */
proctype Select() {
  byte v, w, round;
  do
  :: round < K ->
     atomic {
       w = 1 + WRITERS * K + round;
       round++;
       op[GUARD(0)] = READ;
       op[GUARD(1)] = READ;
       if
       :: op[GUARD(0)] = WRITE
       :: op[GUARD(1)] = WRITE
       :: skip
       fi;
       if
       :: MARKER(writers) || readers == DEAD && (op[GUARD(0)] == WRITE || writers == NIL) ->
          break
       :: !MARKER(writers) && writers != NIL && !(op[GUARD(0)] == WRITE && readers != NIL) ->
          take(v);
          wake(x_party);
          got(v)
       :: readers != NIL && readers != DEAD && (op[GUARD(0)] == WRITE || op[GUARD(1)] == WRITE) ->
          give(w);
          wake(x_party)
       :: writers == NIL && (readers == NIL || op[GUARD(0)] == READ && op[GUARD(1)] == READ) ->
          chosen = NOBODY;
          waits = 1;
          val[GUARD(0)] = (op[GUARD(0)] == WRITE -> w : WAITING);
          val[GUARD(1)] = (op[GUARD(1)] == WRITE -> w : WAITING);
          post(GUARD(0));
          post(GUARD(1));
          park(ALT)
       fi;
       v = 0;
       verify()
     }
end_waits:
     if
     :: state[ALT] == RUNS
     :: atomic {
          state[ALT] == WOKEN ->
          assert(!later[ALT]);
          state[ALT] = RUNS;
          if
          :: val[GUARD(chosen)] == POISON ->
             val[GUARD(0)] = WAITING;
             val[GUARD(1)] = WAITING;
             refused(w);
             break
          :: val[GUARD(chosen)] != POISON && op[GUARD(chosen)] == READ ->
             got(val[GUARD(chosen)])
          :: else ->
             assert(taken[w])
          fi;
          val[GUARD(0)] = WAITING; /* a guard that lost keeps its value till it is posted again */
          val[GUARD(1)] = WAITING;
          verify()
        }
     :: atomic {
          state[ALT] == CANCELLED ->
          state[ALT] = RUNS;
          if
          :: chosen == NOBODY ->
             refused(w)
          :: chosen != NOBODY && op[GUARD(chosen)] == WRITE && val[GUARD(chosen)] != POISON ->
guard_stands:
             assert(taken[w]);
             later[ALT] = 1
          :: else
          fi;
          val[GUARD(0)] = WAITING;
          val[GUARD(1)] = WAITING;
          verify()
        }
     fi
  :: else ->
     break
  od
}
#endif

#if GROUPS
inline post_member(i, v) {
  x_o = MEMBER(i);
  if
  :: op[x_o] == READ && MARKER(writers) || op[x_o] == WRITE && readers == DEAD ->
     missing--;
     val[x_o] = POISON
  :: op[x_o] == READ && writers != NIL && !MARKER(writers) ->
     missing--;
     take(x_v);
     wake(x_party);
     val[MEMBER(i)] = x_v;
     stamps++;
     seq[MEMBER(i)] = stamps;
     since[x_v] = stamps
  :: op[x_o] == WRITE && readers != NIL && readers != DEAD ->
     missing--;
     give(v);
     wake(x_party)
  :: else ->
group_post:
     val[x_o] = (op[x_o] == WRITE -> v : WAITING);
     member[i] = 1;
     post(x_o)
  fi
}

inline result(i, v) {
  if
  :: val[MEMBER(i)] == POISON ->
     poisoned = 1
  :: val[MEMBER(i)] != POISON && op[MEMBER(i)] == READ ->
     got(val[MEMBER(i)])
  :: else ->
     assert(taken[v])
  fi;
  val[MEMBER(i)] = WAITING
}

/* Two reads, two writes, or a read and a write. */
proctype Together() {
  byte v, round;
  bit poisoned;
  do
  :: round < K && !poisoned ->
     atomic {
       v = 1 + WRITERS * K + ALTS * K + 2 * round;
       round++;
       op[MEMBER(0)] = READ;
       op[MEMBER(1)] = READ;
       if
       :: op[MEMBER(0)] = WRITE
       :: op[MEMBER(1)] = WRITE
       :: op[MEMBER(0)] = WRITE;
          op[MEMBER(1)] = WRITE
       :: skip
       fi;
       missing = 3; /* with itself, so that nobody wakes it before it waits */
       post_member(0, v);
       post_member(1, v + 1);
       missing--;
       if
       :: missing ->
          park(GROUP)
       :: else ->
          result(0, v);
          result(1, v + 1)
       fi;
       verify()
     }
end_waits:
     if
     :: state[GROUP] == RUNS
     :: atomic {
          state[GROUP] == WOKEN ->
          assert(!later[GROUP] && !missing);
          state[GROUP] = RUNS;
          result(0, v);
          result(1, v + 1);
          verify()
        }
     :: atomic {
          state[GROUP] == CANCELLED ->
          assert(!missing);
          state[GROUP] = RUNS;
          if
          :: op[MEMBER(0)] == WRITE && op[MEMBER(1)] == WRITE &&
             val[MEMBER(0)] != POISON && val[MEMBER(1)] != POISON ->
group_stands:
             assert(taken[v] && taken[v + 1]);
             later[GROUP] = 1
          :: else
          fi;
          val[MEMBER(0)] = WAITING;
          val[MEMBER(1)] = WAITING;
          verify()
        }
     fi
  :: else ->
     break
  od
}
#endif

active proctype Canceller() {
  byte p;
end_idle:
  do
  :: atomic {
       cancels < CANCELS ->
       do
       :: p < TASKS - 1 ->
          p++
       :: break
       od;
       if
       :: state[p] == PARKED || state[p] == WOKEN ->
          cancels++;
          cancel(p);
          verify()
       :: else
       fi;
       p = 0
     }
  od
}

#ifdef ENDS
inline end_offer() {
  meet(x_o);
  val[x_o] = POISON;
  wake(x_party)
}

inline end_readers() {
  do
  :: readers != NIL && readers != DEAD ->
     x_o = readers;
     end_offer()
  :: else ->
     break
  od;
  readers = DEAD
}

/* Poison by whom ever: what was given back is dropped (DEAD), or can still be read (DRAINED). */
inline end(last) {
  end_readers();
  x_i = NIL;
  do
  :: writers != NIL && !MARKER(writers) ->
     x_o = writers;
     if
     :: op[x_o] == GIVEN ->
        unlink(writers, x_o);
        if
        :: last == DRAINED ->
           link(x_i, x_o)
        :: else ->
           dropped[val[x_o]] = 1;
           back[val[x_o]] = 0;
           val[x_o] = WAITING
        fi
     :: else ->
        end_offer()
     fi
  :: else ->
     break
  od;
  if
  :: x_i == NIL ->
     writers = last
  :: else ->
     last_of(x_i);
     next[x_last] = last;
     writers = x_i
  fi
}

inline close() {
  end_readers();
  if
  :: writers == NIL ->
     writers = DRAINED
  :: else ->
     last_of(writers);
     next[x_last] = DRAINED
  fi
}

active proctype Ender() {
end_idle:
  atomic {
    if
    :: true ->
       end(DEAD)
    :: true ->
       end(DRAINED)
    :: true ->
       close()
    fi;
    verify()
  }
}
#endif

init {
  byte p;
  atomic {
    do
    :: p < READERS ->
       run Plain(p, READ);
       p++
    :: p >= READERS && p < READERS + WRITERS ->
       run Plain(p, WRITE);
       p++
    :: else ->
       break
    od;
#if ALTS
    run Select();
#endif
#if GROUPS
    run Together();
#endif
    p = 0
  }
}
