/*
MODEL Clients call, servers take their requests and answer, fail, poison or die, while the channel
    is poisoned and who waits is cancelled at any moment.
RULE 2: a request is served by one server, once, and its first answer is what its client gets,
    whether that came before or after the client waited for it; nobody waits for ever (assertions)
RULE 3: poison of the channel ends calls that were taken and not answered, too, once each; an
    answer that was given stands, whatever comes after it (assertions)
RULE 8: a client that is cancelled before its request was taken leaves nothing, one that is later
    holds up nobody; a server cancelled before it knows gives its request back, and one cancelled
    while it serves ends the call (assertions)
FULL -DCLIENTS=2 -DSERVERS=2 -DK=1
FULL -DCLIENTS=1 -DSERVERS=2 -DK=2
FULL -DCLIENTS=2 -DSERVERS=1 -DK=1 -DCOROUTINES -DCANCELS=3
FULL -DCLIENTS=1 -DSERVERS=2 -DK=2 -DCOROUTINES -DCANCELS=3
BOUNDED -DCLIENTS=2 -DSERVERS=1 -DK=1
BOUNDED -DCLIENTS=1 -DSERVERS=2 -DK=1 -DCOROUTINES -DCANCELS=2
BOUNDED -DCLIENTS=2 -DSERVERS=1 -DK=1 -DCOROUTINES -DCANCELS=1
FAULT NOT_PASSED_ON a request that a waiting server gets is not remembered as open
FAULT KEPT_OPEN an answered request stays open
FAULT EARLY_LOST an answer that comes before the client waits for it is lost
FAULT TWICE a second answer takes the place of the first
FAULT UNDOES who poisons a request that was answered ends its client all the same
FAULT LINKED_TWICE a request that was given back is remembered once more
FAULT GIVEN_LOST a server that is cancelled before it knows keeps its request
FAULT DIES_SILENT a server that is cancelled while it serves leaves its request as it is
MAPS write_it | cspcore/calls.py:AwaitedCallEnd.__call__ | await self._write(request)
MAPS write_it | upycsp/meeting.py:_CallEnd.__call__ | self._write(request)
MAPS read_it | cspcore/calls.py:AwaitedCallEnd.__call__ | v = await ch.read_end(request)()
MAPS read_it | upycsp/meeting.py:_CallEnd.__call__ | v = ch.read_end(request)()
MAPS take_answer | cspcore/calls.py:Request.take | return self.value, None
MAPS accept | cspcore/calls.py:BaseServeEnd.accept | return self._read()
MAPS take | cspcore/calls.py:Calls.take | pair = BaseChannel.take(self)
MAPS give | cspcore/calls.py:Calls.give | party = BaseChannel.give(self, request)
MAPS pass_on | cspcore/calls.py:Calls._pass_on | if not request.taken:
MAPS forget | cspcore/calls.py:Calls.forget | self._open = unlink(self._open, request)
MAPS answered | cspcore/calls.py:Request._answered | self.settled = True
MAPS refused | cspcore/calls.py:Request._answered | raise RuntimeError("a call is answered once")
MAPS to_client | cspcore/calls.py:Request._answered | return self.give(value)
MAPS early | cspcore/calls.py:Request._answered | self._writers = OPEN
MAPS settles | cspcore/calls.py:Request._wake | self.calls.wake(party)
MAPS end_request | cspcore/calls.py:Request.end | if not self.settled:
MAPS end_client | cspcore/calls.py:Request.end | chain = self._end_offer(self._readers, chain)
MAPS end_open | cspcore/calls.py:Calls._end_readers | chain = self._open.end(chain)
MAPS poison_request | cspcore/calls.py:Request._ruined | return self.end_all()
MAPS poison_request | cspcore/calls.py:not_served | request.ruin(exception)
MAPS leaves_block | cspcore/calls.py:Request.__exit__ | self.ruin(exception)
MAPS drops_answer | cspcore/calls.py:Request.give_back | return None  # the client is gone
MAPS give_back | cspcore/channel.py:BaseChannel.give_back | self._writers = insert_given(self._writers, offer)
*/
#define PARTIES (CLIENTS + SERVERS)
#define MOST 4 /* of the parties */
#define CLIENT_OF(r) (((r) - 1) / K)
#define REQUESTS (CLIENTS * K) /* 1, 2, ... */

#define NOTHING 0
#define POISON 255
#define TAKEN 254
#define NOBODY 255

/* What a party waits for. */
#define RUNS 0
#define CALLS 1
#define ANSWER 2
#define CALL 3

/* Queues, oldest first. */
#define BACK 100 /* before requests: one that was given back, whose client no longer waits here */
chan writers = [REQUESTS] of { byte };  /* of the call channel: requests */
chan readers = [SERVERS] of { byte };   /* servers */
chan open = [2 * REQUESTS] of { byte }; /* requests that were taken, and not answered */
bit dead;

/* Of a request. */
#define OPEN 1
#define DEAD 2
bit taken[REQUESTS + 1], settled[REQUESTS + 1];
bit waited[REQUESTS + 1];   /* _readers: its client waits for the answer */
byte answer[REQUESTS + 1];  /* value, under which it is kept: _writers is */
byte is_open[REQUESTS + 1]; /* NOTHING, OPEN or DEAD */

/* Of a party. */
byte waits[MOST], val[MOST];
bit met[MOST];   /* its offer is out of the queue */
bit woken[MOST];
#ifdef COROUTINES
bit cancelled[MOST]; /* and has not run since */
bit later[MOST];     /* its cancellation is to be raised at its next wait */
byte request[MOST];  /* what it calls with */
byte cancels;
#endif

/* What the checks know. */
bit serves[REQUESTS + 1], poisoned[REQUESTS + 1];
byte first[REQUESTS + 1]; /* the first answer */

hidden byte x_r, x_n, x_i, x_o, x_party;

/* Waking: in threads a step of its own. */

inline wake(p) {
  if
  :: p != NOBODY ->
     assert(met[p] && !woken[p]);
     woken[p] = 1
  :: else
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

/* The offer that a party waits on is met, or ends. */
inline meets(p, what, v) {
  assert(waits[p] == what && !met[p]);
  met[p] = 1;
  val[p] = v
}

inline wait(p, what) {
  waits[p] = what;
  val[p] = NOTHING;
#ifdef COROUTINES
  if
  :: later[p] -> /* before anybody else runs */
     cancel(p)
  :: else
  fi
#endif
}

/* The channel of the calls */

inline pass_on(r) {
  if
#ifdef FAULT_LINKED_TWICE
  :: true ->
#else
  :: !taken[r] ->
#endif
     taken[r] = 1;
     open!r
  :: else
  fi
}

inline forget(r) {
#ifndef FAULT_KEPT_OPEN
  open??eval(r)
#else
  skip
#endif
}

/* The head of the writers: party is the client to wake, if it still waits there. */
inline take(r, party) {
  writers?r;
  if
  :: r > BACK ->
     r = r - BACK;
     party = NOBODY
  :: else ->
     party = CLIENT_OF(r);
     meets(party, CALLS, TAKEN)
  fi;
  pass_on(r)
}

inline give(r, party) {
  readers?party;
  meets(party, CALL, r);
#ifndef FAULT_NOT_PASSED_ON
  pass_on(r)
#endif
}

inline give_back(r, party) {
  party = NOBODY;
  if
  :: dead
  :: !dead && len(readers) > 0 ->
     give(r, party)
  :: else ->
     writers!BACK + r;
     x_n = len(writers) - 1;
     do /* before all writers */
     :: x_n > 0 ->
        writers?x_o;
        writers!x_o;
        x_n--
     :: else ->
        break
     od
  fi
}

/* A request */

/* again becomes 1 where the code raises. */
inline answered(r, v, party, again) {
  party = NOBODY;
  again = 0;
  if
  :: is_open[r] == DEAD
#ifndef FAULT_TWICE
  :: is_open[r] != DEAD && settled[r] ->
refused:
     again = 1
#endif
  :: else ->
#ifdef FAULT_TWICE
     if
     :: !settled[r] ->
        forget(r)
     :: else
     fi;
#else
     forget(r);
#endif
     settled[r] = 1;
     first[r] = (first[r] == NOTHING -> v : first[r]);
     if
     :: waited[r] ->
to_client:
        waited[r] = 0;
        party = CLIENT_OF(r);
        meets(party, ANSWER, v)
     :: else ->
early:
        answer[r] = v;
#ifndef FAULT_EARLY_LOST
        is_open[r] = OPEN
#endif
     fi
  fi
}

inline end_request(r, chain) {
  if
#ifdef FAULT_UNDOES
  :: is_open[r] != DEAD ->
#else
  :: !settled[r] ->
#endif
     if
     :: taken[r] && !settled[r] ->
        forget(r)
     :: else
     fi;
     settled[r] = 1;
     if
     :: waited[r] ->
end_client:
        waited[r] = 0;
        meets(CLIENT_OF(r), ANSWER, POISON);
        chain!CLIENT_OF(r)
     :: else
     fi;
     is_open[r] = DEAD
  :: else
  fi
}

/* Poison of the channel. */
inline end_all(chain) {
  do
  :: len(open) > 0 ->
end_open:
     open?<x_r>;
     assert(!settled[x_r]); /* else it would go on for ever */
     end_request(x_r, chain)
  :: else ->
     break
  od;
  do
  :: len(readers) > 0 ->
     readers?x_o;
     meets(x_o, CALL, POISON);
     chain!x_o
  :: else ->
     break
  od;
  do
  :: len(writers) > 0 ->
     writers?x_o;
     if
     :: x_o < BACK ->
        meets(CLIENT_OF(x_o), CALLS, POISON);
        chain!CLIENT_OF(x_o)
     :: else
     fi
  :: else ->
     break
  od;
  dead = 1
}

/* After each step. */
inline verify() {
  assert(len(readers) == 0 || len(writers) == 0);
  assert(!dead || len(readers) + len(writers) + len(open) == 0);
  x_n = 0;
  x_i = 1;
  do
  :: x_i <= REQUESTS ->
     assert(!open??[eval(x_i)] == !(taken[x_i] && !settled[x_i]));
     assert(!waited[x_i] || is_open[x_i] == NOTHING && taken[x_i] && !settled[x_i]);
     x_n = x_n + (taken[x_i] && !settled[x_i]);
     x_i++
  :: else ->
     break
  od;
  assert(x_n == len(open));
  x_n = 0;
  x_i = 0;
  x_o = 0;
  x_r = 0;
  x_party = 0
}

#ifdef COROUTINES
/* task.cancel() of a task that waits. */
inline cancel(p) {
  if
  :: waits[p] == CALLS && !met[p] ->
     writers??eval(request[p])
  :: waits[p] == ANSWER && !met[p] ->
     waited[request[p]] = 0
  :: waits[p] == ANSWER && met[p] ->
drops_answer:
     val[p] = POISON
  :: waits[p] == CALL && !met[p] ->
     readers??eval(p)
  :: waits[p] == CALL && met[p] && val[p] != POISON ->
     x_r = val[p];
     val[p] = POISON;
#ifndef FAULT_GIVEN_LOST
     give_back(x_r, x_party);
     wake(x_party)
#endif
  :: else
  fi;
  woken[p] = 0;
  cancelled[p] = 1;
  later[p] = 0
}
#endif

/* It goes on. */
inline runs(p) {
  waits[p] = RUNS;
  met[p] = 0;
  woken[p] = 0
}

#ifdef COROUTINES
#define WAKES(step) step
#define THEN_WAKES(step) skip
#else
#define WAKES(step) skip
#define THEN_WAKES(step) step
#endif

/* Each call is a request of its own. */
proctype Client(byte p) {
  byte r, party, round;
  do
  :: round < K ->
     round++;
     r = p * K + round;
     atomic {
       party = NOBODY;
#ifdef COROUTINES
       request[p] = r;
#endif
write_it:
       if
       :: len(readers) > 0 ->
          give(r, party);
          WAKES(wake(party))
       :: len(readers) == 0 && dead ->
          goto ended
       :: len(readers) == 0 && !dead ->
          writers!r;
          wait(p, CALLS)
       fi;
       verify()
     }
     THEN_WAKES(wake(party));
     if
     :: waits[p] == RUNS
     :: atomic {
          woken[p] ->
          runs(p);
          if
          :: val[p] == POISON ->
             assert(dead && !taken[r]);
             goto ended
          :: else
          fi
        }
#ifdef COROUTINES
     :: atomic {
          cancelled[p] ->
          cancelled[p] = 0;
          runs(p);
          if
          :: val[p] == TAKEN -> /* it has been written: the read is cancelled, if it waits */
             later[p] = 1
          :: else ->
             assert(!taken[r]);
             goto ended
          fi
        }
#endif
     fi;
read_it:
     atomic {
       if
       :: is_open[r] == OPEN ->
take_answer:
          assert(answer[r] == first[r]);
          goto ended
       :: is_open[r] == DEAD ->
          assert((dead || poisoned[r]) && !first[r]);
          goto ended
       :: is_open[r] == NOTHING ->
          waited[r] = 1;
          wait(p, ANSWER)
       fi;
       verify()
     }
     if
     :: atomic {
          woken[p] ->
          runs(p);
          if
          :: val[p] == POISON ->
             assert((dead || poisoned[r]) && !first[r])
          :: else ->
             assert(val[p] == first[r])
          fi
        }
#ifdef COROUTINES
     :: atomic {
          cancelled[p] ->
          cancelled[p] = 0;
          runs(p)
        }
#endif
     fi;
ended:
     atomic {
       val[p] = NOTHING;
#ifdef COROUTINES
       request[p] = 0;
#endif
       r = 0;
       party = 0;
       verify()
     }
  :: else ->
     break
  od
}

inline poison_it(r, chain, party) {
  poisoned[r] = 1;
  end_request(r, chain);
  verify();
  WAKES(wake_chain(chain, party))
}

/* Takes a request, answers it or not, and does so again. */
proctype Server(byte p) {
  chan chain = [PARTIES] of { byte };
  byte r, party;
  bit again;
  do
  :: atomic {
       party = NOBODY;
accept:
       if
       :: len(writers) > 0 ->
          take(r, party);
          WAKES(wake(party))
       :: len(writers) == 0 && dead ->
          break
       :: len(writers) == 0 && !dead ->
          readers!p;
          wait(p, CALL)
       fi;
       verify()
     }
     THEN_WAKES(wake(party));
end_waits:
     if
     :: waits[p] == RUNS
     :: atomic {
          woken[p] ->
          runs(p);
          r = val[p];
          val[p] = NOTHING;
          if
          :: r == POISON ->
             assert(dead);
             break
          :: else
          fi
        }
#ifdef COROUTINES
     :: atomic {
          cancelled[p] ->
          cancelled[p] = 0;
          runs(p);
          val[p] = NOTHING;
          goto next
        }
#endif
     fi;
     atomic {
       assert(taken[r] && !serves[r]);
       serves[r] = 1
     }
     if
     :: true ->
        atomic { /* by a value, or by an exception of the function */
          answered(r, 1, party, again);
          assert(!again);
          verify();
          WAKES(wake(party))
        }
settles:
        THEN_WAKES(wake(party));
        if
        :: true ->
           atomic {
             answered(r, 2, party, again);
             assert(again || is_open[r] == DEAD);
             assert(party == NOBODY);
             verify()
           }
        :: true ->
leaves_block:
           atomic { /* by an exception, after it has answered */
             poison_it(r, chain, party)
           }
           THEN_WAKES(wake_chain(chain, party))
        :: true
        fi
     :: true -> /* its function has met poison, or it is cancelled */
poison_request:
#ifndef FAULT_DIES_SILENT
        atomic {
          poison_it(r, chain, party)
        }
        THEN_WAKES(wake_chain(chain, party))
#else
        skip
#endif
     :: true -> /* it dies */
        atomic {
          end_all(chain);
          verify();
          WAKES(wake_chain(chain, party))
        }
        THEN_WAKES(wake_chain(chain, party));
        break
     fi;
next:
     atomic {
       r = 0;
       party = 0;
       again = 0
     }
  od
}

#ifdef COROUTINES
#define MAY_CANCEL(p) (cancels < CANCELS && waits[p] != RUNS && !cancelled[p])

inline cancels_it(p) {
  cancels++;
  cancel(p);
  verify()
}

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

/* Poison by anybody, at any moment, or none. */
active proctype Poison() {
  chan chain = [PARTIES] of { byte };
  byte party;
  if
  :: atomic {
       end_all(chain);
       verify();
       WAKES(wake_chain(chain, party))
     }
     THEN_WAKES(wake_chain(chain, party))
  :: true
  fi
}

init {
  byte p;
  atomic {
    do
    :: p < CLIENTS ->
       run Client(p);
       p++
    :: p >= CLIENTS && p < PARTIES ->
       run Server(p);
       p++
    :: else ->
       break
    od;
    p = 0
  }
  timeout; /* nobody goes on: all calls are over, and servers wait for another one */
  atomic {
    verify();
    assert(len(open) == 0 && len(writers) == 0);
    do
    :: p < PARTIES ->
       assert(waits[p] == (p < CLIENTS || dead -> RUNS : CALL));
       p++
    :: else ->
       break
    od
  }
}
