/*
MODEL A chain of processes on channels of any immunity, while poison of several strengths acts at any
    moment; who ends by poison poisons its ends as strongly.
RULE 3: poison of a strength acts on channels of less immunity and changes nothing on the others; of
    several the strongest is raised (assertions after every step)
RULE 4: who ends by poison ends all its channels of less immunity; no channel ends that poison could
    not reach along the chain without a channel immune to it; nobody who lives waits on a channel
    that has ended (assertions, invalid end states)
FULL -DCHANNELS=3 -DK=1 -DENDS=1
FULL -DCHANNELS=2 -DK=2 -DENDS=2
FULL -DCHANNELS=1 -DK=2 -DENDS=3
BOUNDED -DCHANNELS=2 -DK=1 -DENDS=1
BOUNDED -DCHANNELS=1 -DK=1 -DENDS=2
FAULT AS_STRONG poison acts on a channel that is as immune as it is strong
FAULT SOFTENS weaker poison hides stronger poison
FAULT FIRST_STAYS stronger poison is not noted after weaker poison
FAULT DIES_HARD who ends by poison of a strength poisons its ends without one
FAULT ONE_END who ends by poison poisons its first end alone
MAPS die | cspcore/process.py:forsake | a.poison(strength_of(exception))
MAPS poison_reading | upycsp/channel.py:ReadEnd.poison | chain = None if ch.resists(strength) else ch.end_all()
MAPS poison_writing | upycsp/channel.py:WriteEnd.poison | chain = None if ch.resists(strength) else ch.end_writing()
MAPS poison_it | upycsp/channel.py:Ends.poison | chain = None if self.resists(strength) else self.end_all()
*/
#define LIVES
#define ALTS 0
#define GUARDS 1
#define PROCS (CHANNELS + 1)
#define MET(c, other, v) assert(READERS(c) != DEAD && !hardest[c])

#include "channel.inc"
#include "life.inc"

byte poisoned_at[ENDS], strength_of[ENDS]; /* by whom it began */
byte died_by[PROCS];
bit over; /* nothing goes on any more */
hidden byte x_c, x_i, x_ok;

/* Whether the poison x_i can have reached channel x_c. */
inline reaches() {
  x_ok = strength_of[x_i];
  q_k = 0;
  do
  :: q_k < CHANNELS ->
     if
     :: (q_k >= x_c && q_k <= poisoned_at[x_i] || q_k <= x_c && q_k >= poisoned_at[x_i]) &&
        strength_of[x_i] <= immunity[q_k] ->
        x_ok = 0
     :: else
     fi;
     q_k++
  :: else ->
     break
  od
}

inline verify_all() {
  x_c = 0;
  do
  :: x_c < CHANNELS ->
     verify(x_c);
     assert((READERS(x_c) == DEAD) == (hardest[x_c] != 0));
     assert(READERS(x_c) != DEAD || cause[x_c] == hardest[x_c]);
     x_i = 0;
     x_ok = (READERS(x_c) != DEAD);
     do
     :: x_ok || x_i == ENDS ->
        break
     :: else ->
        reaches();
        x_i++
     od;
     assert(x_ok);
     x_c++
  :: else ->
     break
  od
}

inline poison(c, strength, kind) {
  resists(c, strength, it);
  chain = NIL;
  if
  :: it
  :: !it && kind == READ ->
poison_reading:
     end_all(c, DEAD, chain)
  :: else ->
poison_writing:
     end_all(c, DRAINED, chain)
  fi;
  verify_all();
  wake_chain(chain, n)
}

/* One operation of process p on channel c: how becomes the strength of the poison that it met, or 0. */
inline act(kind) {
  atomic {
    v = 1;
    if
    :: kind == READ ->
       read_end(p, c, v, party)
    :: else ->
       write_end(p, c, v, party)
    fi;
    verify_all();
    if
    :: MARKER(party) ->
       how = cause[c]
    :: party != NIL && !MARKER(party) ->
       wake(party)
    :: else
    fi;
    v = 0
  }
  if
  :: party == NIL ->
     if
     :: woken[OWN(p)] ->
        woken[OWN(p)] = 0;
        if
        :: val[OWN(p)] == POISON ->
           how = cause[c] /* whatever it is by now */
        :: else
        fi;
        val[OWN(p)] = WAITING
     :: over ->
        assert(READERS(c) != DEAD);
        goto gone
     fi
  :: else ->
     party = 0
  fi
}

/* Reads from the channel before it and writes to the one behind it. */
proctype Link(byte p) {
  byte c, v, party, how, round, chain, n;
  bit it;
  do
  :: p || round < K ->
     round = (p -> 0 : round + 1);
     if
     :: p ->
        c = p - 1;
        act(READ)
     :: else
     fi;
     if
     :: how ->
        break
     :: else
     fi;
     if
     :: p < CHANNELS ->
        c = p;
        act(WRITE)
     :: else
     fi;
     if
     :: how ->
        break
     :: else
     fi
  :: else ->
     goto gone /* the first has written all it has */
  od;
die:
  died_by[p] = how;
#ifdef FAULT_DIES_HARD
  how = HARDEST;
#endif
  if
  :: p ->
     atomic {
       c = p - 1;
       poison(c, how, READ)
     }
  :: else
  fi;
#ifdef FAULT_ONE_END
  if
  :: p ->
     goto gone
  :: else
  fi;
#endif
  if
  :: p < CHANNELS ->
     atomic {
       c = p;
       poison(c, how, WRITE)
     }
  :: else
  fi;
gone:
  skip
}

/* Poisons a channel at any moment. */
proctype Poisons(byte i) {
  byte chain, n, c, strength;
  bit it;
  do
  :: c + 1 < CHANNELS ->
     c++
  :: break
  od;
  if
  :: strength = 1
  :: strength = 2
  :: strength = HARDEST
  fi;
  atomic {
    poisoned_at[i] = c;
    strength_of[i] = strength;
poison_it:
    poison(c, strength, READ);
    c = 0;
    strength = 0
  }
}

init {
  byte a;
  atomic {
    do
    :: a < CHANNELS ->
       cause[a] = HARDEST;
       if
       :: immunity[a] = 1
       :: immunity[a] = 2;
          has_life[a] = 1
       fi;
       a++
    :: else ->
       break
    od;
    a = 0;
    do
    :: a < PROCS ->
       run Link(a);
       a++
    :: else ->
       break
    od;
    a = 0;
    do
    :: a < ENDS ->
       run Poisons(a);
       a++
    :: else ->
       break
    od;
    a = 0
  }
  timeout;
  over = 1;
  _nr_pr == 1;
  atomic {
    do
    :: a < PROCS ->
       assert(!died_by[a] || !a || hardest[a - 1] || died_by[a] <= immunity[a - 1]);
       assert(!died_by[a] || a == CHANNELS || hardest[a] || died_by[a] <= immunity[a]);
       a++
    :: else ->
       break
    od
  }
}
