/*
MODEL A run of threads by a virtual clock: turns, the line, alarms, beside a foreign thread, the
    watchdog and an interrupt, and processes that are left when the run is over.
RULE 2: at most one process runs at a time; a bolt is released once a wait, and whoever was met
    goes on, also when the run is over (assertions)
RULE 12: time passes only when nobody has a turn, was met by another process or begins; it goes to
    the earliest alarm, neither back nor past one, and who was woken by its alarm runs at that very
    time; a deadlock is found, and not before all alarms are over (assertions)
FULL -DPROCS=3 -DK=2
FULL -DPROCS=3 -DK=1 -DFAILS
FULL -DPROCS=2 -DK=2 -DFOREIGN=2
FULL -DPROCS=2 -DK=1 -DFOREIGN=1 -DNUDGES=2
FULL -DPROCS=2 -DK=1 -DSPAWNED -DFOREIGN=1
FULL -DPROCS=2 -DK=2 -DSPAWNED -DINTERRUPTED
BOUNDED -DPROCS=2 -DK=1 -DFAILS
BOUNDED -DPROCS=2 -DK=1 -DFOREIGN=1
BOUNDED -DPROCS=1 -DK=1 -DFOREIGN=1 -DNUDGES=2
BOUNDED -DPROCS=2 -DK=1 -DSPAWNED -DINTERRUPTED
FAULT JUMPS_BUSY who gives back a turn does not look whether another one is out
FAULT NO_TURN the clock looks at the line, and jumps without a turn of its own
FAULT UNSORTED an alarm is armed behind all others, whatever they are due
FAULT NOT_LINED_UP who is woken while a turn is out gets one at once
FAULT RESTS_EARLY the clock rests when it has rung, though it has woken somebody
FAULT KEEPS_TURN a process that ends keeps its turn
FAULT FORGOTTEN who stands in the line when the run is over stays there
FAULT LEFT_IN_LINE -DPROCS=2 -DK=1 -DFAILS a process that can't be started stays in the line
MAPS wake | upycsp/virtual.py:Place.wake | turns.line_up(self)
MAPS wake_at_once | upycsp/virtual.py:Place.wake | turns.give()
MAPS line_up | upycsp/virtual.py:Turns | def line_up(self, place):
MAPS give | upycsp/virtual.py:Turns | def give(self):
MAPS give_back | upycsp/virtual.py:Place._give_back | turns.out -= 1
MAPS pass_on | upycsp/virtual.py:Turns.pass_on | if self.out or self.over or self.give():
MAPS pass_on | upycsp/virtual.py:Turns.pass_on | self.out = 1
MAPS ring | upycsp/virtual.py:Turns._ring | self.clock.jump(alarm.due)
MAPS alarm_calls | upycsp/virtual.py:VirtualAlarm.ring | self._callback(self)
MAPS look | upycsp/virtual.py:Turns.pass_on | _look()
MAPS clock_rests | upycsp/virtual.py:Turns.pass_on | if rests and not rang:
MAPS place_wait | upycsp/virtual.py:Place.wait | self._give_back()
MAPS end_sleep | upycsp/virtual.py:Place.wait | self.sleep()
MAPS begins | upycsp/virtual.py:_enter_by_turns | place.sleep()
MAPS leave | upycsp/virtual.py:Place.leave | self._left = True
MAPS arm | upycsp/virtual.py:VirtualAlarm.start | while i and alarms[i - 1].due > due:
MAPS disarm | upycsp/virtual.py:VirtualAlarm.stop | self.turns.alarms.remove(self)
MAPS starts | upycsp/virtual.py:_start_in_line | place.wake()
MAPS not_started | upycsp/virtual.py:_start_in_line | place.leave()
MAPS ends | upycsp/virtual.py:_tell_by_turns | place.leave()
MAPS nudge | upycsp/virtual.py:Turns.nudge | elif self._looks < _PATIENCE:
MAPS real_time | upycsp/virtual.py:_end | turns.alarms[0].go_on(now)
MAPS end_turns | upycsp/virtual.py:Turns.end | self.over = True
MAPS abandon | upycsp/virtual.py:_end_and_abandon | turns.end()
*/
#ifndef FOREIGN
#define FOREIGN 0
#endif
#ifndef NUDGES
#define NUDGES 0
#endif
#define PLACES (PROCS + 1) /* 0 is that of the thread that called run */
#define MAIN 0
#ifdef SPAWNED
#define COUNTED (PROCS - 1) /* the run does not wait for the last one */
#else
#define COUNTED PROCS
#endif
#define NOBODY 255
#define PATIENCE 1

/* By what a wait has ended. */
#define NOT_YET 0
#define BY_PROCESS 1
#define BY_FOREIGN 2
#define BY_TIME 3
#define BY_DEADLOCK 4

/* Under the lock of channels. */
bit waits[PLACES];
byte met[PLACES];
byte due[PLACES];    /* of its alarm, while that is armed; else 0 */
byte alarms[PLACES]; /* whose they are, by due */
byte n_alarms, now;
bit real[PLACES];    /* its alarm is one of real time */
bit real_again;      /* the run is over, and alarms are those of real time */
bit dead;            /* a deadlock was found */
byte alive;          /* processes that the run waits for and that have not ended */

/* Under the lock of turns. */
chan line = [PLACES] of { byte };
byte out;
bit over;
byte held[PLACES];
bit in_line[PLACES], left[PLACES];
byte given, seen, looks;

bit bolt[PLACES]; /* it was released */

/* What the checks know. */
bit awake[PLACES];  /* it runs: it has taken a turn, and not given it back */
bit lives[PLACES];  /* it was started, and has not ended */
bit impatient;      /* the watchdog has given a turn beside another one */
byte due_at[PLACES]; /* of the alarm that is set for the wait under way */
byte foreigners = FOREIGN; /* that are between the meeting and the wake, or before them */

hidden byte x_i, x_q;

inline rouse(p) {
  assert(!bolt[p]); /* once a wait */
  bolt[p] = 1
}

/* A turn for the first in the line. */
inline give(place) {
  if
  :: len(line) > 0 ->
     line?place;
     in_line[place] = 0;
     held[place]++;
     out++;
     given = (NUDGES -> given + 1 : 0)
  :: else ->
     place = NOBODY
  fi
}

inline line_up(p) {
  assert(!in_line[p]);
  in_line[p] = 1;
  line!p
}

inline leave_line(p) {
  line??eval(p);
  in_line[p] = 0
}

/* place.wake(): next becomes who gets a turn. */
inline wake(who, next) {
  atomic {
    next = who;
    if
    :: !left[who] && !over ->
       line_up(who);
wake_at_once:
       if
#ifndef FAULT_NOT_LINED_UP
       :: out ->
          next = NOBODY
#endif
       :: else ->
          give(next)
       fi
    :: else
    fi
  }
  if
  :: next != NOBODY ->
     rouse(next)
  :: else
  fi
}

/* An offer is met: whoever does it wakes its place then. */
inline meets(p, how) {
  assert(waits[p] && !met[p]);
  met[p] = how
}

/* What the clock does with its turn: it jumps, and the alarm calls back. */
inline ring(place, rang) {
  atomic {
    rang = 0;
    if
    :: n_alarms ->
       rang = 1;
       place = alarms[0];
       x_i = 1;
       do
       :: x_i < n_alarms ->
          assert(due[alarms[x_i]] >= due[place]); /* never past an earlier one */
          alarms[x_i - 1] = alarms[x_i];
          x_i++
       :: else ->
          break
       od;
       n_alarms--;
       alarms[n_alarms] = 0;
       assert(due[place] >= now);
       if
       :: due[place] > now ->
          time_passes()
       :: else
       fi;
       now = due[place];
       due[place] = 0
    :: else
    fi
  }
  if
  :: rang ->
alarm_calls:
     atomic {
       if
       :: waits[place] && !met[place] ->
          meets(place, BY_TIME)
       :: else ->
          place = NOBODY
       fi
     }
     if
     :: place != NOBODY ->
        wake(place, place)
     :: else
     fi
  :: else
  fi
}

/* Nobody can go on but by an alarm, or by others than processes. */
inline time_passes() {
  x_q = 0;
  do
  :: x_q < PLACES && !over ->
     assert(!awake[x_q] || left[x_q]);
     assert(!lives[x_q] || left[x_q] || waits[x_q] && (!met[x_q] || met[x_q] == BY_FOREIGN));
     x_q++
  :: else ->
     break
  od
}

/* A deadlock, if all wait that are left, for no alarm and nobody else. */
inline look(k, place) {
  atomic {
    x_i = 1;
    x_q = 0;
    do
    :: x_i < PLACES ->
       if
       :: lives[x_i] && !(waits[x_i] && !met[x_i] && !due[x_i] && !real[x_i]) ->
          x_q = NOBODY;
          break
       :: lives[x_i] && waits[x_i] && !met[x_i] && !due[x_i] && !real[x_i] ->
          x_q = 1
       :: !lives[x_i]
       fi;
       x_i++
    :: else ->
       break
    od;
    k = (x_q == 1 && !foreigners && waits[MAIN] && !met[MAIN] -> 1 : PLACES);
    x_i = k;
    do
    :: x_i < PLACES ->
       if
       :: lives[x_i] ->
          meets(x_i, BY_DEADLOCK)
       :: else
       fi;
       x_i++
    :: else ->
       break
    od;
    dead = dead || k == 1
  }
  do
  :: k < PLACES ->
     if
     :: waits[k] && met[k] == BY_DEADLOCK ->
        wake(k, place)
     :: else
     fi;
     k++
  :: else ->
     break
  od;
  k = 0
}

#ifdef FAULT_JUMPS_BUSY
#define BUSY over
#else
#define BUSY (out || over)
#endif

/* Each of its steps is one under the lock of turns, or the clock's. */
inline pass_on(place, rang, k) {
  do
  :: atomic {
       if
       :: BUSY ->
          place = NOBODY;
          break
       :: else
       fi;
       give(place);
       if
       :: place == NOBODY ->
#ifndef FAULT_NO_TURN
          out = 1
#else
          skip
#endif
       :: else
       fi
     }
     if
     :: place != NOBODY ->
        rouse(place);
        break
     :: else
     fi;
     ring(place, rang);
     if
     :: !rang ->
        look(k, place)
     :: else
     fi;
clock_rests:
     atomic {
#ifndef FAULT_NO_TURN
       out--;
#endif
       if
#ifdef FAULT_RESTS_EARLY
       :: true ->
#else
       :: len(line) == 0 && !rang ->
#endif
          rang = 0;
          break
       :: else
       fi;
       rang = 0
     }
  od;
  place = 0
}

inline give_back(p, place) {
  atomic {
    awake[p] = 0;
    place = NOBODY;
    if
    :: held[p] ->
       held[p]--;
       out--
    :: else ->
       place = p
    fi
  }
}

/* It is released: it runs. */
inline runs(p) {
  bolt[p] = 0;
  awake[p] = 1;
  x_i = 0;
  do
  :: x_i < PLACES ->
     assert(!(awake[x_i] && x_i != p) || over || impatient || left[MAIN]);
     x_i++
  :: else ->
     break
  od;
  assert(held[p] || over || left[p])
}

/* The offer's wait(): the process waits, and goes on when its place is roused. */
inline place_wait(p, place, rang, k) {
  give_back(p, place);
  if
  :: place == NOBODY ->
     pass_on(place, rang, k)
  :: else
  fi;
end_sleep:
  atomic {
    bolt[p] ->
    runs(p)
  }
}

/* It takes no more turns. */
inline leave(p, place, rang, k) {
  atomic {
    awake[p] = 0;
    left[p] = 1;
    place = NOBODY;
    if
    :: in_line[p] && !over ->
#ifndef FAULT_LEFT_IN_LINE
       leave_line(p);
#endif
       place = p
    :: else
    fi;
#ifndef FAULT_KEEPS_TURN
    out = out - held[p];
#endif
    held[p] = 0
  }
  if
  :: place != NOBODY ->
     rouse(p)
  :: else
  fi;
  pass_on(place, rang, k)
}

inline arm(p, ms) {
  due_at[p] = now + ms;
  if
  :: real_again ->
     real[p] = 1
  :: else ->
     due[p] = now + ms;
     x_i = n_alarms;
     do
#ifdef FAULT_UNSORTED
     :: false ->
#else
     :: x_i > 0 && due[alarms[(x_i > 0 -> x_i - 1 : 0)]] > due[p] ->
#endif
        alarms[x_i] = alarms[x_i - 1];
        x_i--
     :: else ->
        break
     od;
     alarms[x_i] = p;
     n_alarms++
  fi
}

inline disarm(p) {
  real[p] = 0;
  if
  :: due[p] ->
     x_i = 0;
     do
     :: alarms[x_i] != p ->
        x_i++
     :: else ->
        break
     od;
     n_alarms--;
     do
     :: x_i < n_alarms ->
        alarms[x_i] = alarms[x_i + 1];
        x_i++
     :: else ->
        break
     od;
     alarms[n_alarms] = 0;
     due[p] = 0
  :: else
  fi
}

#define WAITING(q) (waits[q] && !met[q])

/* Who is met by somebody who runs: another process that waits; none: NOBODY. */
inline anybody(q, p) {
  q = 1;
  do
  :: q < PROCS ->
     q++
  :: break
  od;
  q = (q != p && WAITING(q) -> q : NOBODY)
}

proctype Process(byte p) {
  byte place, k, q, acts;
  bit rang;
begins:
  atomic {
    bolt[p] ->
    runs(p)
  }
  do
  :: acts < K && !dead ->
     acts++;
     if
     :: atomic { /* it meets another one */
          anybody(q, p);
          if
          :: q != NOBODY ->
             meets(q, BY_PROCESS)
          :: else
          fi
        }
        if
        :: q != NOBODY ->
           wake(q, place)
        :: else
        fi
     :: atomic { /* it waits, for so long or until it is met */
          waits[p] = 1;
          if
          :: arm(p, 1)
          :: arm(p, 2)
          :: true
          fi
        }
        place_wait(p, place, rang, k);
        atomic {
          assert(met[p]);
          assert(met[p] != BY_TIME || over || now == due_at[p]); /* no time has passed since */
          disarm(p);
          due_at[p] = 0;
          waits[p] = 0;
          met[p] = NOT_YET
        }
     fi;
     atomic {
       q = 0;
       place = 0
     }
  :: break
  od;
  atomic { /* who waits for its end is told */
    lives[p] = 0;
    q = NOBODY;
    if
    :: p <= COUNTED ->
       alive--;
       if
       :: !alive && waits[MAIN] && !met[MAIN] ->
          meets(MAIN, BY_PROCESS);
          q = MAIN
       :: else
       fi
    :: else
    fi
  }
  if
  :: q != NOBODY ->
     wake(MAIN, place)
  :: else
  fi;
ends:
  leave(p, place, rang, k);
  atomic {
    acts = 0;
    q = 0
  }
}

/* The run is over, or abandoned: all in the line go on. */
inline end_turns(q, place) {
  over = 1;
#ifndef FAULT_FORGOTTEN
  do
  :: len(line) > 0 ->
     line?place;
     rouse(place)
  :: else ->
     break
  od
#endif
}

proctype Main() {
  byte place, k, p;
  bit rang;
  p = 1;
  do
  :: p < PLACES ->
     atomic {
       lives[p] = 1
     }
starts:
     wake(p, place);
     if
     :: true ->
        run Process(p)
#ifdef FAILS
     :: true ->
not_started:
        atomic {
          lives[p] = 0;
          alive--
        }
        leave(p, place, rang, k);
        bolt[p] = 0
#endif
     fi;
     p++
  :: else ->
     break
  od;
  atomic {
    p = 0;
    place = 0;
    if
    :: alive ->
       waits[MAIN] = 1
    :: else
    fi
  }
  if
  :: waits[MAIN] ->
     give_back(MAIN, place);
     pass_on(place, rang, k);
     if
     :: atomic {
          bolt[MAIN] ->
          runs(MAIN)
        }
#ifdef INTERRUPTED
     :: true -> /* it may have taken its bolt, and not know it yet */
        leave(MAIN, place, rang, k);
abandon:
        end_turns(p, place)
#endif
     fi
  :: else
  fi;
real_time:
  atomic {
    do
    :: n_alarms ->
       n_alarms--;
       real[alarms[n_alarms]] = 1;
       due[alarms[n_alarms]] = 0;
       alarms[n_alarms] = 0
    :: else ->
       break
    od;
    real_again = 1
  }
  end_turns(p, place)
}

/* The alarms that are left ring in real time. */
proctype Timer() {
  byte p, place;
end_rests:
  do
  :: atomic {
       real_again && (real[PROCS] || real[1]) ->
       p = (real[1] -> 1 : PROCS);
       real[p] = 0;
       if
       :: WAITING(p) ->
          meets(p, BY_TIME)
       :: else ->
          p = NOBODY
       fi
     }
     if
     :: p != NOBODY ->
        wake(p, place)
     :: else
     fi;
     atomic {
       p = 0;
       place = 0
     }
  od
}

#if FOREIGN
/* A thread without a place meets who waits. */
proctype Other() {
  byte q, place, times;
  do
  :: times < FOREIGN ->
     times++;
     atomic {
       anybody(q, 0);
       if
       :: q != NOBODY ->
          meets(q, BY_FOREIGN)
       :: else
       fi
     }
     if
     :: q != NOBODY ->
        wake(q, place)
     :: else
     fi;
     atomic {
       foreigners--;
       q = 0;
       place = 0
     }
  :: else ->
     break
  od
}
#endif

/* What the watchdog does now and then. */
inline look_and_nudge(place, rang, k) {
  look(k, place);
  atomic {
    place = NOBODY;
    k = 1;
    if
    :: over ->
       k = 0
    :: !over && (len(line) == 0 || given != seen) ->
       looks = 0;
       seen = given
    :: !over && len(line) > 0 && given == seen && looks < PATIENCE ->
nudge:
       looks++
    :: !over && len(line) > 0 && given == seen && looks >= PATIENCE ->
       impatient = 1;
       give(place)
    fi
  }
  if
  :: place != NOBODY ->
     rouse(place)
  :: place == NOBODY && k ->
     pass_on(place, rang, k)
  :: else
  fi;
  k = 0
}

#if NUDGES
proctype Watchdog() {
  byte place, k, times;
  bit rang;
  do
  :: times < NUDGES ->
     times++;
     look_and_nudge(place, rang, k);
     place = 0
  :: break
  od
}
#endif

init {
  byte p, place, k;
  bit rang;
  atomic {
    held[MAIN] = 1;
    out = 1;
    awake[MAIN] = 1;
    alive = COUNTED;
    run Main();
    run Timer();
#if FOREIGN
    run Other();
#endif
#if NUDGES
    run Watchdog();
#endif
  }
  timeout; /* nobody goes on: if that is a deadlock, the watchdog will find it */
  look_and_nudge(place, rang, k);
  timeout; /* who is left waits, was not met, and nobody keeps a turn */
  atomic {
    assert(over && len(line) == 0 && !n_alarms);
    do
    :: p < PLACES ->
       assert(!awake[p] || p == MAIN);
       assert(!lives[p] || WAITING(p) && !real[p]);
#ifndef INTERRUPTED
       assert(!lives[p] || p > COUNTED);
#endif
       p++
    :: else ->
       break
    od
  }
}
