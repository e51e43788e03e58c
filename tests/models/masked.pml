/*
MODEL Alternatives that leave out guards of their own, others each time they select, beside plain
    operations and alternatives like them.
RULE 6: a guard that is left out is never chosen and stands in no queue; of those that take part all
    stand in theirs while the alternative waits, and are met as ever (assertions after every step);
    exactly one happens, nothing of the others stays, be it chosen, met or given up (assertions,
    invalid end states)
RULE 7: no alternative meets itself (assertions)
FULL -DALTS=2 -DGUARDS=2 -DPLAINS=0 -DCHANNELS=2 -DK=2
FULL -DALTS=2 -DGUARDS=2 -DPLAINS=1 -DCHANNELS=1 -DK=2
FULL -DALTS=1 -DGUARDS=3 -DPLAINS=1 -DCHANNELS=2 -DK=2
FULL -DALTS=2 -DGUARDS=2 -DPLAINS=0 -DCHANNELS=1 -DK=3 -DCOROUTINES
FULL -DALTS=1 -DGUARDS=2 -DPLAINS=1 -DCHANNELS=2 -DK=3 -DLEAVING
BOUNDED -DALTS=2 -DGUARDS=2 -DPLAINS=0 -DCHANNELS=1 -DK=2
BOUNDED -DALTS=1 -DGUARDS=2 -DPLAINS=1 -DCHANNELS=2 -DK=2 -DLEAVING
FAULT SHUT_LOOKED the look at the guards takes those that are left out for the others
FAULT SHUT_POSTED the offers of guards that are left out are posted with the others
FAULT MASK_STAYS who was met keeps the mask for its next selection
FAULT LEAVER_KEEPS who has given up keeps the mask for its next selection
FAULT UNMASKED_EARLY the mask is taken off before the offers are withdrawn
MAPS mask | cspcore/masked.py:mask | offers[i] = HIDDEN
MAPS mask | cspcore/masked.py:mask | alt._offers = offers
MAPS unmask | cspcore/masked.py:_Whole.disable | alt._offers = self.offers
MAPS unmask | upycsp/alternative.py:Alternative.select | self.disable_all()
MAPS post | cspcore/masked.py:_Hidden | def post(self, offer):
MAPS withdraw | cspcore/masked.py:_Hidden | withdraw = post
*/
#define MASKS
#define MEETS(c, other, v) \
  assert(PLAIN(other) || OWN(ALT_OF(other)) != g_me && !shut[(other) - FIRST - PROCS])
#define REFUSED(o, c, kind, waited) assert(false)
#ifdef LEAVING
#define LEAVES_ALT(a) true
#else
#define LEAVES_ALT(a) timeout /* nobody will ever come */
#endif
#define LEAVES_PLAIN(c, kind) timeout

#include "select.inc"
#include "any_network.inc"
