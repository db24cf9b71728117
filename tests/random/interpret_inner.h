/* interpret_inner.h - shared by the files of the interpreter:
 *
 *   interpret.c             nodes, their moves and the events that cause them
 *   interpret_definition.c  the workflows of a plan as definitions
 *   interpret_scope.c       the values that a node's expressions see */
#ifndef TESTS_RANDOM_INTERPRET_INNER_H
#define TESTS_RANDOM_INTERPRET_INNER_H

#include "interpret.h"

#include "core/graph.h"

#include <jansson.h>

/* Fills in->workflows. */
void interpreter_define(struct interpreter *in, const struct plan *p);

/* The node as its followers see it. */
struct graph_need node_need(const struct node *n);
/* The results of the node's own needs. */
struct graph_facts node_facts(const struct node *n);
/* Evaluates the node's condition into `runs`, or, if `list` is not NULL, the list of its items. The
 * caller releases the list. */
int node_evaluate(struct node *n, struct graph_facts facts, bool *runs, json_t **list,
                  struct err *err);
/* False for an item whose command refers to a member that the item does not have. */
bool node_is_resolved(const struct node *n);

#endif
