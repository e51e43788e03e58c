/*
MODEL Alternatives with input and output guards, and plain operations, in every network of a size.
RULE 6: of all that could happen exactly one does, nothing of the losers stays in a queue, values
    are neither lost nor doubled (assertions); who waits, waits because nobody can meet it, and who
    was met is woken (assertions, invalid end states)
RULE 1: no queue holds readers and writers that could meet, whoever they belong to (assertions)
FULL -DALTS=2 -DGUARDS=2 -DPLAINS=1 -DCHANNELS=2 -DK=1
FULL -DALTS=2 -DGUARDS=2 -DPLAINS=1 -DCHANNELS=2 -DK=1 -DCOROUTINES
FULL -DALTS=2 -DGUARDS=3 -DPLAINS=0 -DCHANNELS=2 -DK=1
FULL -DALTS=3 -DGUARDS=2 -DPLAINS=1 -DCHANNELS=3 -DK=1 -DRING
FULL -DALTS=3 -DGUARDS=2 -DPLAINS=0 -DCHANNELS=3 -DK=2 -DRING
BOUNDED -DALTS=2 -DGUARDS=2 -DPLAINS=1 -DCHANNELS=2 -DK=1 -DCOROUTINES
BOUNDED -DALTS=3 -DGUARDS=2 -DPLAINS=1 -DCHANNELS=3 -DK=1 -DRING
FAULT LOSER_STAYS the offers that lost are not withdrawn
FAULT LATE the losers are withdrawn when the alternative wakes, not when it is met
FAULT TWO_STEPS the lock is let go of between looking and posting
FAULT TWO_TAKEN whoever finds two guards ready takes both and returns one
MAPS any_network | cspcore/choice.py:Choice.__init__ | self._offers = offers = []
*/
#define MEETS(c, other, v) skip
#define REFUSED(c, kind, waited) assert(false)
#define LEAVES_ALT(a) timeout /* nobody will ever come */
#define LEAVES_PLAIN(c, kind) timeout

#include "select.inc"

/* Any guard may read or write any channel; in a RING, alternative a reads channel a and writes the
   next, or the other way round in the order of its guards. */
init {
  byte a, c;
  bit kind;
any_network:
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
    all_values()
  }
}
