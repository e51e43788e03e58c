/*
MODEL A loop of coroutines by a virtual clock, on MicroPython: processes that meet, wait and sleep,
    the driver, running, parked or on the watch, and what comes from outside at any look.
RULE 12: time passes only when nobody is ready, neither in asyncio's queue nor in the driver's
    list, to the earliest moment that somebody waits for and never past one; who wakes by its time
    does so at that very time; real time is waited for only if nobody waits for a moment
    (assertions)
FULL -DTASKS=2 -DK=3 -DOUTSIDE=2 -DLIMIT=1
FULL -DTASKS=3 -DK=2 -DOUTSIDE=1 -DLIMIT=2
FULL -DTASKS=3 -DK=3 -DOUTSIDE=0 -DLIMIT=2
BOUNDED -DTASKS=2 -DK=2 -DOUTSIDE=1 -DLIMIT=1
BOUNDED -DTASKS=2 -DK=2 -DOUTSIDE=0 -DLIMIT=2
FAULT WATCH_IS_A_TIMER the driver's next look at a deadlock is a moment like others
FAULT LOOKS_ONCE the clock jumps though something has come from outside meanwhile
FAULT KICKED_LATE who wakes leaves the driver where it waits for its next look
FAULT LIMIT_STAYS who was met in time stays in asyncio's queue
MAPS push_now | ufuture/virtual.py:_Time._push_now | self._usual[1](task, self._ticks)
MAPS watch_last | ufuture/virtual.py:_Time._push_later | when = ticks_add(self._ticks, _AHEAD_MS)
MAPS cancel_first | ufuture/virtual.py:_Time._push_later | when = ticks_add(ticks_ms(), ms)
MAPS park_ms | ufuture/virtual.py:_Time._park_ms | self._push_later(task, ticks_add(self._ticks, min(ms, engine.LONGEST_MS)))
MAPS only_looks | ufuture/virtual.py:_Time._wait_or_jump | if ms <= 0:
MAPS real_wait | ufuture/virtual.py:_Time._wait_or_jump | self._wait(engine.WATCH_MS if watches else 0)
MAPS has_come | ufuture/virtual.py:_Time._wait_or_jump | if queue.peek() is not head:
MAPS watches_now | ufuture/virtual.py:_Time._wait_or_jump | self._push_now(head)
MAPS jump | ufuture/virtual.py:_Time._wait_or_jump | self._ticks = ticks_add(self._ticks, ms)
MAPS wake | ufuture/micro.py:_wake_parked | _ready.append(parked)
MAPS kick | ufuture/micro.py:_kick | _push(_driver)
MAPS unlimit | ufuture/micro.py:unlimit | core._task_queue.remove(task)
MAPS parks | ufuture/micro.py:_drive | _push_at(this, ticks_add(ticks_ms(), WATCH_MS))
MAPS gives_way | ufuture/micro.py:_drive | _push(this)
MAPS look | ufuture/micro.py:_drive | if core._task_queue.peek() is None and _no_stream() and _look():
*/
#define DRIVER TASKS
#define OTHER (TASKS + 1) /* a task that a stream, or a thread's flag, resumes */
#define ALL (TASKS + 2)
#define NOBODY 255

/* Moments in asyncio's queue. Any of those that are there at the same may be the next. */
#define OUT 0
#define EARLY 1 /* before all others: a cancellation that comes later */
#define REAL 2  /* a tick of real time: what asyncio pushes without a time */
#define START 10
#define AHEAD 200
#define WATCH 1

#define RUNS 0
#define WAITS 1
#define MET 2
#define SLEEPS 3
#define ENDED 4

byte now = START;
byte at[ALL];       /* where a task stands in asyncio's queue */
chan ready = [TASKS] of { byte };
byte state[TASKS];
byte due[TASKS];    /* when its time is over; 0: never */
byte acts[TASKS];
bit timed;          /* the driver waits for its next look */
bit dead;
byte came;          /* from outside */

hidden byte x_i, x_n;

inline push(e, moment) {
  assert(at[e] == OUT); /* once in the queue */
  at[e] = moment
}

inline remove(e) {
  assert(at[e] != OUT);
  at[e] = OUT
}

/* The first in the queue; NOBODY. */
inline peek(e) {
  e = NOBODY;
  x_i = 0;
  do
  :: x_i < ALL ->
     if
     :: at[x_i] != OUT && (e == NOBODY || at[x_i] < at[(e == NOBODY -> 0 : e)]) ->
        e = x_i
     :: else
     fi;
     x_i++
  :: else ->
     break
  od
}

inline kick() {
  if
  :: timed ->
#ifndef FAULT_KICKED_LATE
     remove(DRIVER);
     timed = 0;
push_now:
     push(DRIVER, now)
#else
     skip
#endif
  :: else
  fi
}

inline wake(t) {
  ready!t;
  kick()
}

/* A channel meets what t waits on. */
inline meet(t) {
  assert(state[t] == WAITS);
  state[t] = MET;
  if
  :: at[t] != OUT ->
#ifndef FAULT_LIMIT_STAYS
unlimit:
     remove(t);
     due[t] = 0
#else
     skip
#endif
  :: else
  fi;
  wake(t)
}

/* Any that waits; NOBODY. */
inline anybody(t) {
  t = 0;
  do
  :: t < TASKS - 1 ->
     t++
  :: break
  od;
  t = (state[t] == WAITS -> t : NOBODY)
}

/* What a task does when it is resumed. */
inline steps(t, q) {
  assert(state[t] == MET || now == due[t]); /* at the very time */
  assert(at[t] == OUT);
  state[t] = RUNS;
  due[t] = 0;
  do
  :: acts[t] < K && !dead ->
     acts[t]++;
     if
     :: true -> /* it meets another one */
        anybody(q);
        if
        :: q != NOBODY ->
           meet(q)
        :: else
        fi
     :: true -> /* its cancellation is to come later: the driver comes first */
        if
        :: at[DRIVER] != OUT ->
           kick();
           remove(DRIVER);
cancel_first:
           push(DRIVER, EARLY)
        :: else
        fi
     :: true -> /* a turn */
        state[t] = MET;
        wake(t);
        break
     :: true ->
        state[t] = WAITS;
        if
        :: due[t] = now + 1
        :: due[t] = now + 3
        :: true
        fi;
        if
        :: due[t] ->
park_ms:
           push(t, due[t])
        :: else
        fi;
        break
     :: true -> /* asyncio's sleep */
        state[t] = SLEEPS;
        due[t] = now + 2;
        push(t, due[t]);
        break
     fi
  :: else ->
     state[t] = ENDED;
     break
  od;
  q = 0
}

/* All wait that have not ended, and nobody else will come. */
inline look(found) {
  x_n = 0;
  found = (came == OUTSIDE);
  do
  :: x_n < TASKS ->
     found = found && (state[x_n] == WAITS || state[x_n] == ENDED);
     x_n++
  :: else ->
     break
  od;
  x_n = 0;
  do
  :: x_n < TASKS ->
     if
     :: found && state[x_n] == WAITS ->
        dead = 1;
        meet(x_n)
     :: else
     fi;
     x_n++
  :: else ->
     break
  od
}

/* A resumed task gets back here. */
inline drive(t, q, left) {
  timed = 0;
  left = LIMIT;
  do
  :: len(ready) > 0 && left ->
     left--;
     ready?t;
     steps(t, q)
  :: len(ready) == 0 ->
     peek(t);
     if
     :: t == NOBODY ->
        look(q)
     :: else
     fi;
     q = 0;
     if
     :: len(ready) > 0 && left
     :: else ->
        if
        :: len(ready) > 0 ->
           push(DRIVER, now)
        :: else ->
parks:
#ifdef FAULT_WATCH_IS_A_TIMER
           push(DRIVER, now + WATCH);
#else
watch_last:
           push(DRIVER, AHEAD);
#endif
           timed = 1
        fi;
        break
     fi
  :: len(ready) > 0 && !left ->
gives_way:
     push(DRIVER, now);
     break
  od;
  left = 0
}

/* Streams and flags are looked at: something may have come. */
inline io(moment) {
  if
  :: came < OUTSIDE && at[OTHER] == OUT ->
     came++;
     push(OTHER, moment)
  :: true
  fi
}

inline jump(moment) {
  /* nobody is ready, and somebody waits for that moment */
  assert(len(ready) == 0 && head < TASKS && moment == at[head] && moment > now);
  x_i = 0;
  do
  :: x_i < ALL ->
     assert(at[x_i] == OUT || at[x_i] >= moment);
     x_i++
  :: else ->
     break
  od;
  now = moment
}

#define WORKS (state[0] != ENDED || state[1] != ENDED || state[TASKS - 1] != ENDED)

active proctype Loop() {
  byte t, q, left, head, moment;
  atomic {
    do
    :: t < TASKS ->
       state[t] = MET;
       ready!t;
       t++
    :: else ->
       break
    od;
    push(DRIVER, now)
  }
  do
  :: atomic {
       WORKS ->
       peek(head);
       assert(head != NOBODY);
       moment = at[head];
       if
       :: moment <= now ->
only_looks:
          io(REAL);
          peek(head)
       :: else ->
real_wait:
          io(REAL);
          peek(t);
has_come:
          if
#ifdef FAULT_LOOKS_ONCE
          :: false
#else
          :: t != head
#endif
          :: else ->
             if
             :: head == DRIVER && timed ->
                assert(!at[0] && !at[1] && !at[TASKS - 1]); /* else it is not waited for */
                remove(DRIVER);
watches_now:
                push(DRIVER, now)
             :: else ->
                jump(moment)
             fi
          fi;
          head = NOBODY
       fi
     }
     atomic { /* asyncio resumes the first, or looks again */
       if
       :: head == NOBODY
       :: head == DRIVER ->
          remove(DRIVER);
          drive(t, q, left)
       :: head == OTHER ->
          remove(OTHER);
          anybody(q);
          if
          :: q != NOBODY ->
             meet(q)
          :: else
          fi;
          q = 0
       :: else ->
          remove(head);
          assert(state[head] == SLEEPS || state[head] == WAITS);
          steps(head, q)
       fi;
       t = 0;
       head = 0;
       moment = 0
     }
  :: else ->
     break
  od
}
