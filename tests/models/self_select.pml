/*
MODEL Alternatives that read and write one and the same channel, beside plain operations.
RULE 7: no alternative meets itself, two of them meet each other, at most one is left over
    (assertions at each pairing, after every step and at the end; invalid end states)
RULE 6: values are neither lost nor doubled, nothing of the losers stays (assertions)
FULL -DALTS=3 -DGUARDS=2 -DPLAINS=0 -DK=2
FULL -DALTS=2 -DGUARDS=3 -DPLAINS=1 -DK=2
FULL -DALTS=3 -DGUARDS=2 -DPLAINS=1 -DK=1 -DCOROUTINES
BOUNDED -DALTS=3 -DGUARDS=2 -DPLAINS=0 -DK=1
BOUNDED -DALTS=2 -DGUARDS=3 -DPLAINS=1 -DK=1
FAULT POSTS_FIRST an alternative leaves its offers before it looks
FAULT IGNORES an alternative takes whatever another alternative offers for its own
FAULT LOSER_STAYS the offers that lost are not withdrawn
MAPS both_ways | cspcore/verify.py:verify | _check(alt is not None, "a reader and a writer wait
*/
#define CHANNELS 1
#define MEETS(c, other, v) assert(PLAIN(other) || OWN(ALT_OF(other)) != g_me)
#define REFUSED(o, c, kind, waited) assert(false)
#define LEAVES_ALT(a) timeout /* nobody will ever come */
#define LEAVES_PLAIN(c, kind) timeout

#include "select.inc"

/* The first two guards are one of each, in either order; others are of either kind. */
init {
  byte a, i;
  bit kind;
both_ways:
  atomic {
    do
    :: a < ALTS ->
       i = 0;
       do
       :: i < GUARDS ->
          if
          :: i == 1 ->
             kind = 1 - kind
          :: else ->
             if
             :: kind = READ
             :: kind = WRITE
             fi
          fi;
          op[GUARD(a, i)] = kind;
          i++
       :: else ->
          break
       od;
       run Select(a);
       a++
    :: a >= ALTS && a < PROCS ->
       if
       :: kind = READ
       :: kind = WRITE
       fi;
       run Plain(a, kind, 0);
       a++
    :: else ->
       break
    od;
    a = 0;
    i = 0;
    kind = 0
  }
  _nr_pr == 1;
  atomic {
    assert(READERS(0) == NIL && WRITERS(0) == NIL);
    all_values()
  }
}
