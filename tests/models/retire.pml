/*
MODEL Readers, writers and alternatives with counted ends, each of which retires at any moment, one
    joins late, and some poison, close or give up in between.
RULE 3, 9: when the last writer has retired, waiting readers end, and what waits to be written can
    still be read; when the last reader has, all end; before, nothing does (assertions after every
    step); what happened stands, values are neither lost nor doubled (assertions)
RULE 3: who uses an end that has retired is refused at once; nobody else is before the channel has
    ended; of several causes the hardest is raised (assertions)
RULE 6: a guard whose end has retired is ready; an alternative that waits goes on (assertions);
    nobody waits for ever (invalid end states)
FULL -DALTS=0 -DPLAINS=3 -DCHANNELS=1 -DK=2
FULL -DALTS=0 -DPLAINS=3 -DCHANNELS=1 -DK=1 -DJOINS
FULL -DALTS=0 -DPLAINS=2 -DCHANNELS=1 -DK=2 -DENDS=2
FULL -DALTS=1 -DPLAINS=1 -DCHANNELS=1 -DK=1 -DENDS=1
FULL -DALTS=1 -DPLAINS=1 -DCHANNELS=2 -DK=1 -DLEAVING
BOUNDED -DALTS=0 -DPLAINS=3 -DCHANNELS=1 -DK=1
BOUNDED -DALTS=1 -DPLAINS=1 -DCHANNELS=1 -DK=1 -DLEAVING
FAULT COUNTED_TWICE an end that retires again counts once more
FAULT ONE_IS_ALL the first writer to retire closes the channel
FAULT RETIRES_HARD the last writer to retire ends who waits to write, too
FAULT NO_RING the last reader to retire wakes nobody
FAULT POSTS_RETIRED a guard whose end has retired waits with the others
FAULT SOFTENS -DALTS=0 -DPLAINS=2 -DCHANNELS=1 -DK=1 -DENDS=2 a softer end hides a harder one
FAULT FIRST_STAYS -DALTS=0 -DPLAINS=2 -DCHANNELS=1 -DK=1 -DENDS=1 a harder end is not noted after
    a softer one
FAULT JOINS_ENDED -DALTS=0 -DPLAINS=2 -DCHANNELS=1 -DK=1 -DJOINS a writer joins a
    channel that takes no more
MAPS poison_it | upycsp/channel.py:Ends.poison | chain = None if self.resists(strength) else self.end_all()
MAPS close_it | upycsp/channel.py:Ends.close | chain = self.end_close()
MAPS wake_them | upycsp/wait.py:wake_chain | party.wake()
*/
#define LIVES
#define COUNTED
#define GUARDS 2
#define MEETS(c, other, v) skip
/* That the channel has ended, and by what, verify_lives holds against the rules. */
#define REFUSED(o, c, kind, waited) \
  ended(o, r_how); \
  assert(retired[o] && r_how == RETIRED || r_how == hardest[c]); \
  assert(dead[c] || !waited && retired[o] || READERS(c) == DEAD && !(kind == WRITE && waited))
#ifdef LEAVING
#define LEAVES_PLAIN(c, kind) val[OWN(p)] != POISON
#define LEAVES_ALT(a) true
#else
/* where nobody has ever counted as a reader, writers may wait for ever */
#define LEAVES_PLAIN(c, kind) timeout && kind == WRITE && !had[2 * (c)]
#define LEAVES_GUARD(g) (op[g] == WRITE && !had[2 * ch_of[g]])
#define LEAVES_ALT(a) timeout && LEAVES_GUARD(GUARD(a, 0)) && LEAVES_GUARD(GUARD(a, 1))
#endif
#ifdef JOINS
#define IS_LATE(a) (a == PROCS - 1)
#else
#define IS_LATE(a) false
#endif
#ifndef ENDS
#define ENDS 0
#endif
hidden byte r_how;

#include "select.inc"

/* Retires an end at any moment, twice. */
proctype Retires(byte o) {
  byte chain, n;
  atomic {
    retire(o, chain);
    verify_all()
  }
retire_wakes:
#ifndef FAULT_NO_RING
  wake_chain(chain, n);
#endif
  atomic {
    retire(o, chain);
    assert(chain == NIL);
    verify_all()
  }
}

/* Ends a channel by poison or by close at any moment, or not at all. */
proctype End() {
  byte chain, n, c, strength, times;
  bit it;
  do
  :: times < ENDS ->
     times++;
     if
     :: c = 0
     :: c = CHANNELS - 1
     fi;
     if
     :: atomic {
          if
          :: strength = 1
          :: strength = 2
          :: strength = HARDEST
          fi;
          resists(c, strength, it);
          if
          :: it ->
             chain = NIL
          :: else ->
             poisoned[c] = 1;
poison_it:
             end_all(c, DEAD, chain)
          fi;
          verify_all()
        }
     :: atomic {
          if
          :: READERS(c) != DEAD ->
             closed[c] = 1;
             hardest[c] = HARDEST
          :: else
          fi;
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

/* A process whose end does not count before it has joined. */
proctype Late(byte p) {
  byte party;
  atomic {
    join(OWN(p), party);
    verify_all();
    if
    :: party == NIL ->
       run Plain(p, op[OWN(p)], ch_of[OWN(p)]);
       run Retires(OWN(p))
    :: else ->
       assert(READERS(ch_of[OWN(p)]) == DEAD)
    fi
  }
}

init {
  byte a, c, party;
  bit kind;
  atomic {
    do
    :: c < CHANNELS ->
       cause[c] = HARDEST;
       immunity[c] = 1;
       c++
    :: else ->
       break
    od;
    /* all ends: those of the processes, then those of guards, which are on one channel each */
    do
    :: a < PROCS + ALTS * 2 ->
       if
       :: kind = READ
       :: kind = WRITE
       fi;
       op[FIRST + a] = kind;
       ch_of[FIRST + a] = a % CHANNELS;
       if
       :: a >= ALTS && !IS_LATE(a) ->
          join(FIRST + a, party);
          run Retires(FIRST + a)
       :: else
       fi;
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
       :: IS_LATE(a) ->
          run Late(a)
       :: else ->
          run Plain(a, op[OWN(a)], ch_of[OWN(a)])
       fi;
       a++
    :: else ->
       break
    od;
#if ENDS
    run End();
#endif
    a = 0;
    c = 0;
    kind = 0
  }
  _nr_pr == 1;
  atomic {
    do
    :: c < CHANNELS ->
       assert(READERS(c) == NIL || READERS(c) == DEAD);
       assert(WRITERS(c) == NIL || MARKER(WRITERS(c)));
       c++
    :: else ->
       break
    od;
    all_values()
  }
}
