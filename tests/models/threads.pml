/*
MODEL Threads on two channels: one lock, a bolt each, wakes that come as late as they like.
RULE 2: whoever takes an offer out of a queue releases its thread's bolt once, after the lock; no
    wake is lost or comes twice, and no offer is used again before (assertions, invalid end states)
RULE 3: a poisoner wakes a chain, each with what was promised; an offer woken is its thread's again
RULE 8: an interrupted operation leaves nothing behind, a read that was paired gives its value back,
    and its thread goes on with another offer: the wake of the old one may come yet (assertions)
FULL -DTHREADS=3 -DK=2 -DCHANNELS=2 -DINTERRUPTS=0 -DPOISONER
FULL -DTHREADS=3 -DK=2 -DCHANNELS=1 -DINTERRUPTS=1
FULL -DTHREADS=3 -DK=1 -DCHANNELS=1 -DINTERRUPTS=2 -DPOISONER
FULL -DTHREADS=4 -DK=1 -DCHANNELS=2 -DINTERRUPTS=1
BOUNDED -DTHREADS=3 -DK=2 -DCHANNELS=1 -DINTERRUPTS=1
BOUNDED -DTHREADS=2 -DK=2 -DCHANNELS=2 -DINTERRUPTS=1 -DPOISONER
BOUNDED -DTHREADS=3 -DK=1 -DCHANNELS=1 -DINTERRUPTS=1 -DPOISONER
FAULT WAKE_FIRST a reader is woken before it has its value
FAULT CHAIN_LATE the chain's link is read after the wake
FAULT CHAIN_LINKED the chain's link is cleared after the wake
FAULT WRONG_OFFER an end takes the offer that it remembers for the calling thread's own
FAULT SAME_OFFER an interrupted thread keeps the offer that somebody may wake yet
FAULT KNOWN_OFFER an end still knows the offer that its thread has given up
FAULT INTERRUPTED_STAYS an interrupted thread leaves its offer in the queue
FAULT VALUE_LOST an interrupted thread keeps the value that it was given
FAULT UNLOCKED an operation looks and queues itself in two steps
MAPS read_end | upycsp/channel.py:ReadEnd.__call__ | o = x._writers
MAPS write_end | upycsp/channel.py:WriteEnd.__call__ | o = self._channel._readers
MAPS remember | upycsp/channel.py:ReadEnd.__call__ | o = self._remember()
MAPS sleep | upycsp/channel.py:ReadEnd.__call__ | x = o.wait
MAPS look_at_value | upycsp/channel.py:ReadEnd.__call__ | if x is POISON:
MAPS forget_value | upycsp/channel.py:ReadEnd.__call__ | o.value = WAITING
MAPS wake_other | upycsp/channel.py:ReadEnd.__call__ | o = o.wake
MAPS interrupted | upycsp/wait.py:Offer.interrupted | if self.waits():
MAPS give_back | upycsp/wait.py:Offer.interrupted | party = self.channel.give_back(Given(self.channel, READ), value)
MAPS retire | upycsp/wait.py:Offer.interrupted | self.retire()
MAPS unknown | upycsp/wait.py:Offer.retire | self.ident = None
MAPS wake_reader | upycsp/wait.py:Offer.interrupted | party.wake()
MAPS end_all | upycsp/channel.py:Ends.poison | chain = None if self.resists(strength) else self.end_all()
MAPS read_link | upycsp/wait.py:wake_chain | n = party.next
MAPS clear_link | upycsp/wait.py:wake_chain | party.next = None
MAPS release | upycsp/wait.py:wake_chain | party.wake()
*/
#define NIL 0
#define DEAD 1
#define FIRST 2
#define SPARE (FIRST + THREADS) /* for threads that were interrupted */
#define POOL (SPARE + INTERRUPTS) /* Given: who takes one wakes nobody */
#define OFFERS (POOL + INTERRUPTS)
#define NOBODY 255

#define READ 0
#define WRITE 1

#define WAITING 0 /* messages are 1, 2, ... */
#define POISON 255
#define MESSAGES (THREADS * K)

/* Queues of at most THREADS offers, linked by next; their prev is the business of other models. */
byte readers[CHANNELS], writers[CHANNELS];
byte next[OFFERS], val[OFFERS], ch_of[OFFERS];
bit op[OFFERS];
byte own[THREADS];
bit free[OFFERS];              /* its bolt was released */
byte remembered[2 * CHANNELS]; /* the offer of the thread that waited last on an end */
byte interrupts, givens, spares;

/* What the checks know: wakes that somebody owes an offer; where messages are */
bit owed[OFFERS], taken[MESSAGES + 1], got_it[MESSAGES + 1];
bit dead[CHANNELS];
#ifdef FAULT_KNOWN_OFFER
byte owner[OFFERS];
#endif

hidden byte x_at, x_before, x_o, x_n;

#define END(c, kind) remembered[2 * (c) + kind]

inline append(head, o) {
  assert(next[o] == NIL); /* it is in no other queue or chain */
  if
  :: head == NIL ->
     head = o
  :: else ->
     x_at = head;
     do
     :: next[x_at] != NIL ->
        x_at = next[x_at]
     :: else ->
        break
     od;
     assert(x_at != o);
     next[x_at] = o
  fi
}

inline remove(head, o) {
  if
  :: head == o ->
     head = next[o]
  :: else ->
     x_at = head;
     do
     :: next[x_at] != o ->
        x_at = next[x_at];
        assert(x_at != NIL)
     :: else ->
        break
     od;
     next[x_at] = next[o]
  fi;
  next[o] = NIL
}

/* Whether o stands in the queue of its channel: x_at == o then. */
inline waits(o) {
  x_at = (op[o] == READ -> readers[ch_of[o]] : writers[ch_of[o]]);
  do
  :: x_at != NIL && x_at != DEAD && x_at != o ->
     x_at = next[x_at]
  :: else ->
     break
  od
}

/* Out of the queue: whoever does it owes a wake. */
inline owes(o) {
  if
  :: o < POOL ->
     assert(!owed[o] && !free[o]);
     owed[o] = 1
  :: else
  fi
}

inline bolt_release(o) {
  if
  :: o < POOL ->
     assert(owed[o] && !free[o]); /* once a wait */
     owed[o] = 0;
     free[o] = 1
  :: else
  fi
}

inline take_from(c, v, party) {
  party = writers[c];
  v = val[party];
  assert(v != WAITING && v <= MESSAGES);
  assert((party < POOL) == !taken[v]);
  taken[v] = 1;
  remove(writers[c], party);
  if
  :: party >= POOL ->
     val[party] = WAITING;
     party = NIL
  :: else ->
     owes(party)
  fi
}

inline give_to(c, v, party) {
  party = readers[c];
  remove(readers[c], party);
  assert(val[party] == WAITING);
#ifndef FAULT_WAKE_FIRST
  val[party] = v;
#endif
  taken[v] = 1;
  owes(party)
}

inline got(v) {
  assert(v != WAITING && v <= MESSAGES && taken[v] && !got_it[v]);
  got_it[v] = 1
}

/* What an interrupted read was paired with is with another reader, or back in the channel. */
inline is_somewhere(v) {
  x_o = FIRST;
  do
  :: kind == WRITE || v == POISON || got_it[v] ->
     break
  :: else ->
     if
     :: val[x_o] == v ->
        break
     :: else ->
        x_o++;
        assert(x_o < OFFERS)
     fi
  od
}

inline own_offer(t, c, kind) {
#ifdef FAULT_WRONG_OFFER
  if
  :: END(c, kind) == NOBODY ->
     END(c, kind) = own[t]
  :: else
  fi;
  mine = END(c, kind);
#else
  if
#ifdef FAULT_KNOWN_OFFER
  :: END(c, kind) == NOBODY || owner[END(c, kind)] != t ->
#else
  :: END(c, kind) != own[t] ->
#endif
remember:
     END(c, kind) = own[t]
  :: else
  fi;
  mine = END(c, kind);
#endif
  assert(!owed[mine] && !free[mine] && val[mine] == WAITING);
  ch_of[mine] = c;
  op[mine] = kind
}

/* Each operation reads or writes on any of the channels; poison ends it. */
proctype Thread(byte t) {
  byte c, v, party, round, mine;
  bit kind;
#ifdef FAULT_UNLOCKED
  bit blind;
#endif
  do
  :: round < K ->
     if
     :: kind = READ
     :: kind = WRITE
     fi;
     if
     :: c = 0
     :: c = CHANNELS - 1
     fi;
#ifdef FAULT_UNLOCKED
     atomic {
       blind = (kind == READ && writers[c] == NIL || kind == WRITE && readers[c] == NIL)
     }
#endif
     atomic {
       party = NIL;
       round++;
       if
       :: kind == READ ->
read_end:
          v = WAITING;
          if
#ifdef FAULT_UNLOCKED
          :: blind ->
#else
          :: writers[c] == NIL ->
#endif
             own_offer(t, c, READ);
             append(readers[c], mine)
#ifdef FAULT_UNLOCKED
          :: !blind && (writers[c] == NIL || writers[c] == DEAD) ->
#else
          :: writers[c] == DEAD ->
#endif
             v = POISON
          :: else ->
             take_from(c, v, party)
          fi
       :: else ->
write_end:
          v = t * K + round;
          if
#ifdef FAULT_UNLOCKED
          :: blind ->
#else
          :: readers[c] == NIL ->
#endif
             own_offer(t, c, WRITE);
             val[mine] = v;
             append(writers[c], mine)
#ifdef FAULT_UNLOCKED
          :: !blind && (readers[c] == NIL || readers[c] == DEAD) ->
#else
          :: readers[c] == DEAD ->
#endif
             v = POISON
          :: else ->
             give_to(c, v, party)
          fi
       fi
     }
     if
     :: mine == NIL ->
        if
        :: party != NIL ->
wake_other:
           bolt_release(party)
#ifdef FAULT_WAKE_FIRST
           ;
           if
           :: kind == WRITE ->
              val[party] = v
           :: else
           fi
#endif
        :: else
        fi
     :: else ->
sleep:
        if
        :: atomic {
             free[mine] ->
             free[mine] = 0
           };
look_at_value:
           v = (kind == READ || val[mine] == POISON -> val[mine] : v);
forget_value:
           val[mine] = WAITING
        :: atomic {
             interrupts < INTERRUPTS ->
             interrupts++;
             free[mine] = 0 /* it may have taken its bolt, and not know it yet */
           };
interrupted:
           atomic {
             v = val[mine];
             val[mine] = WAITING;
             waits(mine);
             if
             :: x_at == mine ->
#ifndef FAULT_INTERRUPTED_STAYS
                if
                :: kind == READ ->
                   remove(readers[c], mine)
                :: else ->
                   remove(writers[c], mine)
                fi;
#endif
                v = POISON;
                party = NOBODY
             :: else ->
                if
#ifndef FAULT_VALUE_LOST
                :: kind == READ && v != POISON && writers[c] != DEAD ->
give_back:
                   if
                   :: readers[c] != NIL ->
                      give_to(c, v, party)
                   :: else ->
                      x_o = POOL + givens;
                      givens++;
                      val[x_o] = v;
                      next[x_o] = writers[c];
                      writers[c] = x_o
                   fi
                :: kind == READ && v != POISON && writers[c] == DEAD ->
                   got(v) /* dropped with all others */
#endif
                :: else
                fi;
                is_somewhere(v);
                v = POISON;
#ifndef FAULT_SAME_OFFER
retire:
                own[t] = SPARE + spares;
unknown:
                spares++
#endif
             fi
           };
           if
           :: party != NOBODY && party != NIL ->
wake_reader:
              bolt_release(party)
           :: else
           fi
        :: atomic {
             timeout ->
             waits(mine);
             if
             :: x_at == mine && !owed[mine] -> /* nobody will ever come */
                break
             fi
           }
        fi
     fi;
     atomic {
       if
       :: v != POISON && kind == READ ->
          got(v)
       :: v != POISON && kind == WRITE ->
          assert(taken[v])
       :: else
       fi;
       mine = 0;
       v = 0;
       c = 0;
       kind = 0;
       party = 0
     }
  :: else ->
     break
  od
}

#ifdef POISONER
active proctype Poisoner() {
  byte chain, party, n;
end_all:
  atomic {
    do
    :: readers[0] != NIL ->
       party = readers[0];
       remove(readers[0], party);
       val[party] = POISON;
       owes(party);
       append(chain, party)
    :: else ->
       break
    od;
    do
    :: writers[0] != NIL ->
       party = writers[0];
       remove(writers[0], party);
       if
       :: party >= POOL ->
          got(val[party]); /* dropped */
          val[party] = WAITING
       :: else ->
          val[party] = POISON;
          owes(party);
          append(chain, party)
       fi
    :: else ->
       break
    od;
    readers[0] = DEAD;
    writers[0] = DEAD;
    party = NIL
  };
  do
  :: chain != NIL ->
     party = chain;
#if !defined(FAULT_CHAIN_LATE)
read_link:
     n = next[party];
#endif
#if !defined(FAULT_CHAIN_LINKED) && !defined(FAULT_CHAIN_LATE)
clear_link:
     next[party] = NIL;
#endif
release:
     bolt_release(party);
#ifdef FAULT_CHAIN_LATE
     n = next[party];
     next[party] = NIL;
#endif
#ifdef FAULT_CHAIN_LINKED
     next[party] = NIL;
#endif
     chain = n
  :: else ->
     break
  od
}
#endif

init {
  byte t;
  atomic {
    do
    :: t < THREADS ->
       own[t] = FIRST + t;
#ifdef FAULT_KNOWN_OFFER
       owner[own[t]] = t;
#endif
       run Thread(t);
       t++
    :: else ->
       break
    od;
    t = 0;
    do
    :: t < 2 * CHANNELS ->
       remembered[t] = NOBODY;
       t++
    :: else ->
       break
    od;
    t = 0
  }
}
