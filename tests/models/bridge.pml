/*
MODEL A bridge: tasks of one loop and threads read what threads and an interrupt write.
RULE 1, 2: whoever meets a task's offer says so by a flag that takes no lock; an interrupt leaves
    its values in a ring without a lock: nobody sleeps while there is something for it (invalid end
    states), no value is lost, read twice or read before it is there (assertions)
RULE 2: no write that begins when an interrupt has left its value is read before that (assertion)
RULE 8: a task that is cancelled before it knows that it was met gives the value back (assertions)
FULL -DTASKS=2 -DREADERS=0 -DWRITES=2 -DINTERRUPTS=2 -DCANCELS=2
FULL -DTASKS=1 -DREADERS=1 -DWRITES=1 -DINTERRUPTS=3 -DCANCELS=1
FULL -DTASKS=0 -DREADERS=2 -DWRITES=1 -DINTERRUPTS=4 -DCANCELS=0
BOUNDED -DTASKS=2 -DREADERS=0 -DWRITES=1 -DINTERRUPTS=2 -DCANCELS=1
BOUNDED -DTASKS=1 -DREADERS=1 -DWRITES=1 -DINTERRUPTS=2 -DCANCELS=1
BOUNDED -DTASKS=0 -DREADERS=2 -DWRITES=1 -DINTERRUPTS=3 -DCANCELS=0
FAULT CLEARED_LATE the loop clears the flag after it has read the chain
FAULT FLAG_FIRST an interrupt sets the flag before its value can be seen
FAULT INDEX_FIRST an interrupt moves the index before it has stored the value
FAULT TOLD_LATE what threads have scheduled forgets after the ring was read that it is scheduled
FAULT NOT_DRAINED who is about to wait does not look for values of interrupts
FAULT OVERTAKES who writes does not let those who wait have what interrupts have left
FAULT STAYS_MET a cancelled task leaves its offer in the chain
FAULT VALUE_LOST a cancelled task keeps the value that it was given
MAPS look | uapycsp/bridged.py:ReadEnd.bridge_read | if ch.isr and ch.has_isr():
MAPS wait_for_it | uapycsp/bridged.py:ReadEnd.bridge_read | ch.post(o)
MAPS met | uapycsp/bridged.py:Bell.paired | self.last.later = offer
MAPS rings | uapycsp/bridged.py:Bell.paired | self.ring()
MAPS pump | uapycsp/bridged.py:Bell._answer | fed.pump()
MAPS next_met | uapycsp/bridged.py:Bell._answer | self.first = o.later
MAPS wakes | uapycsp/bridged.py:Bell._answer | engine.wake(o)
MAPS cancelled | uapycsp/bridged.py:TaskOffer.cancelled | self.channel.withdraw(self)
MAPS forgotten | uapycsp/bridged.py:TaskOffer.cancelled | bell.forget(self)
MAPS gives_back | uapycsp/bridged.py:TaskOffer.cancelled | party = self.channel.give_back(self, value)
MAPS clears | ufuture/micro.py:_listen | await flag.wait()
MAPS stores_value | cspcore/isr.py:Ring.put | self._slots[i] = value
MAPS stores_index | cspcore/isr.py:Ring.put | self._in = after
MAPS sets_flag | upycsp/bridge.py:Bridge._arrived | bell.ring()
MAPS schedules | upycsp/isr.py:InterruptChannel._tell | schedule(self._pump, None)
MAPS not_told | upycsp/isr.py:InterruptChannel._try | self.drain()
MAPS writes | upycsp/buffered.py:AnyWriteEnd.__call__ | ch.drain()
MAPS drain | upycsp/isr.py:InterruptChannel.drain | party = self._met(self._read_queue, self._left.first())
*/
#define OFFERS (TASKS + READERS) /* the tasks' own, then those of reading threads */
#define VALUES (WRITES + INTERRUPTS)
#define SLOTS 2 /* of the ring; one is always free */
#define LATER(i) ((i + 1) % SLOTS)

mtype = { RUNS, WAITS, WOKEN };

/* Under the lock: queues of offers, of writers' values and of values given back. */
chan readers = [OFFERS] of { byte };
chan writers = [VALUES] of { byte };
chan given = [VALUES] of { byte };
chan chain = [OFFERS] of { byte }; /* met, and the loop does not know */
byte value[OFFERS];

/* Without: one side stores each. */
byte slots[SLOTS], in, out;
bit flag, told, scheduled;

mtype state[OFFERS];
bit got[VALUES + 1];
byte read, cancels;
bit released[VALUES + 1]; /* the writer of a value goes on */

inline gets(v) {
  assert(v != 0 && !got[v]);
  got[v] = 1;
  read++
}

/* Under the lock: an offer that was first in the queue is met. */
inline meet(o, v) {
  assert(v != 0);
  value[o] = v;
  if
  :: o < TASKS ->
met:
     chain!o;
rings:
     flag = 1
  :: else ->
     state[o] = WOKEN
  fi
}

inline drain() {
  do
  :: in != out && nempty(readers) ->
     readers?x;
     meet(x, slots[out]);
     slots[out] = 0;
     out = LATER(out)
  :: in == out || empty(readers) ->
     break
  od
}

/* Under the lock: v is 0 if o has to wait. */
inline look(o, v) {
  v = 0;
  if
  :: nempty(given) ->
     given?v
#ifdef FAULT_NOT_DRAINED
  :: empty(given) && nempty(writers) ->
     writers?v;
     released[v] = 1
  :: empty(given) && empty(writers) ->
     skip
#else
  :: empty(given) && in != out ->
     v = slots[out];
     slots[out] = 0;
     out = LATER(out)
  :: empty(given) && in == out && nempty(writers) ->
     writers?v;
     released[v] = 1
  :: empty(given) && in == out && empty(writers) ->
     skip
#endif
  fi;
  if
  :: v == 0 ->
     state[o] = WAITS;
wait_for_it:
     readers!o
  :: else ->
     gets(v)
  fi
}

/* A task that waits can only be cancelled; one that was woken, too, before it runs. */
#define CAN(t) (TASKS > t && read < VALUES && (state[t] != WAITS || cancels < CANCELS))

proctype Loop() {
  byte t, v, x;
  do
  :: atomic {
       CAN(0) || CAN(1) ->
       if
       :: CAN(0) ->
          t = 0
       :: CAN(1) ->
          t = 1
       fi;
       if
       :: state[t] == RUNS ->
          look(t, v)
       :: state[t] == WOKEN ->
          v = value[t];
          value[t] = 0;
          gets(v);
          state[t] = RUNS
       :: state[t] != RUNS && cancels < CANCELS ->
          cancels++;
          v = value[t];
          value[t] = 0;
          state[t] = RUNS;
          if
          :: v == 0 ->
cancelled:
             readers??eval(t)
          :: else ->
             if
             :: chain??[eval(t)] ->
#ifdef FAULT_STAYS_MET
                skip
#else
forgotten:
                chain??eval(t)
#endif
             :: !(chain??[eval(t)]) ->
                skip
             fi;
#ifdef FAULT_VALUE_LOST
             skip
#else
             if
             :: nempty(readers) ->
gives_back:
                readers?x;
                meet(x, v)
             :: empty(readers) ->
                given!v
             fi
#endif
          fi
       fi
     }
  :: flag ->
#ifndef FAULT_CLEARED_LATE
clears:
     flag = 0;
#endif
pump:
     atomic {
       drain()
     };
     do
     :: atomic {
          nempty(chain) ->
next_met:
          chain?t;
          assert(state[t] == WAITS && value[t] != 0);
wakes:
          state[t] = WOKEN
        }
     :: empty(chain) ->
        break
     od
#ifdef FAULT_CLEARED_LATE
     ;
     flag = 0
#endif
  :: read == VALUES || TASKS == 0 ->
     break
  od
}

proctype Reader(byte o) {
  byte v;
  do
  :: atomic {
       state[o] == RUNS && read < VALUES ->
       look(o, v)
     }
  :: atomic {
       state[o] == WOKEN ->
       v = value[o];
       value[o] = 0;
       gets(v);
       state[o] = RUNS
     }
  :: read == VALUES ->
     break
  od
}

/* What micropython.schedule calls. */
active proctype Main() {
  byte x;
  do
  :: scheduled ->
     scheduled = 0;
#ifndef FAULT_TOLD_LATE
     told = 0;
#endif
not_told:
     atomic {
       drain()
     }
#ifdef FAULT_TOLD_LATE
     ;
     told = 0
#endif
  :: read == VALUES ->
     break
  od
}

proctype Writer(byte v) {
  byte x;
writes:
  atomic {
#ifndef FAULT_OVERTAKES
    drain();
#endif
    if
    :: nempty(readers) ->
       assert(in == out); /* what an interrupt left before would come after */
       readers?x;
       meet(x, v);
       released[v] = 1
    :: empty(readers) ->
       writers!v
    fi
  };
  released[v]
}

proctype Interrupt() {
  byte v = WRITES + 1;
  do
  :: v <= VALUES && LATER(in) != out ->
#ifdef FAULT_FLAG_FIRST
     flag = 1;
#endif
#ifdef FAULT_INDEX_FIRST
     in = LATER(in);
     slots[(in + SLOTS - 1) % SLOTS] = v;
#else
stores_value:
     slots[in] = v;
stores_index:
     in = LATER(in);
#endif
#ifndef FAULT_FLAG_FIRST
sets_flag:
     flag = 1;
#endif
     if
     :: READERS > 0 && !told ->
        told = 1;
schedules:
        scheduled = 1
     :: else
     fi;
     v++
  :: v > VALUES ->
     break
  od
}

init {
  byte i;
  atomic {
    i = 0;
    do
    :: i < OFFERS ->
       state[i] = RUNS;
       i++
    :: else ->
       break
    od;
    run Loop();
    i = TASKS;
    do
    :: i < OFFERS ->
       run Reader(i);
       i++
    :: else ->
       break
    od;
    i = 1;
    do
    :: i <= WRITES ->
       run Writer(i);
       i++
    :: else ->
       break
    od;
    run Interrupt()
  }
}
