/* common.pml - what all models share.
 *
 * A CHECK line in the head of a model is one search that models/run makes of it:
 *
 *     CHECK [short|full] [FLAGS] : ok         all properties hold in every state, and nothing is stuck
 *     CHECK [short|full] [FLAGS] : no cycle   nothing goes round in circles
 *     CHECK [short|full] [FLAGS] : PROPERTY   with these flags that very property is violated
 *     CHECK [short|full] [FLAGS] : stuck      with these flags something waits for ever
 *
 * short and full: only then. A flag that takes a rule away shows that the rule is needed. */

#include "moves.pml"

/* Properties are mtypes, so that a search can be told to look for one of them ALONE. */
#ifdef ALONE
#define must(property, condition) assert(property != ALONE || (condition))
#else
#define must(property, condition) assert(condition)
#endif
