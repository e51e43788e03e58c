/*
MODEL A farm, its manager and workers, between a source that ends and a sink that may end before,
    while the function, or what sets its state up, succeeds, fails, or meets poison.
RULE 2: each value that the manager has read comes out once, in its place if the order is kept,
    also after the input has ended, unless the function has ended the farm, or the sink its output;
    of values that were read and have not come out there are at most two for each worker
    (assertions)
RULE 4, 5: a worker that dies, and a sink that ends, end the whole farm and its source; so does the
    end of the input, when all results are out; nobody is left (assertions, invalid end states)
RULE 5: a value is tried so many times and not once more, poison not again, each time with state
    that has seen no exception; then the failure comes out in its place, or ends the farm
    (assertions)
FULL -DVALUES=2 -DWORKERS=2 -DRETRIES=1 -DORDERED -DREPORTS -DSETUP
FULL -DVALUES=3 -DWORKERS=2 -DRETRIES=0 -DORDERED
FULL -DVALUES=2 -DWORKERS=2 -DRETRIES=1 -DSETUP
FULL -DVALUES=3 -DWORKERS=1 -DRETRIES=2 -DORDERED -DREPORTS -DSETUP
FULL -DVALUES=6 -DWORKERS=2 -DRETRIES=0 -DORDERED -DWELL
BOUNDED -DVALUES=2 -DWORKERS=1 -DRETRIES=1 -DORDERED -DREPORTS -DSETUP
BOUNDED -DVALUES=2 -DWORKERS=2 -DRETRIES=0 -DORDERED
BOUNDED -DVALUES=1 -DWORKERS=2 -DRETRIES=1 -DREPORTS
FAULT STOPS_AT_ONCE the farm ends with its input, whatever is in work
FAULT AS_THEY_COME -DVALUES=2 -DWORKERS=2 -DRETRIES=0 -DORDERED a result comes out
    before an earlier one
FAULT READS_AHEAD a value is read though no worker is free
FAULT HOLDS_ALL -DVALUES=5 -DWORKERS=2 -DRETRIES=0 -DORDERED -DWELL results that wait
    for an earlier one are held without end
FAULT NOT_ASKED the manager takes the end of a worker for that of the input, and ends well
FAULT TRIES_MORE a value is tried once more than it should
FAULT POISON_AGAIN a function that has met poison is tried again
FAULT STALE_STATE state that has seen an exception is used for the next try
MAPS make_state | cspcore/pool.py:work | state = (await call(setup),)
MAPS try_it | cspcore/pool.py:work | result = await call(function, *args)
MAPS throws_state | cspcore/pool.py:work | except Exception as er:
MAPS dies | cspcore/pool.py:work | if isinstance(er, PoisonException) or not left and not reports:
MAPS reports_it | cspcore/pool.py:work | result = Failure(v, no_memory() if isinstance(er, MemoryError) else er)
MAPS tries_again | cspcore/pool.py:work | left -= 1
MAPS job | cspcore/pool.py:work | k, v = await jobs()
MAPS hands_in | cspcore/pool.py:work | await done((k, result))
MAPS goes_on | cspcore/pool.py:manage | while free < n or ended is None:
MAPS only_done | cspcore/pool.py:manage | if ended is not None or not free or read - written >= 2 * n:
MAPS either | cspcore/pool.py:manage | g, v = await either.select()
MAPS has_ended | cspcore/pool.py:manage | ended = er
MAPS hands_out | cspcore/pool.py:manage | await jobs((read, v))
MAPS unordered | cspcore/pool.py:manage | if not ordered:
MAPS in_place | cspcore/pool.py:manage | while written in early:
MAPS passes_on | cspcore/pool.py:manage | raise ended
*/
#define MANAGER 0
#define SOURCE 1
#define SINK 2
#define WORKER(w) (3 + (w))
#define PARTIES (3 + WORKERS)

#define CIN 0
#define COUT 1
#define JOBS 2
#define DONE 3

/* Values are 1, 2, ...; of a failure that is reported, so much more. */
#define FAILURE 100
#define POISON 255
#define WRITTEN 254

/* Rendezvous channels. */
chan readers[4] = [PARTIES] of { byte };
chan writers[4] = [PARTIES] of { byte };
bit dead[4];
byte val[PARTIES];   /* what it writes, then what it has got, WRITTEN or POISON */
bit met[PARTIES];    /* its operation is over */
byte chosen;         /* by the manager: a channel */
bit selects;         /* it waits for either */

/* What the checks know. */
byte outs;           /* how many values have come out */
bit came[VALUES + 1], made[VALUES + 1];
byte tries[VALUES + 1];
bit failed;          /* the function has ended the farm */
bit sink_ended;
byte reads;          /* how many values the manager has read */
byte alive;

hidden byte x_p;

inline meets(p, c, v) {
  assert(!met[p]);
  val[p] = v;
  met[p] = 1;
  if
  :: p == MANAGER && selects ->
     selects = 0;
     chosen = c;
     if
     :: c == DONE ->
        readers[CIN]??MANAGER
     :: else ->
        readers[DONE]??MANAGER
     fi
  :: else
  fi
}

/* Read from c, if that can be done at once; p has what it got then. */
inline try_read(p, c) {
  if
  :: dead[c] ->
     val[p] = POISON;
     met[p] = 1
  :: !dead[c] && len(writers[c]) > 0 ->
     writers[c]?x_p;
     val[p] = val[x_p];
     met[p] = 1;
     meets(x_p, c, WRITTEN)
  :: else
  fi
}

inline read(p, c, got) {
  atomic {
    try_read(p, c);
    if
    :: !met[p] ->
       readers[c]!p
    :: else
    fi
  }
  goes_on_with(p, got)
}

inline write(p, c, message, got) {
  atomic {
    if
    :: dead[c] ->
       val[p] = POISON;
       met[p] = 1
    :: !dead[c] && len(readers[c]) > 0 ->
       readers[c]?x_p;
       meets(x_p, c, message);
       val[p] = WRITTEN;
       met[p] = 1
    :: else ->
       val[p] = message;
       writers[c]!p
    fi
  }
  goes_on_with(p, got)
}

/* got becomes what it has read, WRITTEN or POISON. */
inline goes_on_with(p, got) {
  atomic {
    met[p] ->
    met[p] = 0;
    got = val[p];
    val[p] = 0
  }
}

inline end(c) {
  do
  :: len(readers[c]) > 0 ->
     readers[c]?x_p;
     meets(x_p, c, POISON)
  :: len(writers[c]) > 0 ->
     writers[c]?x_p;
     meets(x_p, c, POISON)
  :: else ->
     break
  od;
  dead[c] = 1
}

/* What a process does to its ends when it ends by an exception. */
inline poison(c, another) {
  atomic {
    end(c)
  }
  atomic {
    end(another);
    alive--
  }
}

proctype Source() {
  byte v, got;
  do
  :: v < VALUES ->
     v++;
     write(SOURCE, CIN, v, got);
     if
     :: got == POISON ->
        break
     :: else
     fi
#ifndef WELL
  :: v < VALUES -> /* less, now and then */
     break
#endif
  :: v == VALUES ->
     break
  od;
  poison(CIN, CIN)
}

proctype Sink() {
  byte v;
  do
#ifndef WELL
  :: true -> /* enough */
     sink_ended = 1;
     break
#endif
  :: true ->
     read(SINK, COUT, v);
     atomic {
       if
       :: v == POISON -> /* the end: nothing is missing */
          assert(failed || outs == reads);
          break
       :: else ->
          outs++;
#ifdef ORDERED
          assert(v % FAILURE == outs);
#endif
          assert(v < FAILURE || v % FAILURE <= VALUES && tries[v % FAILURE] == RETRIES + 1);
          assert((v < FAILURE) == made[v % FAILURE] && !came[v % FAILURE]);
          came[v % FAILURE] = 1
       fi;
       v = 0
     }
  od;
  poison(COUT, COUT)
}

/* What happens to a try. */
#define GOOD 0
#define FAILS 1
#define POISONED 2

proctype Worker(byte p) {
  byte v, left, how;
#ifdef SETUP
  bit state, stale;
#endif
  do
  :: true ->
job:
     read(p, JOBS, v);
     if
     :: v == POISON ->
        break
     :: else
     fi;
     left = RETRIES;
     do
     :: true ->
        atomic {
          how = GOOD;
#ifdef SETUP
          if
          :: !state ->
make_state:
             if
             :: true ->
                state = 1;
                stale = 0
             :: how = FAILS
             fi
          :: else
          fi;
#endif
          tries[v]++;
          assert(tries[v] <= RETRIES + 1);
          if
          :: how == GOOD ->
try_it:
#ifdef SETUP
             assert(state && !stale);
#endif
             if
             :: made[v] = 1
#ifndef WELL
             :: how = FAILS
             :: how = POISONED
#endif
             fi
          :: else
          fi;
          if
          :: how == GOOD ->
             break
          :: else ->
throws_state:
#ifdef SETUP
             stale = 1;
#ifndef FAULT_STALE_STATE
             state = 0;
#endif
#endif
             if
#ifdef FAULT_POISON_AGAIN
             :: !left ->
#else
             :: how == POISONED || !left ->
#endif
                if
#ifdef REPORTS
                :: how != POISONED ->
reports_it:
                   v = v + FAILURE;
                   break
#endif
                :: else ->
dies:
                   failed = 1;
                   goto ends
                fi
             :: else ->
                assert(how != POISONED);
tries_again:
#ifndef FAULT_TRIES_MORE
                left--
#else
                left = (tries[v] > RETRIES -> 0 : RETRIES)
#endif
             fi
          fi
        }
     od;
hands_in:
     write(p, DONE, v, how);
     if
     :: how == POISON ->
        break
     :: else
     fi;
     atomic {
       v = 0;
       left = 0;
       how = 0
     }
  od;
ends:
  poison(JOBS, DONE)
}

#define NEXT_IS_THERE early[(written < VALUES -> written + 1 : 0)]

proctype Manager() {
  byte v, written, free;
  bit ended;
  byte early[VALUES + 1]; /* results that wait for earlier ones */
  free = WORKERS;
goes_on:
  do
  :: free < WORKERS || !ended ->
     if
#ifdef FAULT_READS_AHEAD
     :: ended || reads - written >= 2 * WORKERS ->
#else
#ifdef FAULT_HOLDS_ALL
     :: ended || !free ->
#else
     :: ended || !free || reads - written >= 2 * WORKERS ->
#endif
#endif
only_done:
        chosen = DONE;
        read(MANAGER, DONE, v)
     :: else ->
either:
        atomic {
          chosen = DONE;
          try_read(MANAGER, DONE);
          if
          :: !met[MANAGER] ->
             chosen = CIN;
             try_read(MANAGER, CIN)
          :: else
          fi;
          if
          :: !met[MANAGER] ->
             selects = 1;
             readers[DONE]!MANAGER;
             readers[CIN]!MANAGER
          :: else
          fi
        }
        goes_on_with(MANAGER, v);
        if
        :: v == POISON ->
has_ended:
           atomic {
             ended = 1;
             v = 0;
#ifdef FAULT_STOPS_AT_ONCE
             free = WORKERS;
#endif
#ifdef FAULT_NOT_ASKED
             free = (chosen == DONE -> WORKERS : free);
             failed = (chosen == DONE -> 0 : failed);
#endif
             goto goes_on
           }
        :: else
        fi
     fi;
     if
     :: v == POISON ->
        goto ends
     :: v != POISON && chosen == CIN ->
hands_out:
        write(MANAGER, JOBS, v, v);
        if
        :: v == POISON ->
           goto ends
        :: else
        fi;
        atomic {
          reads++;
          free--;
          assert(reads - written <= 2 * WORKERS && free < WORKERS)
        }
     :: else ->
        atomic {
          free++;
          assert(free <= WORKERS);
#if defined(ORDERED) && !defined(FAULT_AS_THEY_COME)
          early[v % FAILURE] = v
#else
          chosen = DONE
#endif
        }
#if defined(ORDERED) && !defined(FAULT_AS_THEY_COME)
in_place:
        do
        :: NEXT_IS_THERE ->
           atomic {
             written++;
             v = early[written];
             early[written] = 0
           }
           write(MANAGER, COUT, v, v);
           if
           :: v == POISON ->
              goto ends
           :: else
           fi
        :: else ->
           break
        od
#else
unordered:
        written++;
        write(MANAGER, COUT, v, v);
        if
        :: v == POISON ->
           goto ends
        :: else
        fi
#endif
     fi;
     v = 0
  :: else ->
     break
  od;
passes_on:
  assert(dead[CIN] && written == reads);
ends:
  atomic {
    end(CIN)
  }
  atomic {
    end(COUT)
  }
  poison(JOBS, DONE)
}

init {
  byte w;
  atomic {
    alive = PARTIES;
    run Source();
    run Sink();
    run Manager();
    do
    :: w < WORKERS ->
       run Worker(WORKER(w));
       w++
    :: else ->
       break
    od;
    w = 0
  }
  alive == 0; /* nobody waits for ever */
  atomic {
    assert(dead[CIN] && dead[COUT] && dead[JOBS] && dead[DONE]);
    assert(failed || sink_ended || outs == reads)
  }
}
