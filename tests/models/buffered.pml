/*
MODEL A buffered channel with plain operations, an alternative, cancels and each way to end.
RULE 1, 2: a FIFO of any capacity: a write waits only beside a full buffer, a read only where
    nothing can be read, who waits longest comes first, no message is lost or doubled (assertions)
RULE 3, 9: poison by a writer, and close, let what is buffered or given back be read; by a reader,
    or of the channel, they drop it; close keeps waiting writers, poison ends them (assertions)
RULE 1: a buffer that overflows lets nobody wait to write, and drops the value written or the oldest
    that is buffered, only where it is full, and nothing that was given back (assertions)
RULE 6, 7: write guards wait beside a full buffer and are admitted by a read, read guards are fed
    by a write; the other half of the alternative is withdrawn (assertions)
RULE 8: what is given back is read before what is buffered, that before waiting writers (assertions)
FULL -DCAPACITY=0 -DREADERS=2 -DWRITERS=2 -DALTS=1 -DK=1 -DCANCELS=1
FULL -DCAPACITY=1 -DREADERS=2 -DWRITERS=2 -DALTS=1 -DK=1 -DCANCELS=1
FULL -DCAPACITY=1 -DREADERS=2 -DWRITERS=2 -DALTS=0 -DK=2 -DCANCELS=1
FULL -DCAPACITY=2 -DREADERS=1 -DWRITERS=3 -DALTS=1 -DK=1 -DCANCELS=2
FULL -DCAPACITY=1 -DOVERFLOW=KEEP_OLDEST -DREADERS=2 -DWRITERS=2 -DALTS=1 -DK=1 -DCANCELS=1
FULL -DCAPACITY=1 -DOVERFLOW=KEEP_NEWEST -DREADERS=2 -DWRITERS=2 -DALTS=1 -DK=1 -DCANCELS=1
FULL -DCAPACITY=2 -DOVERFLOW=KEEP_NEWEST -DREADERS=2 -DWRITERS=1 -DALTS=0 -DK=4 -DCANCELS=1
FULL -DCAPACITY=UNLIMITED -DRING=1 -DREADERS=2 -DWRITERS=2 -DALTS=0 -DK=2 -DCANCELS=1
FULL -DCAPACITY=UNLIMITED -DRING=2 -DREADERS=1 -DWRITERS=1 -DALTS=0 -DK=5 -DCANCELS=0
BOUNDED -DCAPACITY=0 -DREADERS=1 -DWRITERS=1 -DALTS=1 -DK=1 -DCANCELS=1
BOUNDED -DCAPACITY=1 -DREADERS=1 -DWRITERS=2 -DALTS=1 -DK=1 -DCANCELS=1
BOUNDED -DCAPACITY=2 -DREADERS=1 -DWRITERS=2 -DALTS=0 -DK=2 -DCANCELS=1
BOUNDED -DCAPACITY=1 -DOVERFLOW=KEEP_OLDEST -DREADERS=1 -DWRITERS=2 -DALTS=1 -DK=1 -DCANCELS=1
BOUNDED -DCAPACITY=2 -DOVERFLOW=KEEP_NEWEST -DREADERS=1 -DWRITERS=2 -DALTS=0 -DK=2 -DCANCELS=1
BOUNDED -DCAPACITY=UNLIMITED -DRING=1 -DREADERS=1 -DWRITERS=1 -DALTS=0 -DK=4 -DCANCELS=0
FAULT OVERTAKES a waiting writer's value is read before those that are buffered
FAULT NOT_ADMITTED a read leaves the writer waiting beside the room it made
FAULT GIVEN_LAST what was given back is read after what is buffered
FAULT STALE the markers are not set anew after a read
FAULT RING_GROWN a ring that grows is not unrolled
FAULT POISON_DROPS poison by a writer drops what is buffered
FAULT POISON_KEEPS poison by a reader keeps what is buffered
FAULT OVERFULL a writer is let in beside a full buffer
FAULT DROPS_YOUNGEST to keep the newest, the last of those buffered is dropped instead of the first
FAULT DROPS_GIVEN to keep the newest, what was given back is dropped before what is buffered
FAULT DROPS_EARLY to keep the oldest, a value is dropped though there is room for one
FAULT MAKES_WAIT a full buffer that overflows makes a writer wait
MAPS refresh_readers | cspcore/buffered.py:_refresh | self._readers = OPEN if room or self._read_queue is not None else None
MAPS refresh_writers | cspcore/buffered.py:_refresh | self._writers = OPEN
MAPS refresh_drained | cspcore/buffered.py:_refresh | self._writers = DRAINED if self._readers is DEAD else None
MAPS append | cspcore/buffered.py:_append | ring[(self._first + self._count) % len(ring)] = value
MAPS ring_grows | cspcore/buffered.py:_append | ring = ring[self._first :] + ring[: self._first]
MAPS overflow_oldest | cspcore/buffered.py:_append | elif self.overflow == "keep_oldest":
MAPS overflow_newest | cspcore/buffered.py:_append | self._popleft()
MAPS popleft | cspcore/buffered.py:_popleft | self._first = (i + 1) % len(self._ring)
MAPS take_given | cspcore/buffered.py:BaseBufferedChannel.take | if w is not None and w.op == GIVEN:
MAPS take_buffered | cspcore/buffered.py:BaseBufferedChannel.take | v = self._ring[self._first]
MAPS admit | cspcore/buffered.py:BaseBufferedChannel.take | self._append(w.value)
MAPS take_waiting | cspcore/buffered.py:BaseBufferedChannel.take | elif w is not None:  # capacity 0
MAPS give_reader | cspcore/buffered.py:BaseBufferedChannel.give | party = self._met(self._read_queue, value)
MAPS give_buffer | cspcore/buffered.py:BaseBufferedChannel.give | self._append(value)
MAPS meet | cspcore/buffered.py | def _met(self, offer, value):
MAPS give_back | cspcore/buffered.py:BaseBufferedChannel.give_back | self._write_queue = insert_given(self._write_queue, offer)
MAPS back_to_reader | cspcore/buffered.py:BaseBufferedChannel.give_back | return self._met(self._read_queue, value)
MAPS close | cspcore/buffered.py | def end_close(self):
MAPS end_readers | cspcore/buffered.py | def _end_readers(self, chain):
MAPS end | cspcore/buffered.py | def _end(self, last):
MAPS end_drops | cspcore/buffered.py:BaseBufferedChannel._end | self._first = self._count = 0
MAPS poll | cspcore/choice.py | def poll(self, fair):
*/
#define UNLIMITED 100
#ifndef RING
#define RING CAPACITY
#endif

#define BLOCK 0
#define KEEP_OLDEST 1
#define KEEP_NEWEST 2
#ifndef OVERFLOW
#define OVERFLOW BLOCK
#endif
#ifdef FAULT_MAKES_WAIT
#define NEVER_WAITS (CAPACITY == UNLIMITED)
#else
#define NEVER_WAITS (CAPACITY == UNLIMITED || OVERFLOW != BLOCK)
#endif

#define NIL 0
#define DEAD 1
#define DRAINED 2
#define OPEN 3
#define FIRST 4 /* of the offers that are no markers */

#define TASKS (READERS + WRITERS + ALTS)
#define ALT (READERS + WRITERS)
#define OWN(p) (FIRST + (p))
#define GUARD(i) (FIRST + TASKS + (i))
#define POOL (FIRST + TASKS + 2 * ALTS)
#define OFFERS (POOL + CANCELS)
#define IS_GUARD(o) (o >= FIRST + TASKS && o < POOL)

#define READ 0
#define WRITE 1
#define GIVEN 2

#define MESSAGES (K * WRITERS + K * ALTS)
#define SPACE (2 * MESSAGES + 2)
#define WAITING 0 /* messages are 1, 2, ... */
#define TAKEN 254
#define POISON 255
#define NOBODY 255

#define RUNS 0
#define PARKED 1
#define WOKEN 2
#define CANCELLED 3

byte readers, writers; /* whether a write, a read can proceed: NIL if not, else a marker */
/* The queues of readers and of writers: their links are the business of other models. */
#define SIDE(o) (o == READ -> 0 : 1)
#define AT(o, i) ((o == READ -> 0 : OFFERS) + i)
#define rq queue
#define wq(i) queue[OFFERS + (i)]
#define n_rq n[0]
#define n_wq n[1]
byte queue[2 * OFFERS], n[2];
byte ring[SPACE], size = RING, first, count;
byte op[OFFERS], val[OFFERS], seq[OFFERS];
byte state[TASKS], order[TASKS];
byte stamps, cancels, chosen;

/* What the checks know: where each message is, and the order in which they came. */
#define UNKNOWN 0
#define INSIDE 1 /* it waits with its writer, or is buffered */
#define HELD 2   /* its reader has been met, and has not run since */
#define BACK 3
#define READ_IT 4
#define DROPPED 5
byte is[MESSAGES + 1], since[MESSAGES + 1];
bit wrote[MESSAGES + 1];
byte arrivals;
bit ended, all_dropped;

hidden byte x_m, x_p, x_q, x_k, x_l, x_i, x_j, x_o, x_v, x_w, x_party, x_c, x_last;
hidden byte x_unrolled[SPACE];

inline refresh() {
  if
  :: readers != DEAD ->
refresh_readers:
     readers = (NEVER_WAITS || count < CAPACITY || n_rq -> OPEN : NIL)
  :: else
  fi;
  if
  :: count || n_wq ->
refresh_writers:
     writers = OPEN
  :: !count && !n_wq && writers != DEAD ->
refresh_drained:
     writers = (readers == DEAD -> DRAINED : NIL)
  :: else
  fi
}

inline grow() {
  x_i = 0;
  do
  :: x_i < size ->
#ifdef FAULT_RING_GROWN
     x_unrolled[x_i] = ring[x_i];
#else
     x_unrolled[x_i] = ring[(first + x_i) % size];
#endif
     x_i++
  :: else ->
     break
  od;
  do
  :: x_i > 0 ->
     x_i--;
     ring[x_i] = x_unrolled[x_i];
     x_unrolled[x_i] = 0
  :: else ->
     break
  od;
  size = 2 * size;
  assert(size <= SPACE);
  first = 0
}

inline popleft(v) {
  v = ring[first];
  ring[first] = 0;
  first = (first + 1) % size;
  count--
}

/* What overflows came last, or before all that are buffered. */
inline overflows(v, last) {
  assert(count == CAPACITY && is[v] == INSIDE);
  x_c = 1;
  do
  :: x_c <= MESSAGES ->
     assert(is[x_c] != INSIDE || x_c == v || (since[x_c] < since[v]) == last);
     x_c++
  :: else ->
     break
  od;
  is[v] = DROPPED
}

#ifdef FAULT_DROPS_EARLY
#define FULL (count + 1 >= size)
#else
#define FULL (count == size)
#endif

inline append(v) {
  if
  :: count == size && CAPACITY == UNLIMITED ->
ring_grows:
     grow()
  :: else
  fi;
  if
  :: FULL && OVERFLOW == KEEP_OLDEST ->
overflow_oldest:
     overflows(v, 1)
  :: !(FULL && OVERFLOW == KEEP_OLDEST) ->
     if
     :: count == size ->
overflow_newest:
        x_l = ring[first];
#ifdef FAULT_DROPS_YOUNGEST
        x_l = ring[(first + count - 1) % size];
#endif
#ifdef FAULT_DROPS_GIVEN
        x_l = (n_wq -> val[wq(0)] : x_l);
#endif
        assert(OVERFLOW == KEEP_NEWEST);
        overflows(x_l, 0);
        popleft(x_l)
     :: else
     fi;
     ring[(first + count) % size] = v;
     count++
  fi
}

/* An offer out of its queue, and the other one of its alternative. */
inline withdraw(it, both) {
  x_p = both;
  x_o = it;
  do
  :: x_o != NIL ->
     x_j = AT(op[x_o], 0);
     do
     :: queue[x_j] != x_o ->
        x_j++;
        assert(x_j < AT(op[x_o], n[SIDE(op[x_o])]))
     :: else ->
        break
     od;
     n[SIDE(op[x_o])]--;
     do
     :: x_j < AT(op[x_o], n[SIDE(op[x_o])]) ->
        queue[x_j] = queue[x_j + 1];
        x_j++
     :: else ->
        break
     od;
     queue[x_j] = NIL;
     x_o = x_p;
     x_p = NIL
  :: else ->
     break
  od;
  refresh()
}

inline post(o) {
  queue[AT(op[o], n[SIDE(op[o])])] = o;
  n[SIDE(op[o])]++;
  refresh()
}

#define OTHER(o) (IS_GUARD(o) -> GUARD(0) + GUARD(1) - (o) : NIL)

/* A write guard that was not chosen is no message. */
inline drop_guards() {
  x_i = 0;
  do
  :: x_i < 2 ->
     if
     :: op[GUARD(x_i)] == WRITE && chosen != x_i ->
        is[val[GUARD(x_i)]] = DROPPED
     :: else
     fi;
     x_i++
  :: else ->
     break
  od
}

/* An offer that waits is met, or ends. */
inline meet(o, v) {
  x_m = o;
  x_party = x_m - FIRST;
#if ALTS
  if
  :: IS_GUARD(x_m) ->
     chosen = x_m - GUARD(0);
     drop_guards();
     x_party = ALT
  :: else
  fi;
#endif
  x_q = OTHER(x_m);
  withdraw(x_m, x_q);
  val[x_m] = v
}

inline wake(p) {
  if
  :: p != NOBODY ->
     assert(state[p] == PARKED);
     state[p] = WOKEN;
     stamps++;
     order[p] = stamps
  :: else
  fi
}

/* What the checks ask. */

inline arrives(v) {
  assert(is[v] == UNKNOWN);
  is[v] = INSIDE;
  arrivals++;
  since[v] = arrivals
}

/* A message is read: given back < buffered < of waiting writers, each in the order they came. */
inline leaves(v, how) {
  assert(is[v] == INSIDE || is[v] == BACK);
  x_c = 1;
  do
  :: x_c <= MESSAGES ->
     assert(is[x_c] != BACK || x_c == v || is[v] == BACK && since[v] < since[x_c]);
     assert(is[x_c] != INSIDE || x_c == v || is[v] == BACK || since[v] < since[x_c]);
     x_c++
  :: else ->
     break
  od;
  is[v] = how
}

inline take(v) {
  x_w = wq(0);
  x_party = NOBODY;
  if
#ifdef FAULT_GIVEN_LAST
  :: n_wq && op[x_w] == GIVEN && !count ->
#else
  :: n_wq && op[x_w] == GIVEN ->
#endif
take_given:
     withdraw(x_w, NIL);
     v = val[x_w];
     val[x_w] = WAITING
#ifdef FAULT_OVERTAKES
  :: !(n_wq && op[x_w] == GIVEN) && count && !n_wq ->
#else
#ifdef FAULT_GIVEN_LAST
  :: count ->
#else
  :: !(n_wq && op[x_w] == GIVEN) && count ->
#endif
#endif
take_buffered:
     popleft(v);
     if
#ifndef FAULT_NOT_ADMITTED
     :: n_wq && op[x_w] != GIVEN ->
admit:
        append(val[x_w]);
        meet(x_w, TAKEN)
#endif
     :: else
     fi
  :: else ->
take_waiting:
     assert(n_wq);
     v = val[x_w];
     meet(x_w, TAKEN)
  fi;
  leaves(v, READ_IT);
#ifndef FAULT_STALE
  refresh()
#endif
}

inline give(v) {
  x_party = NOBODY;
  arrives(v);
  if
  :: n_rq ->
give_reader:
     meet(rq[0], v);
     leaves(v, HELD);
     since[v] = stamps + 1
  :: else ->
give_buffer:
     append(v)
  fi;
  refresh()
}

inline give_back(v, its_order) {
  assert(is[v] == HELD);
  if
  :: writers == DEAD ->
     is[v] = DROPPED
  :: writers != DEAD && n_rq ->
back_to_reader:
     is[v] = BACK;
     meet(rq[0], v);
     leaves(v, HELD);
     since[v] = stamps + 1;
     refresh();
     wake(x_party)
  :: else ->
     is[v] = BACK;
     since[v] = its_order;
     x_o = POOL + cancels - 1;
     op[x_o] = GIVEN;
     val[x_o] = v;
     seq[x_o] = its_order;
     x_i = n_wq;
     do
     :: x_i > 0 && !(op[wq(x_i - 1)] == GIVEN && seq[wq(x_i - 1)] < its_order) ->
        wq(x_i) = wq(x_i - 1);
        x_i--
     :: else ->
        break
     od;
     wq(x_i) = x_o;
     n_wq++;
     refresh()
  fi
}

/* task.cancel(), or an interrupt of a thread. */
inline cancel(p) {
  if
#if ALTS
  :: p == ALT ->
     if
     :: chosen == NOBODY ->
        drop_guards();
        withdraw(GUARD(0), GUARD(1))
     :: chosen != NOBODY && op[GUARD(chosen)] == READ && val[GUARD(chosen)] != POISON ->
        x_v = val[GUARD(chosen)];
        val[GUARD(chosen)] = POISON;
        give_back(x_v, order[p])
     :: else
     fi
#endif
  :: else ->
     if
     :: val[OWN(p)] == POISON || op[OWN(p)] == WRITE && val[OWN(p)] == TAKEN
     :: val[OWN(p)] != POISON && op[OWN(p)] == READ && val[OWN(p)] != WAITING ->
        x_v = val[OWN(p)];
        val[OWN(p)] = POISON;
        give_back(x_v, order[p])
     :: else ->
        if
        :: op[OWN(p)] == WRITE ->
           is[val[OWN(p)]] = DROPPED
        :: else
        fi;
        withdraw(OWN(p), NIL);
        val[OWN(p)] = POISON
     fi
  fi;
  state[p] = CANCELLED
}

inline end_offer() {
  if
  :: op[x_k] == WRITE ->
     is[val[x_k]] = DROPPED
  :: else
  fi;
  meet(x_k, POISON);
  wake(x_party)
}

inline end_readers() {
  do
  :: n_rq ->
     x_k = rq[0];
     end_offer()
  :: else ->
     break
  od;
  readers = DEAD
}

inline drop(v) {
  assert(all_dropped);
  is[v] = DROPPED
}

inline end(last) {
  ended = 1;
  all_dropped = (last == DEAD);
  end_readers();
  x_l = 0;
  do
  :: x_l < n_wq ->
     x_k = wq(x_l);
     if
     :: op[x_k] == GIVEN ->
        x_l++
     :: else ->
        end_offer()
     fi
  :: else ->
     break
  od;
  if
#ifdef FAULT_POISON_DROPS
  :: true ->
#else
#ifdef FAULT_POISON_KEEPS
  :: last == DEAD && !count ->
#else
  :: last == DEAD ->
#endif
#endif
     do
     :: n_wq ->
        x_k = wq(0);
        withdraw(x_k, NIL);
        drop(val[x_k]);
        val[x_k] = WAITING
     :: else ->
        break
     od;
     do
     :: count ->
        popleft(x_v);
        drop(x_v)
     :: else ->
        break
     od;
end_drops:
     first = 0;
     writers = last
#ifndef FAULT_POISON_DROPS
  :: else ->
     refresh()
#endif
  fi
}

inline close() {
  ended = 1;
  end_readers();
  refresh()
}

/* After each step. */
inline verify() {
  x_w = readers;
  x_o = writers;
  refresh();
  assert(readers == x_w && writers == x_o);
  assert(CAPACITY == UNLIMITED || count <= CAPACITY);
  /* a reader waits only while nothing can be read, but for the alternative's own offer */
  if
  :: n_rq && (count || n_wq) ->
     assert(!count && n_rq == 1 && n_wq == 1 && IS_GUARD(rq[0]) && IS_GUARD(wq(0)))
  :: else
  fi;
  /* a writer waits only beside a full buffer, behind what was given back */
  x_i = 0;
  x_last = GIVEN;
  do
  :: x_i < n_wq ->
     x_o = wq(x_i);
     assert(op[x_o] != GIVEN || x_last == GIVEN);
     assert(op[x_o] == GIVEN || op[x_o] == WRITE && count == CAPACITY && OVERFLOW == BLOCK);
     assert(is[val[x_o]] == (op[x_o] == GIVEN -> BACK : INSIDE));
     x_last = op[x_o];
     x_i++
  :: else ->
     break
  od;
  /* ended: nothing new; poisoned by a reader: nothing at all */
  assert(!ended || readers == DEAD);
  assert(!all_dropped || writers == DEAD && !count && !n_wq);
  assert(ended || writers == NIL || writers == OPEN);
  assert(!ended || count || n_wq || writers == DRAINED || writers == DEAD);
  /* who waits stands in a queue */
  x_c = n_rq;
  x_i = 0;
  do
  :: x_i < n_wq ->
     x_c = x_c + (op[wq(x_i)] == GIVEN -> 0 : 1);
     x_i++
  :: else ->
     break
  od;
  x_i = 0;
  do
  :: x_i < TASKS ->
     x_c = x_c - (state[x_i] == PARKED -> (x_i == ALT -> 2 : 1) : 0);
     x_i++
  :: else ->
     break
  od;
  assert(x_c == 0);
  /* every message is where the checks believe it: as many are inside as there should be */
  x_c = 1;
  x_j = count + n_wq;
  do
  :: x_c <= MESSAGES ->
     x_j = x_j - (is[x_c] == INSIDE || is[x_c] == BACK -> 1 : 0);
     x_c++
  :: else ->
     break
  od;
  assert(x_j == 0);
  x_c = 0;
  x_j = 0
}

inline got(v) {
  assert(is[v] == HELD || is[v] == READ_IT);
  is[v] = READ_IT
}

/* A write that returns: its message is in the channel, or was, or is with its reader. */
inline put(v) {
  assert(is[v] != UNKNOWN)
}

#ifdef FAULT_OVERFULL
#define LETS_IN(r) (r == OPEN || r == NIL)
#else
#define LETS_IN(r) (r == OPEN)
#endif

proctype Plain(byte p; bit kind) {
  byte v, round;
  do
  :: round < K ->
     atomic {
       v = (kind == WRITE -> 1 + (p - READERS) * K + round : WAITING);
       round++;
       if
       :: kind == READ && writers == NIL || kind == WRITE && readers == NIL ->
          op[OWN(p)] = kind;
          val[OWN(p)] = v;
          post(OWN(p));
          if
          :: kind == WRITE ->
             arrives(v)
          :: else
          fi;
          state[p] = PARKED
       :: kind == READ && (writers == DRAINED || writers == DEAD) || kind == WRITE && readers == DEAD ->
          break
       :: kind == READ && writers == OPEN ->
          take(v);
          wake(x_party)
       :: kind == WRITE && LETS_IN(readers) ->
          give(v);
          wake(x_party);
          put(v)
       fi;
       verify()
     }
end_waits:
     if
     :: state[p] == RUNS
     :: atomic {
          state[p] == WOKEN ->
          state[p] = RUNS;
          if
          :: val[OWN(p)] == POISON ->
             val[OWN(p)] = WAITING;
             break
          :: val[OWN(p)] != POISON && kind == READ ->
             got(val[OWN(p)])
          :: else ->
             assert(val[OWN(p)] == TAKEN);
             put(v)
          fi;
          val[OWN(p)] = WAITING
        }
     :: atomic {
          state[p] == CANCELLED ->
          state[p] = RUNS;
          val[OWN(p)] = WAITING
        }
     fi
  :: else ->
     break
  od
}

#if ALTS
#define READY_GUARD(i) (op[GUARD(i)] == READ && writers != NIL || op[GUARD(i)] == WRITE && readers != NIL)

/* Two read guards, or a read and a write guard, in any order; select or fair_select. */
proctype Select() {
  byte v, w, round, i;
  do
  :: round < K ->
     atomic {
       w = 1 + K * WRITERS + round;
       round++;
       op[GUARD(0)] = READ;
       op[GUARD(1)] = READ;
       if
       :: op[GUARD(0)] = WRITE
       :: op[GUARD(1)] = WRITE
       :: skip
       fi;
poll:
       if
       :: READY_GUARD(0) ->
          i = 0
       :: READY_GUARD(1) ->
          i = 1
       :: else ->
          i = NOBODY
       fi;
       if
       :: i == NOBODY ->
          chosen = NOBODY;
          val[GUARD(0)] = (op[GUARD(0)] == WRITE -> w : WAITING);
          val[GUARD(1)] = (op[GUARD(1)] == WRITE -> w : WAITING);
          post(GUARD(0));
          post(GUARD(1));
          if
          :: op[GUARD(0)] == WRITE || op[GUARD(1)] == WRITE ->
             arrives(w)
          :: else
          fi;
          state[ALT] = PARKED
       :: i != NOBODY && op[GUARD(i)] == READ && writers == OPEN ->
          take(v);
          wake(x_party);
          v = 0
       :: i != NOBODY && op[GUARD(i)] == WRITE && readers == OPEN ->
          give(w);
          wake(x_party)
       :: else -> /* poisoned, or drained */
          break
       fi;
       i = 0;
       verify()
     }
end_waits:
     if
     :: state[ALT] == RUNS
     :: atomic {
          state[ALT] == WOKEN ->
          state[ALT] = RUNS;
          if
          :: val[GUARD(chosen)] == POISON ->
             val[GUARD(0)] = WAITING;
             val[GUARD(1)] = WAITING;
             break
          :: val[GUARD(chosen)] != POISON && op[GUARD(chosen)] == READ ->
             got(val[GUARD(chosen)])
          :: else ->
             put(w)
          fi;
          val[GUARD(0)] = WAITING;
          val[GUARD(1)] = WAITING
        }
     :: atomic {
          state[ALT] == CANCELLED ->
          state[ALT] = RUNS;
          val[GUARD(0)] = WAITING;
          val[GUARD(1)] = WAITING
        }
     fi
  :: else ->
     break
  od
}
#endif

#if CANCELS
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
#endif

active proctype Ender() {
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

init {
  byte p;
  atomic {
    refresh();
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
    p = 0
  }
}
