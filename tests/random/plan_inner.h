/* plan_inner.h - what the files that make plans have in common. */
#ifndef TESTS_RANDOM_PLAN_INNER_H
#define TESTS_RANDOM_PLAN_INNER_H

#include "plan.h"

/* Delays, timeouts and limits for a plan whose graph is made: chances of their own, so that they do
 * not change the graph of a seed. */
void plan_add_holds(struct plan *p);
void plan_add_slices(struct plan *p);

#endif
