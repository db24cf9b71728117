/* plan_inner.h - what the files that make plans have in common. */
#ifndef TESTS_RANDOM_PLAN_INNER_H
#define TESTS_RANDOM_PLAN_INNER_H

#include "plan.h"

/* Makes the flows of a plan of fan-outs in fan-outs, if the seed is one of those few. */
bool plan_nest(struct plan *p);
int plan_nodes(const struct plan *p); /* how many executions it has, about */
/* Delays, timeouts and limits for a plan whose graph is made: chances of their own, so that they do
 * not change the graph of a seed. */
void plan_add_holds(struct plan *p);
void plan_add_slices(struct plan *p);

#endif
