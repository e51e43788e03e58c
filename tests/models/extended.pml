/*
MODEL Two writers, an extended reader, a plain one, poison and cancels at any moment.
RULE 2, 3: a writer that an extended read has met goes on after the end of the block, once, and
    not before; poison of the channel meanwhile does not undo it (assertions); who has to wait,
    waits for a reason (assertions)
RULE 8: a writer that is cancelled while it is held has written, and the end of the block does not
    wake it again; an extended read that is cancelled before it knows gives its value back, and
    lets its writer go (assertions)
FULL -DK=2 -DPOISONS -DCANCELS
FULL -DK=3 -DCANCELS
BOUNDED -DK=1 -DPOISONS -DCANCELS
BOUNDED -DK=1 -DCANCELS
BOUNDED -DK=2 -DPOISONS
FAULT GOES_ON who meets an extended read that waits does not stay
FAULT WOKEN_AGAIN a writer that was cancelled while it was held is woken by the end of the block
FAULT POISON_HOLDS poison takes an extended read that waits for one that was met
MAPS find_writer | cspcore/extended.py:Extended.begin | w = ch._writers
MAPS keep | cspcore/extended.py:Extended.begin | self.hold.keep(w)
MAPS post_read | cspcore/extended.py:Extended.begin | ch.post(self)
MAPS meet_extended | uapycsp/extended.py:Extended | def paired(self, offer):
MAPS stay | uapycsp/extended.py:Extended._staying | self.hold.party = self._stay
MAPS alone | cspcore/channel.py:BaseChannel._end_offer | party = offer.alone()
MAPS release | cspcore/extended.py:Hold | def release(self):
MAPS forget_writer | uapycsp/extended.py:_Hold.cancelled | self.party = None
MAPS give_back | uapycsp/extended.py:Extended.cancelled | give_back(self.channel, value, engine.order_of(self))
*/
#define WRITERS 2
#define READERS 2 /* 0 reads extended, 1 plainly */
#define NOBODY 255
#define POISON 254
#define NOTHING 253

/* The queues hold who waits, in order; a channel has one kind at a time. A given-back value is a
   writer of its own, WRITERS, whom nobody wakes. */
chan writers = [WRITERS + 2] of { byte };
chan readers = [READERS + 1] of { byte };
bit ended;
byte party = NOBODY; /* whom the hold of the extended reader knows */
byte got[READERS] = NOTHING;
bit r_woken[READERS], r_waits[READERS];
bit w_woken[WRITERS], w_waits[WRITERS], taken[WRITERS];
bit in_block, w_cancelled[WRITERS];
byte of_block = NOBODY; /* whose value the block has */

inline wake_writer(w) {
  assert(!w_woken[w] && w_waits[w]); /* once, and nobody who does not wait */
  w_woken[w] = 1
}

inline release() {
  if
  :: party != NOBODY ->
     assert(!w_cancelled[party]); /* else it waits for something else by now */
     wake_writer(party);
     party = NOBODY
  :: else
  fi
}

proctype Writer(byte w) {
  byte n, r;
  do
  :: n < K ->
     n++;
     atomic {
       if
       :: ended ->
          break
       :: else
       fi;
       taken[w] = 0;
       w_cancelled[w] = 0;
       if
       :: len(readers) > 0 ->
          readers?r;
          got[r] = w;
          taken[w] = 1;
          r_woken[r] = 1;
          r_waits[r] = 0;
          if
          :: r == 0 ->
meet_extended:
#ifndef FAULT_GOES_ON
stay:
             party = w;
             w_waits[w] = 1
#endif
          :: else
          fi
       :: else ->
          writers!w;
          w_waits[w] = 1
       fi
     }
end_writer:
     if
     :: atomic {
          w_waits[w] && w_woken[w] ->
          w_waits[w] = 0;
          w_woken[w] = 0
        }
     :: atomic {
          !w_waits[w] ->
          skip
        }
#ifdef CANCELS
     :: atomic {
          w_waits[w] && !w_woken[w] && taken[w] -> /* it is held: its write stands */
          w_waits[w] = 0;
          w_cancelled[w] = 1;
          /* Its next message is another one. */
          got[0] = (got[0] == w -> WRITERS : got[0]);
          of_block = (of_block == w -> WRITERS : of_block);
#ifndef FAULT_WOKEN_AGAIN
forget_writer:
          if
          :: party == w ->
             party = NOBODY
          :: else
          fi
#endif
        }
#endif
     fi;
     atomic {
       if
       :: taken[w] ->
          /* Not while the block has its value. */
          assert(w_cancelled[w] || !(of_block == w && in_block));
          assert(w_cancelled[w] || r_woken[0] == 0 || got[0] != w)
       :: else ->
          assert(ended); /* it ended by poison */
          break
       fi
     }
  :: else ->
     break
  od
}

proctype Reader(byte r) {
  byte n, w, x;
  do
  :: n < K ->
     n++;
     atomic {
       if
       :: ended ->
          break
       :: else
       fi;
find_writer:
       if
       :: len(writers) > 0 ->
          writers?w;
          got[r] = w;
          if
          :: w == WRITERS ->
             skip /* given back: there is nobody to hold */
          :: w != WRITERS && r == 0 ->
             taken[w] = 1;
keep:
             party = w
          :: else ->
             taken[w] = 1;
             wake_writer(w)
          fi
       :: else ->
post_read:
          readers!r;
          r_waits[r] = 1
       fi
     }
end_reader:
     if
     :: atomic {
          !r_waits[r] && r_woken[r] ->
          r_woken[r] = 0;
          if
          :: got[r] != POISON ->
             of_block = (r == 0 -> got[r] : of_block);
             in_block = (r == 0 -> 1 : in_block)
          :: else
          fi
        }
     :: atomic {
          !r_waits[r] && !r_woken[r] ->
          of_block = (r == 0 -> got[r] : of_block);
          in_block = (r == 0 -> 1 : in_block)
        }
#ifdef CANCELS
     :: atomic {
          r == 0 && !r_waits[r] && r_woken[r] && got[r] != POISON -> /* before it knows */
give_back:
          r_woken[r] = 0;
          if
          :: ended
          :: !ended && len(readers) > 0 ->
             readers?w;
             got[w] = WRITERS;
             r_woken[w] = 1;
             r_waits[w] = 0
          :: else -> /* before all writers */
             writers!WRITERS;
             x = len(writers) - 1;
             do
             :: x > 0 ->
                writers?w;
                writers!w;
                x--
             :: else ->
                break
             od
          fi;
          release();
          got[r] = NOTHING;
          w = 0
        }
#endif
     fi;
     atomic {
       w = 0;
       if
       :: got[r] == POISON ->
          got[r] = NOTHING;
          break
       :: else
       fi
     }
     atomic { /* the block ends */
       if
       :: r == 0 && got[r] != NOTHING ->
          in_block = 0;
          of_block = NOBODY;
          release()
       :: else
       fi;
       got[r] = NOTHING
     }
  :: else ->
     break
  od
}

#ifdef POISONS
proctype Poison() {
  byte x;
  atomic {
    ended = 1;
    do
    :: len(readers) > 0 ->
       readers?x;
alone:
       got[x] = POISON;
       r_woken[x] = 1;
       r_waits[x] = 0;
#ifdef FAULT_POISON_HOLDS
       party = (x == 0 -> 0 : party)
#endif
    :: len(readers) == 0 && len(writers) > 0 ->
       writers?x;
       if
       :: x != WRITERS ->
          wake_writer(x)
       :: else
       fi
    :: else ->
       break
    od;
    x = 0
  }
}
#endif

init {
  atomic {
    run Writer(0);
    run Writer(1);
    run Reader(0);
    run Reader(1);
#ifdef POISONS
    run Poison();
#endif
  }
  timeout; /* nobody goes on: who waits stands in a queue, and nobody is held */
  atomic {
    assert(party == NOBODY && !in_block);
    assert(len(readers) == 0 || len(writers) == 0);
    if
    :: w_waits[0] ->
       assert(!taken[0] && !w_woken[0])
    :: else
    fi;
    if
    :: w_waits[1] ->
       assert(!taken[1] && !w_woken[1])
    :: else
    fi
  }
}
