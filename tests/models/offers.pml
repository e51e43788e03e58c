/*
MODEL Several readers and writers on one rendezvous channel, some of which give up waiting.
RULE 1: a pairing is with the oldest waiting counterpart, the queue never holds both kinds and is
    linked rightly after every step (assertions)
RULE 2: a write returns after its value was taken, every value is read exactly once, and whoever
    was paired is woken (assertions, invalid end states)
FULL -DR=2 -DW=2 -DK=2
FULL -DR=2 -DW=2 -DK=2 -DCOROUTINES
FULL -DR=1 -DW=3 -DK=1
FULL -DR=4 -DW=1 -DK=1 -DCOROUTINES
BOUNDED -DR=1 -DW=3 -DK=1
BOUNDED -DR=2 -DW=2 -DK=1 -DCOROUTINES
FAULT LINK_PREV a queue's head does not learn its new last
FAULT UNLINK_HEAD the new head of a queue does not learn the last
FAULT UNLINK_LAST the head keeps a last that has gone
FAULT YOUNGEST who comes joins the queue at its head
FAULT QUICK the short way of a read is taken though more writers wait
FAULT NO_WAKE a read does not wake the writer whose value it took
FAULT GONE_STAYS who gives up waiting leaves its offer in the queue
MAPS quit | upycsp/wait.py:Offer.interrupted | self.channel.withdraw(self)
MAPS wait | upycsp/channel.py:ReadEnd.__call__ | x = o.wait
*/
#define CHANNELS 1
#define PROCS (R + W)
#define ALTS 0
#define GUARDS 1
#define MESSAGES (W * K)
#define READS ((MESSAGES + R - 1) / R)

/* The order of arrival, against which each pairing is held. */
chan arrived = [R + W] of { byte };
hidden byte g_oldest;
bit taken[MESSAGES + 1], read_it[MESSAGES + 1], wrote_it[MESSAGES + 1];

#define MET(c, other, v) \
  assert(nempty(arrived)); \
  arrived?g_oldest; \
  assert(g_oldest == other && !taken[v]); \
  taken[v] = 1

#include "channel.inc"

/* Wait until woken, or give up as long as nobody has met the offer. */
inline wait(p, good) {
  if
  :: woken[OWN(p)] ->
     woken[OWN(p)] = 0;
     good = 1
  :: atomic {
       arrived??[eval(OWN(p))] ->
       arrived??eval(OWN(p));
quit:
#ifndef FAULT_GONE_STAYS
       withdraw(OWN(p));
#endif
       verify(0);
       val[OWN(p)] = WAITING
     }
  fi
}

proctype Reader(byte p) {
  byte v, party, k;
  bit good;
  do
  :: k < READS ->
     k++;
     atomic {
       read_end(p, 0, v, party);
       if
       :: party == NIL ->
          arrived!OWN(p)
       :: else
       fi;
       verify(0)
     }
     if
     :: party == NIL ->
        wait(p, good);
        if
        :: good ->
           v = val[OWN(p)];
           val[OWN(p)] = WAITING
        :: else
        fi
     :: else ->
#ifndef FAULT_NO_WAKE
        wake(party);
#endif
        good = 1
     fi;
     atomic {
       if
       :: good ->
          assert(v != WAITING && v <= MESSAGES && taken[v] && !read_it[v]);
          read_it[v] = 1
       :: else
       fi;
       v = 0;
       party = 0;
       good = 0
     }
  :: else ->
     break
  od
}

proctype Writer(byte p; byte v) {
  byte party, k;
  bit good;
  do
  :: k < K ->
     k++;
     atomic {
       write_end(p, 0, v, party);
       if
       :: party == NIL ->
          arrived!OWN(p)
       :: else
       fi;
       verify(0)
     }
     if
     :: party == NIL ->
        wait(p, good);
        val[OWN(p)] = WAITING
     :: else ->
        wake(party);
        good = 1
     fi;
     atomic {
       assert(!good || taken[v]);
       wrote_it[v] = good;
       v++;
       party = 0;
       good = 0
     }
  :: else ->
     break
  od
}

init {
  byte i;
  atomic {
    do
    :: i < R ->
       run Reader(i);
       i++
    :: i >= R && i < R + W ->
       run Writer(i, (i - R) * K + 1);
       i++
    :: else ->
       break
    od;
    i = 1
  }
  _nr_pr == 1;
  atomic {
    assert(READERS(0) == NIL && WRITERS(0) == NIL && empty(arrived));
    do
    :: i <= MESSAGES ->
       assert(read_it[i] == wrote_it[i] && read_it[i] == taken[i]);
       i++
    :: else ->
       break
    od
  }
}
