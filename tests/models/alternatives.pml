/*
MODEL Alternatives with input and output guards, and plain operations, in every network of a size.
RULE 6: of all that could happen exactly one does, nothing of the losers stays in a queue, values
    are neither lost nor doubled (assertions); who waits, waits because nobody can meet it, and who
    was met is woken (assertions, invalid end states)
RULE 1: no queue holds readers and writers that could meet, whoever they belong to (assertions)
FULL -DALTS=3 -DGUARDS=2 -DPLAINS=0 -DCHANNELS=2 -DK=1
FULL -DALTS=2 -DGUARDS=3 -DPLAINS=0 -DCHANNELS=2 -DK=1
FULL -DALTS=2 -DGUARDS=2 -DPLAINS=1 -DCHANNELS=2 -DK=2
FULL -DALTS=2 -DGUARDS=2 -DPLAINS=2 -DCHANNELS=2 -DK=1
FULL -DALTS=3 -DGUARDS=2 -DPLAINS=1 -DCHANNELS=3 -DK=2 -DRING
BOUNDED -DALTS=2 -DGUARDS=2 -DPLAINS=1 -DCHANNELS=2 -DK=1
BOUNDED -DALTS=3 -DGUARDS=2 -DPLAINS=1 -DCHANNELS=3 -DK=1 -DRING
FAULT LOSER_STAYS the offers that lost are not withdrawn
FAULT LATE the losers are withdrawn when the alternative wakes, not when it is met
FAULT TWO_STEPS the lock is let go of between looking and posting
FAULT TWO_TAKEN whoever finds two guards ready takes both and returns one
MAPS look | upycsp/alternative.py:Alternative.select | i = self.poll(
MAPS commit_it | upycsp/alternative.py:Alternative.select | v, party = self.commit(i)
MAPS post_it | upycsp/alternative.py:Alternative.select | self.post()
MAPS sleep | upycsp/alternative.py:Alternative.select | me.wait()
MAPS result | upycsp/alternative.py:Alternative.select | v = self.result()
MAPS wake_other | upycsp/alternative.py:Alternative.select | party.wake()
*/
#define PROCS (ALTS + PLAINS)
#define MESSAGES (K * (ALTS * GUARDS + PLAINS))

bit stands[PROCS + 3]; /* a plain operation is in its queue */
bit taken[MESSAGES + 1], read_it[MESSAGES + 1], wrote_it[MESSAGES + 1];

#define MET(c, other, v) \
  assert(v != WAITING && v <= MESSAGES && !taken[v]); \
  taken[v] = 1; \
  stands[(other < PROCS + 3 -> other : 0)] = 0

#include "channel.inc"

hidden byte all_c;

inline verify_all() {
  all_c = 0;
  do
  :: all_c < CHANNELS ->
     verify(all_c);
     all_c++
  :: else ->
     break
  od
}

inline got(v) {
  assert(v != WAITING && v <= MESSAGES && taken[v] && !read_it[v]);
  read_it[v] = 1
}

inline put(v) {
  assert(taken[v] && !wrote_it[v]);
  wrote_it[v] = 1
}

/* select and fair_select: they begin to look at any of the guards. */
proctype Select(byte a) {
  byte i, party, round, v, start;
  do
  :: round < K ->
     atomic {
       if
       :: start = 0
       :: start = GUARDS - 1
       fi;
       i = 0;
       do
       :: i < GUARDS ->
          pending[a * GUARDS + i] = 1 + (round * ALTS + a) * GUARDS + i;
          i++
       :: else ->
          break
       od;
       round++
     }
look:
     atomic {
       poll(a, start, i);
       if
       :: i != NONE ->
commit_it:
          commit(a, i, v, party);
#ifdef FAULT_TWO_TAKEN
          if
          :: op[GUARD(a, 1 - i)] == READ && WRITERS(ch_of[GUARD(a, 1 - i)]) != NIL ->
             wake(party);
             take(ch_of[GUARD(a, 1 - i)], v, party)
          :: else
          fi;
#endif
          verify_all()
       :: else ->
#ifndef FAULT_TWO_STEPS
post_it:
          post_all(a);
          verify_all()
#endif
       fi
     }
#ifdef FAULT_TWO_STEPS
     atomic {
       if
       :: i == NONE ->
          post_all(a);
          verify_all()
       :: else
       fi
     }
#endif
     if
     :: i != NONE ->
wake_other:
        wake(party)
     :: else ->
        if
        :: woken[OWN(a)] ->
sleep:
           woken[OWN(a)] = 0
        :: atomic {
             timeout && waits[a] -> /* nobody will ever come */
             withdraw_all(a);
             break
           }
        fi
     fi;
     atomic {
       if
       :: i == NONE ->
#ifdef FAULT_LATE
          withdraw_all(a);
#endif
          i = chosen[a];
          assert(i != NONE && !waits[a]);
result:
          v = val[GUARD(a, i)];
          val[GUARD(a, i)] = WAITING
       :: else
       fi;
       if
       :: op[GUARD(a, i)] == READ ->
          got(v)
       :: else ->
          put(pending[a * GUARDS + i])
       fi;
       v = 0;
       i = 0;
       party = 0
     }
  :: else ->
     break
  od
}

proctype Plain(byte p; bit kind; byte c) {
  byte v, party, round;
  do
  :: round < K ->
     round++;
     atomic {
       if
       :: kind == READ ->
          read_end(p, c, v, party)
       :: else ->
          v = K * ALTS * GUARDS + (p - ALTS) * K + round;
          write_end(p, c, v, party)
       fi;
       stands[OWN(p)] = (party == NIL);
       verify_all()
     }
     if
     :: party != NIL ->
        wake(party)
     :: else ->
        if
        :: woken[OWN(p)] ->
           woken[OWN(p)] = 0;
           v = (kind == READ -> val[OWN(p)] : v);
           val[OWN(p)] = WAITING
        :: atomic {
             timeout && stands[OWN(p)] ->
             withdraw(OWN(p));
             break
           }
        fi
     fi;
     atomic {
       if
       :: kind == READ ->
          got(v)
       :: else ->
          put(v)
       fi;
       v = 0;
       party = 0
     }
  :: else ->
     break
  od
}

/* Any guard may read or write any channel; in a RING, alternative a reads channel a and writes the
   next, or the other way round in the order of its guards. */
init {
  byte a, c;
  bit kind;
  atomic {
    do
    :: a < ALTS * GUARDS ->
#ifdef RING
       if
       :: a % 2 == 0 ->
          if
          :: kind = READ
          :: kind = WRITE
          fi
       :: else ->
          kind = 1 - kind
       fi;
       c = (kind == READ -> (a / 2) % CHANNELS : (a / 2 + 1) % CHANNELS);
#else
       if
       :: kind = READ
       :: kind = WRITE
       fi;
       c = 0;
       do
       :: c + 1 < CHANNELS && a > 0 ->
          c++
       :: break
       od;
#endif
       op[FIRST + PROCS + a] = kind;
       ch_of[FIRST + PROCS + a] = c;
       a++
    :: else ->
       break
    od;
    a = 0;
    do
    :: a < ALTS ->
       run Select(a);
       a++
    :: a >= ALTS && a < PROCS ->
       if
       :: kind = READ
       :: kind = WRITE
       fi;
       c = 0;
       do
       :: c + 1 < CHANNELS ->
          c++
       :: break
       od;
       run Plain(a, kind, c);
       a++
    :: else ->
       break
    od;
    a = 0;
    c = 0;
    kind = 0
  }
  _nr_pr == 1;
  atomic {
    do
    :: c < CHANNELS ->
       assert(READERS(c) == NIL && WRITERS(c) == NIL);
       c++
    :: else ->
       break
    od;
    do
    :: a <= MESSAGES ->
       assert(read_it[a] == wrote_it[a] && read_it[a] == taken[a]);
       a++
    :: else ->
       break
    od
  }
}
