/*
MODEL Readers, writers and an alternative, while channels are poisoned and closed at any moment.
RULE 3: poison ends all that wait and all that comes later, nothing is handed over after it, and
    what was paired before it stands (assertions; invalid end states for who is left waiting)
RULE 9: after close no write begins, waiting writers and write guards can be read, waiting readers
    end at once, and what is read empty is poisoned (assertions, invalid end states)
RULE 6: a guard whose channel has ended is ready (invalid end states)
FULL -DALTS=0 -DPLAINS=3 -DCHANNELS=1 -DK=2 -DENDS=2
FULL -DALTS=1 -DPLAINS=2 -DCHANNELS=1 -DK=1 -DENDS=2
FULL -DALTS=1 -DPLAINS=2 -DCHANNELS=1 -DK=1 -DENDS=2 -DCOROUTINES
FULL -DALTS=1 -DPLAINS=1 -DCHANNELS=2 -DK=1 -DENDS=2
FULL -DALTS=2 -DPLAINS=1 -DCHANNELS=1 -DK=1 -DENDS=1
BOUNDED -DALTS=0 -DPLAINS=3 -DCHANNELS=1 -DK=1 -DENDS=2
BOUNDED -DALTS=1 -DPLAINS=2 -DCHANNELS=1 -DK=1 -DENDS=2 -DCOROUTINES
BOUNDED -DALTS=1 -DPLAINS=1 -DCHANNELS=2 -DK=1 -DENDS=1
FAULT GIVES_AFTER poison leaves waiting writers in their queue
FAULT UNDOES poison overwrites the value of a reader that was paired and has not woken yet
FAULT CLOSE_DROPS close forgets the writers that wait
FAULT CLOSE_ENDS close poisons the writers that wait, too
FAULT CLOSE_OPEN close leaves its mark only where nobody waits to write
FAULT QUICK the short way of a read forgets the mark behind the last writer
FAULT WAKE_FIRST -DALTS=0 -DPLAINS=2 -DCHANNELS=2 -DK=2 -DENDS=1 who is woken of a chain is unlinked from it only afterwards
FAULT LOSER_STAYS -DALTS=1 -DPLAINS=2 -DCHANNELS=1 -DK=1 -DENDS=2 -DCOROUTINES the other
    offers of an alternative that poison ended are not withdrawn
MAPS poison_all | upycsp/channel.py:Ends.poison | chain = None if self.resists(strength) else self.end_all()
MAPS poison_writing | upycsp/channel.py:WriteEnd.poison | chain = None if ch.resists(strength) else ch.end_writing()
MAPS close_it | upycsp/channel.py:Ends.close | chain = self.end_close()
MAPS wake_them | upycsp/wait.py:wake_chain | party.wake()
*/
#define GUARDS 2
bit poisoned[CHANNELS], closed[CHANNELS];

#define MEETS(c, other, v) assert(!poisoned[c])
#define REFUSED(o, c, kind, waited) \
  assert(poisoned[c] || closed[c] && !(kind == WRITE && waited))
#define WAITS_WELL(c, kind) (!poisoned[c] && (kind == WRITE || !closed[c]))
#define GUARD_WAITS_WELL(g) WAITS_WELL(ch_of[g], op[g])
#define LEAVES_PLAIN(c, kind) timeout && WAITS_WELL(c, kind)
#define LEAVES_ALT(a) \
  timeout && GUARD_WAITS_WELL(GUARD(a, 0)) && GUARD_WAITS_WELL(GUARD(a, 1))

#include "select.inc"

/* Ends a channel in any of the ways, at any moment, or not at all. */
proctype End() {
  byte chain, n, c, times;
  do
  :: times < ENDS ->
     times++;
     if
     :: c = 0
     :: c = CHANNELS - 1
     fi;
     if
     :: atomic {
          poisoned[c] = 1;
poison_all:
          end_all(c, DEAD, chain);
          verify_all()
        }
     :: atomic {
          poisoned[c] = 1;
poison_writing:
          end_all(c, DRAINED, chain);
          verify_all()
        }
     :: atomic {
          closed[c] = 1;
close_it:
          end_close(c, chain);
          verify_all()
        }
     fi;
wake_them:
     wake_chain(chain, n)
  :: break
  od
}

init {
  byte a, c;
  bit kind;
  atomic {
    do
    :: a < ALTS * 2 ->
       if
       :: kind = READ
       :: kind = WRITE
       fi;
       op[FIRST + PROCS + a] = kind;
       ch_of[FIRST + PROCS + a] = (a % 2) % CHANNELS;
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
       if
       :: c = 0
       :: c = CHANNELS - 1
       fi;
       run Plain(a, kind, c);
       a++
    :: else ->
       break
    od;
    run End();
    a = 0;
    c = 0;
    kind = 0
  }
  _nr_pr == 1;
  atomic {
    do
    :: c < CHANNELS ->
       assert(READERS(c) == (poisoned[c] || closed[c] -> DEAD : NIL));
       assert(WRITERS(c) == NIL || MARKER(WRITERS(c)));
       assert((WRITERS(c) == NIL) == (READERS(c) == NIL));
       c++
    :: else ->
       break
    od;
    all_values()
  }
}
