/*
MODEL The driver of coroutines on MicroPython: its ready list, asyncio's queue, wakes and cancels.
RULE 2: who was met is resumed once, by the driver or, a foreign task, by asyncio; whether the
    driver runs, is parked, waits for the next look of the watchdog or gives way (assertions)
RULE 6: a wait with a time limit ends by its wake or by the time, not by both (assertions)
RULE 8: a task cancelled while it is in the ready list is resumed by its cancellation alone, or, if
    it waits in a plain write, alone without it; one to be cancelled later is cancelled before
    anybody can meet what it waits on (assertions)
FULL -DOWNED=2 -DFOREIGN=1 -DACTS=6 -DLIMIT=2
FULL -DOWNED=2 -DFOREIGN=1 -DACTS=6 -DLIMIT=1 -DWATCH
FULL -DOWNED=3 -DFOREIGN=0 -DACTS=6 -DLIMIT=2 -DWATCH
FULL -DOWNED=1 -DFOREIGN=2 -DACTS=6 -DLIMIT=2
BOUNDED -DOWNED=2 -DFOREIGN=1 -DACTS=4 -DLIMIT=1 -DWATCH
BOUNDED -DOWNED=2 -DFOREIGN=1 -DACTS=4 -DLIMIT=2
FAULT PARKS_BLIND the driver parks after LIMIT resumes, whatever stands in its list
FAULT NO_KICK who wakes does not look whether the driver is parked
FAULT KICKED_TWICE the driver, kicked, stays in asyncio's queue for the next look as well
FAULT NO_SKIP a cancelled task that was woken stays in the ready list
FAULT NO_UNLIMIT a wake leaves the time limit standing
FAULT STILL_QUEUED a foreign task that was woken and then cancelled stays in asyncio's queue
FAULT SENT_FOREIGN the driver resumes a foreign task itself
FAULT LATE_CANCEL a task to be cancelled later waits for its turn like all others
FAULT STOPS_SHORT the driver gives way to asyncio just before it would cancel a task
FAULT LATE_RESUME a write that was met is cancelled, and asyncio may get there before the driver
FAULT GIVES_WAY the driver gives way to asyncio before it has let such a write go on
FAULT TWICE_READY such a write stands twice in the ready list
MAPS wake | ufuture/micro.py:_wake_parked | _ready.append(parked)
MAPS kick | ufuture/micro.py:_kick | _push(_driver)
MAPS kick_timed | ufuture/micro.py:_kick | core._task_queue.remove(_driver)
MAPS cancel_first | ufuture/micro.py:_drive | _cancels.pop(0).cancel()
MAPS next_ready | ufuture/micro.py:_drive | for parked in _ready:  # sees what is appended while it runs
MAPS resume | ufuture/micro.py:_drive | task.coro.send(None)  # its data is parked
MAPS other_foreign | ufuture/micro.py:_other | parked.queued = True
MAPS other_later | ufuture/micro.py:_other | parked.victim.cancel()
MAPS drop | ufuture/micro.py:_drive | advance(left)
MAPS gives_way | ufuture/micro.py:_drive | _push(this)
MAPS goes_on | ufuture/micro.py:_drive | if _resumed or _ready and _ready[0].victim is not None:
MAPS parks | ufuture/micro.py:_drive | if not _ready and not _cancels:
MAPS look | ufuture/micro.py:_drive | if core._task_queue.peek() is None and _no_stream() and _look():
MAPS parks_timed | ufuture/micro.py:_drive | _timed = True
MAPS runs_again | ufuture/micro.py:_drive | _timed = False
MAPS skip_it | ufuture/micro.py:_skip | _ready[i] = _NOBODY
MAPS removed | ufuture/micro.py:Parked.remove | if self.cancelled() and not self.queued:
MAPS removed_queued | ufuture/micro.py:Parked.remove | core._task_queue.remove(task)
MAPS passes | ufuture/micro.py:Parked.__bool__ | task.data = None
MAPS park_ms | ufuture/micro.py:park_ms | parked.queued = True
MAPS unlimit | ufuture/micro.py:unlimit | core._task_queue.remove(task)
MAPS later_next | ufuture/micro.py:cancel_later | _ready.insert(i + 1, _Later(task))
MAPS later_first | ufuture/micro.py:cancel_later | _hurry()
MAPS hurries | ufuture/micro.py:_hurry | _push_at(_driver, ticks_add(ticks_ms(), -1000))
MAPS stands | ufuture/micro.py:Owned._resume | _ready.extend((resumed, _NOBODY, resumed))  # from here on nothing needs memory
MAPS resumed | ufuture/micro.py:_Resumed.cancel | core._task_queue.remove(task)
*/
#define TASKS (OWNED + FOREIGN)
#define DRIVER TASKS
#define LOOP (TASKS + 1)
#define IS_OWNED(t) ((t) < OWNED)

/* Entries of the ready list: a task, nobody, a task to cancel, or one whose write stands. */
#define SKIP TASKS
#define LATER(t) (TASKS + 1 + (t))
#define RESUMED(t) (2 * TASKS + 1 + (t))
#define READY (5 * TASKS + 2)
#define ANY(x) (x[0] || x[TASKS / 2] || x[TASKS - 1]) /* of at most three tasks */

/* Where a task, or the driver, stands in asyncio's queue. Of those who are there any may be the
next: so time passes as it likes, and the order of asyncio is not relied upon. */
#define OUT 0
#define NOW 1
#define TIMED 2
#define FIRST 3 /* before all others */

/* What a task waits for, as the channels know it. */
#define RUNS 0
#define WAITS 1
#define MET 2
#define ENDED 3

byte ready[READY];
byte n_ready, at;        /* its length, and what the driver has resumed of it in this round */
byte where[TASKS + 1];
byte waits[TASKS];
bit queued[TASKS];       /* of what it waits on: in asyncio's queue */
bit parked[TASKS];       /* task.data is what it waits on */
bit thrown[TASKS];       /* task.data is a CancelledError */
byte writes[TASKS];      /* it waits to write: its cancellation comes later */
bit held[TASKS];         /* it goes on first, and is to be cancelled at its next wait */
byte n_resumed;          /* entries RESUMED in the ready list */
bit cancels[TASKS];      /* stands in _cancels */
bit appends = 1;         /* names["wake"] is _append: the driver is not parked */
bit drives, timed;
byte running = LOOP, caller; /* who runs, and who has resumed it */
byte acts;

bit owed[TASKS]; /* to be cancelled at its next wait, before anybody meets it */

hidden byte x_i, x_n, x_t;

inline push(t, how) {
  assert(where[t] == OUT); /* once in the queue */
  where[t] = how
}

inline remove(t) {
  assert(where[t] != OUT);
  where[t] = OUT
}

inline append(e) {
  assert(n_ready < READY);
  ready[n_ready] = e;
  n_ready++
}

inline kick() {
  if
  :: timed ->
#ifndef FAULT_KICKED_TWICE
kick_timed:
     remove(DRIVER);
#endif
     timed = 0
  :: else
  fi;
  push(DRIVER, NOW);
  appends = 1
}

inline wake(t) {
  append(t);
  if
  :: !appends ->
#ifndef FAULT_NO_KICK
     kick()
#else
     skip
#endif
  :: else
  fi
}

inline unlimit(t) {
  if
  :: queued[t] ->
#ifndef FAULT_NO_UNLIMIT
     remove(t);
     parked[t] = 1;
     queued[t] = 0
#else
     skip
#endif
  :: else
  fi
}

/* A channel meets what t waits on. */
inline meet(t) {
  assert(waits[t] == WAITS && !owed[t]);
  waits[t] = MET;
  unlimit(t);
  wake(t)
}

inline skip_it(t) {
  x_i = n_ready;
  do
  :: x_i > 0 ->
     x_i--;
     if
     :: ready[x_i] == t ->
        ready[x_i] = SKIP;
        break
     :: else
     fi
  :: else ->
     break
  od
}

/* What writes[t] says. A plain write of a task of ours takes no CancelledError when it was met. */
#define GUARDED 1
#define PLAIN 2

inline hurry() {
  if
  :: !appends ->
     kick()
  :: else
  fi;
  if
  :: running != DRIVER ->
hurries:
     remove(DRIVER);
     push(DRIVER, FIRST)
  :: else
  fi
}

/* task.cancel() */
inline cancel(t) {
  if
  :: waits[t] == ENDED || thrown[t]
  :: !(waits[t] == ENDED || thrown[t]) && parked[t] && waits[t] == MET && writes[t] == PLAIN ->
#ifndef FAULT_LATE_RESUME
     if
     :: !drives ->
        hurry()
     :: else
     fi;
#endif
#ifndef FAULT_TWICE_READY
     skip_it(t);
#endif
stands:
     append(RESUMED(t));
     append(t);
     append(LATER(t));
     n_resumed++;
     owed[t] = 0;
     held[t] = 0;
     parked[t] = 0;
     push(t, NOW);
     thrown[t] = 1
  :: else ->
     owed[t] = 0;
     if
     :: parked[t] ->
removed:
        if
        :: queued[t] ->
#ifndef FAULT_STILL_QUEUED
removed_queued:
           remove(t)
#else
           skip
#endif
        :: else
        fi;
        if
        :: waits[t] == MET && !queued[t] ->
#ifndef FAULT_NO_SKIP
           skip_it(t)
#else
           skip
#endif
        :: else
        fi;
        queued[t] = 0;
        parked[t] = 0;
        push(t, NOW)
     :: !parked[t] && where[t] == TIMED -> /* it sleeps */
        remove(t);
        push(t, NOW)
     :: else
     fi;
     thrown[t] = 1;
     /* a write that was met stands; anything else is withdrawn, or given back */
     waits[t] = (waits[t] == MET && writes[t] == GUARDED -> MET : RUNS)
  fi
}

inline cancel_later(t) {
  owed[t] = 1;
  if
  :: drives ->
later_next:
     assert(at > 0 && ready[at - 1] == t);
     append(SKIP);
     x_i = n_ready - 1;
     do
     :: x_i > at ->
        ready[x_i] = ready[x_i - 1];
        x_i--
     :: else ->
        break
     od;
     ready[at] = LATER(t)
  :: else ->
later_first:
     cancels[t] = 1;
#ifndef FAULT_LATE_CANCEL
     hurry()
#else
     if
     :: !appends ->
        kick()
     :: else
     fi
#endif
  fi
}

/* `me`: what the driver has resumed waits on its own state, which the driver notes. */
inline park(t) {
  waits[t] = WAITS;
  parked[t] = 1;
  if
  :: writes[t] = 0
  :: writes[t] = GUARDED
  :: IS_OWNED(t) ->
     writes[t] = PLAIN
  fi
}

/* What a task does: it meets and cancels others, and itself, then waits or ends. */
proctype Task(byte t) {
  byte other;
end_out:
  do
  :: atomic {
       running == t ->
       assert(waits[t] != ENDED && where[t] == OUT && !queued[t] && !parked[t]);
       if
       :: thrown[t] ->
          thrown[t] = 0;
          if
          :: waits[t] == MET ->
             assert(writes[t] == GUARDED); /* what is thrown there is caught */
             waits[t] = RUNS;
             cancel_later(t)
          :: else
          fi
       :: else ->
          assert(!owed[t]);
          owed[t] = held[t];
          held[t] = 0;
          waits[t] = RUNS
       fi;
       do
       :: acts < ACTS ->
          acts++;
          other = 0;
          do
          :: other < TASKS - 1 ->
             other++
          :: break
          od;
          if
          :: waits[other] == WAITS ->
             meet(other)
          :: other != t && !owed[other] && (parked[other] || where[other] == TIMED) ->
             cancel(other)
          :: other == t && IS_OWNED(t) && !owed[t] ->
             cancel_later(t)
          :: else
          fi;
          other = 0
       :: break
       od;
       if
       :: true -> /* until it is met */
          park(t)
       :: acts < ACTS ->
          acts++;
          if
          :: true ->
park_ms:
             park(t);
             writes[t] = (writes[t] == PLAIN -> GUARDED : writes[t]);
             queued[t] = 1;
             push(t, TIMED)
          :: true -> /* a turn */
             park(t);
             writes[t] = 0;
             waits[t] = MET;
             wake(t)
          :: true -> /* asyncio's sleep */
             push(t, TIMED)
          fi
       :: waits[t] = ENDED;
          owed[t] = 0
       fi;
       running = caller
     }
  od
}

proctype Driver() {
  byte left, e;
end_out:
  do
  :: atomic {
       running == DRIVER ->
runs_again:
       timed = 0;
       appends = 1
     };
again:
     left = LIMIT;
     atomic {
       x_t = 0;
       do
       :: x_t < TASKS ->
          if
          :: cancels[x_t] ->
cancel_first:
             cancels[x_t] = 0;
             cancel(x_t)
          :: else
          fi;
          x_t++
       :: else ->
          break
       od;
       drives = 1
     };
next_ready:
     do
     :: at < n_ready && left ->
        atomic {
          e = ready[at];
          at++;
          left--;
          if
          :: e == SKIP
          :: e >= RESUMED(0) ->
             assert(n_resumed);
             n_resumed--;
             e = e - RESUMED(0);
             assert(thrown[e]);
resumed:
             remove(e);
             thrown[e] = 0;
             parked[e] = 1;
             held[e] = 1
          :: e > SKIP && e < RESUMED(0) ->
other_later:
             cancel(e - SKIP - 1)
          :: e < SKIP && !IS_OWNED(e) ->
#ifdef FAULT_SENT_FOREIGN
             assert(IS_OWNED(e)); /* its end would never be known to asyncio */
#endif
other_foreign:
             assert(waits[e] == MET && parked[e] && !thrown[e] && !queued[e]);
             queued[e] = 1;
             push(e, NOW)
          :: else ->
resume:
             assert(waits[e] == MET && parked[e] && !thrown[e]);
             parked[e] = 0;
             caller = DRIVER;
             running = e
          fi
        };
        running == DRIVER
     :: else ->
        break
     od;
     atomic {
       drives = 0;
drop:
       x_i = at;
       do
       :: x_i < n_ready ->
          ready[x_i - at] = ready[x_i];
          x_i++
       :: else ->
          break
       od;
       n_ready = n_ready - at;
       x_i = n_ready;
       do
       :: x_i < n_ready + at ->
          ready[x_i] = 0;
          x_i++
       :: else ->
          break
       od;
       at = 0;
       left = 0;
       e = 0;
#ifndef FAULT_STOPS_SHORT
       if
#ifndef FAULT_GIVES_WAY
       :: n_resumed || n_ready && ready[0] > SKIP ->
#else
       :: n_ready && ready[0] > SKIP && ready[0] < RESUMED(0) ->
#endif
goes_on:
          goto again
       :: else
       fi;
#endif
       if
#ifdef FAULT_PARKS_BLIND
       :: true ->
#else
       :: !n_ready && !ANY(cancels) ->
#endif
parks:
#ifdef WATCH
          if
          :: !ANY(where) ->
look:
             x_t = 0;
             do
             :: x_t < TASKS - 1 ->
                x_t++
             :: break
             od;
             if
             :: waits[x_t] == WAITS -> /* it poisons what waits */
                meet(x_t)
             :: else
             fi;
             if
             :: n_ready ->
                goto again
             :: else
             fi
          :: else
          fi;
          push(DRIVER, TIMED);
parks_timed:
          timed = 1;
#endif
          appends = 0
#ifndef FAULT_PARKS_BLIND
       :: else ->
gives_way:
          push(DRIVER, NOW)
#endif
       fi;
       running = LOOP
     }
  od
}

/* Between two steps of asyncio: whoever is to be resumed will be, by one alone. */
inline verify() {
  x_t = 0;
  do
  :: x_t < TASKS ->
     x_n = 0;
     x_i = 0;
     do
     :: x_i < n_ready ->
        x_n = x_n + (ready[x_i] == x_t -> 1 : 0);
        x_i++
     :: else ->
        break
     od;
     if
     :: thrown[x_t] ->
        assert(where[x_t] == NOW && !parked[x_t]);
        assert(x_n == 0 || writes[x_t] == PLAIN && x_n == 1 && where[DRIVER] == FIRST)
     :: !thrown[x_t] && waits[x_t] == MET ->
        assert(parked[x_t] && x_n + (where[x_t] == NOW) == 1);
        assert(queued[x_t] == (where[x_t] == NOW) && !(IS_OWNED(x_t) && queued[x_t]))
     :: !thrown[x_t] && waits[x_t] == WAITS ->
        assert(parked[x_t] && x_n == 0 && where[x_t] == (queued[x_t] -> TIMED : OUT))
     :: else ->
        assert(x_n == 0 && !parked[x_t] && (waits[x_t] == RUNS || where[x_t] == OUT))
     fi;
     x_t++
  :: else ->
     break
  od;
  assert(!n_ready && !ANY(cancels) || where[DRIVER] == NOW || where[DRIVER] == FIRST);
  assert(timed == (where[DRIVER] == TIMED));
  x_i = 0;
  x_n = 0;
  x_t = 0
}

/* asyncio: any of those in its queue is the next. */
proctype Loop() {
  byte t;
end_idle:
  do
  :: atomic {
       running == LOOP ->
       verify();
       t = 0;
       do
       :: t < DRIVER ->
          t++
       :: break
       od;
       if
       :: where[t] == OUT || where[DRIVER] == FIRST && t != DRIVER
       :: else ->
          remove(t);
          caller = LOOP;
          if
          :: t != DRIVER && parked[t] && !thrown[t] ->
passes:
             assert(queued[t]);
             queued[t] = 0;
             parked[t] = 0
          :: else
          fi;
          running = t
       fi;
       t = 0
     }
  od
}

init {
  byte t;
  atomic {
    do
    :: t < TASKS ->
       run Task(t);
       if
       :: IS_OWNED(t) ->
          waits[t] = MET;
          parked[t] = 1;
          append(t)
       :: else ->
          where[t] = NOW
       fi;
       t++
    :: else ->
       break
    od;
    where[DRIVER] = NOW;
    t = 0;
    run Driver();
    run Loop()
  }
}
