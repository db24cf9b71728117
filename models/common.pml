/* common.pml - the definitions that all models share.
 *
 * A CHECK line in the head of a model is one search that models/run performs:
 *
 *     CHECK [short|full] [FLAGS] : ok         all properties hold in every state, and nothing is stuck
 *     CHECK [short|full] [FLAGS] : no cycle   no cycle without progress
 *     CHECK [short|full] [FLAGS] : PROPERTY   with these flags exactly this property is violated
 *     CHECK [short|full] [FLAGS] : stuck      with these flags a process waits forever
 *
 * A search with short or full is made only in that mode. A flag that removes a rule shows that the rule is
 * needed. */

#include "moves.pml"

/* Properties are mtypes, so that a search can check one of them ALONE. */
#ifdef ALONE
#define must(property, condition) assert(property != ALONE || (condition))
#else
#define must(property, condition) assert(condition)
#endif
