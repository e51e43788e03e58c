/*
MODEL Three processes choose among alting barriers that they share in overlapping sets.
RULE 6: of the barriers that could happen exactly one does for each process, whole: all who are
    needed agree to it in one step, nobody is chosen twice, nothing of the losers stays
    (assertions); who waits, waits because no barrier is complete (assertion, invalid end states)
RULE 3: poison ends all who are offered at a barrier and who come later, and undoes no meeting
    (assertions)
FULL -DBARRIERS=2 -DK=3
FULL -DBARRIERS=3 -DK=3
FULL -DBARRIERS=4 -DK=2 -DOTHERS
FULL -DBARRIERS=3 -DK=2 -DOTHERS -DPOISONS
BOUNDED -DBARRIERS=2 -DK=2
BOUNDED -DBARRIERS=4 -DK=1 -DOTHERS
BOUNDED -DBARRIERS=2 -DK=1 -DPOISONS
FAULT LOSER_STAYS who is chosen leaves its offers at the other barriers
FAULT NOT_COUNTED_OUT who takes another guard is still counted
FAULT TWO_STEPS the lock is let go of between looking and posting
FAULT REOPENED the seat that was missing where a barrier is poisoned is made a living one again
MAPS look | cspcore/meeting.py:Table | def look(self):
MAPS open_last | cspcore/meeting.py:Table.look | s._readers = OPEN
MAPS post | cspcore/meeting.py:Seat | def post(self, offer):
MAPS withdraw | cspcore/meeting.py:Seat | def withdraw(self, offer):
MAPS complete | cspcore/meeting.py:Table | def complete(self):
MAPS release | cspcore/meeting.py:Gathering | def release(self, offer, last):
MAPS end | cspcore/meeting.py:Table | def end(self):
MAPS paired | cspcore/choice.py:Choice.paired | self._chosen = offer.index
MAPS withdraw_all | cspcore/choice.py:Choice.withdraw | def withdraw(self, n=-1):
MAPS poll | cspcore/choice.py | def poll(self, fair):
MAPS commit_it | upycsp/alternative.py:Alternative.select | party = self.commit(i)
MAPS post_all | cspcore/choice.py:Choice.post | def post(self):
MAPS sleep | upycsp/alternative.py:Alternative.select | me.wait()
*/
#define PROCS 3
#define OPEN 1
#define DEAD 2
#define NONE 255
#define POISON 254
/* Barriers 0, 1 and 2 are a ring: 0 and 1, 1 and 2, 2 and 0. Barrier 3 is everybody's. */
#define IN(b, p) (b == 3 || p == b || p == (b + 1) % PROCS)
#define SIZE(b) (b == 3 -> PROCS : 2)
#define SEAT(b, p) ((b) * PROCS + (p))

bit offered[BARRIERS * PROCS]; /* the seat of a process has its offer */
byte waiting[BARRIERS];
byte readers[BARRIERS * PROCS]; /* of a seat: 0, OPEN or DEAD */
byte last[BARRIERS] = NONE; /* the process whose seat is OPEN */
bit ended[BARRIERS];
bit waits[PROCS], woken[PROCS];
byte chosen[PROCS]; /* a barrier, POISON or NONE */
byte met[BARRIERS], seen[BARRIERS * PROCS];

hidden byte l_p, w_b, c_p, q_b, q_p, v_b, v_p, v_n;

inline look(b) {
  if
  :: last[b] != NONE ->
     readers[SEAT(b, last[b])] = 0;
     last[b] = NONE
  :: else
  fi;
  if
  :: waiting[b] + 1 == SIZE(b) && !ended[b] ->
     l_p = 0;
     do
     :: l_p < PROCS ->
        if
        :: IN(b, l_p) && !offered[SEAT(b, l_p)] ->
open_last:
           readers[SEAT(b, l_p)] = OPEN;
           last[b] = l_p
        :: else
        fi;
        l_p++
     :: else ->
        break
     od
  :: else
  fi
}

inline post(b, p) {
  assert(!offered[SEAT(b, p)]);
  offered[SEAT(b, p)] = 1;
  waiting[b]++;
  look(b)
}

inline withdraw(b, p) {
  assert(offered[SEAT(b, p)]);
  offered[SEAT(b, p)] = 0;
  waiting[b]--;
  look(b)
}

inline withdraw_all(p, but) {
  waits[p] = 0;
  w_b = 0;
  do
  :: w_b < BARRIERS ->
     if
     :: IN(w_b, p) && w_b != but ->
        withdraw(w_b, p)
     :: else
     fi;
     w_b++
  :: else ->
     break
  od
}

inline paired(b, p, what) {
  assert(waits[p]); /* nobody is chosen twice */
  chosen[p] = what;
#ifdef FAULT_LOSER_STAYS
  waits[p] = 0;
  withdraw(b, p)
#else
  withdraw_all(p, NONE)
#endif
}

inline release(b, p, what) {
  paired(b, p, what);
  woken[p] = 1
}

inline complete(b, me) {
  met[b]++;
  c_p = 0;
  do
  :: c_p < PROCS ->
     if
     :: IN(b, c_p) && c_p != me ->
        assert(offered[SEAT(b, c_p)]); /* all or none */
        release(b, c_p, b)
     :: else
     fi;
     c_p++
  :: else ->
     break
  od
}

inline end(b) {
  ended[b] = 1;
#ifndef FAULT_REOPENED
  look(b);
#endif
  c_p = 0;
  do
  :: c_p < PROCS ->
     if
     :: offered[SEAT(b, c_p)] ->
        release(b, c_p, POISON)
     :: else
     fi;
     readers[SEAT(b, c_p)] = DEAD;
     c_p++
  :: else ->
     break
  od
}

/* The first barrier that is ready for p, which may be because it has ended. */
inline poll(p, i) {
  i = NONE;
  q_b = 0;
  do
  :: q_b < BARRIERS ->
     if
     :: i == NONE && IN(q_b, p) && readers[SEAT(q_b, p)] != 0 ->
        i = q_b
     :: else
     fi;
     q_b++
  :: else ->
     break
  od
}

inline post_all(p) {
  waits[p] = 1;
  chosen[p] = NONE;
  q_b = 0;
  do
  :: q_b < BARRIERS ->
     if
     :: IN(q_b, p) ->
        post(q_b, p)
     :: else
     fi;
     q_b++
  :: else ->
     break
  od
}

/* After each step: the counts are right, and no barrier is complete while all wait. */
inline verify() {
  v_b = 0;
  do
  :: v_b < BARRIERS ->
     v_n = 0;
     v_p = 0;
     do
     :: v_p < PROCS ->
        v_n = v_n + offered[SEAT(v_b, v_p)];
        assert(!offered[SEAT(v_b, v_p)] || waits[v_p]);
        assert(!ended[v_b] || readers[SEAT(v_b, v_p)] == DEAD);
        assert((readers[SEAT(v_b, v_p)] == OPEN) == (last[v_b] == v_p));
        assert(last[v_b] != v_p || !offered[SEAT(v_b, v_p)]);
        v_p++
     :: else ->
        break
     od;
     assert(v_n == waiting[v_b] && v_n < SIZE(v_b));
     assert((last[v_b] != NONE) == (v_n + 1 == SIZE(v_b) && !ended[v_b]));
     assert(!ended[v_b] || v_n == 0);
     v_b++
  :: else ->
     break
  od
}

proctype Select(byte p) {
  byte i, round;
select_again:
  do
  :: round < K ->
     round++;
     atomic {
       poll(p, i);
       if
       :: i != NONE && readers[SEAT(i, p)] == DEAD ->
          goto poisoned
       :: i != NONE && readers[SEAT(i, p)] == OPEN ->
commit_it:
          complete(i, p);
          verify();
          goto happened
       :: else ->
#ifndef FAULT_TWO_STEPS
          post_all(p);
          verify()
#endif
       fi
     }
#ifdef FAULT_TWO_STEPS
     atomic {
       post_all(p);
       verify()
     }
#endif
     if
     :: woken[p] ->
sleep:
        woken[p] = 0
#ifdef OTHERS
     :: atomic {
          waits[p] -> /* a timer, a channel or a cancel comes first */
#ifdef FAULT_NOT_COUNTED_OUT
          waits[p] = 0;
#else
          withdraw_all(p, NONE);
#endif
          verify();
          goto select_again
        }
#endif
     :: atomic {
          timeout ->
          assert(waits[p]);
          withdraw_all(p, NONE);
          break
        }
     fi;
     atomic {
       i = chosen[p];
       assert(i != NONE && !waits[p]);
       if
       :: i == POISON ->
          goto poisoned
       :: else
       fi
     }
happened:
     atomic {
       seen[SEAT(i, p)]++;
       i = 0
     }
  :: else ->
     break
  od;
  goto finished;
poisoned:
  i = 0;
finished:
  skip
}

#ifdef POISONS
proctype Poison() {
  atomic {
    end(0);
    verify()
  }
}
#endif

init {
  byte b, p;
  atomic {
    do
    :: p < PROCS ->
       run Select(p);
       p++
    :: else ->
       break
    od;
#ifdef POISONS
    run Poison();
#endif
    p = 0
  }
  _nr_pr == 1;
  atomic {
    do
    :: b < BARRIERS ->
       p = 0;
       do
       :: p < PROCS ->
          assert(!IN(b, p) || seen[SEAT(b, p)] == met[b]);
          assert(!offered[SEAT(b, p)]);
          p++
       :: else ->
          break
       od;
       b++
    :: else ->
       break
    od
  }
}
