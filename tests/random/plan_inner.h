/* plan_inner.h - shared by the files that create plans. */
#ifndef TESTS_RANDOM_PLAN_INNER_H
#define TESTS_RANDOM_PLAN_INNER_H

#include "plan.h"

/* Makes a plan of nested fan-outs if the seed is one of the few that get one. */
bool plan_nest(struct plan *p);
int plan_nodes(const struct plan *p); /* the approximate number of executions */
/* Adds delays, timeouts and limits to a plan whose graph is complete. Uses separate random numbers,
 * so that the graph of a seed does not change. */
void plan_add_holds(struct plan *p);
void plan_add_slices(struct plan *p);

#endif
