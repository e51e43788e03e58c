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
MAPS commit_it | cspcore/choice.py:Choice.commit | if o.op != READ:
*/
#define MEETS(c, other, v) skip
#define REFUSED(o, c, kind, waited) assert(false)
#define LEAVES_ALT(a) timeout /* nobody will ever come */
#define LEAVES_PLAIN(c, kind) timeout

#include "select.inc"

#include "any_network.inc"
