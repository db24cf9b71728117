/* model_inner.h - what the files of the model have in common. */
#ifndef TESTS_RANDOM_MODEL_INNER_H
#define TESTS_RANDOM_MODEL_INNER_H

#include "model.h"

bool model_has_failed(const struct model_node *n);
bool model_has_outputs(const struct model_node *n);

/* The task of the same workflow that has this name. */
struct model_node *model_sibling(const struct model_node *n, int name);
/* Of one that is pending: readies or skips it, or fails it, if its needs say so. */
void model_decide(struct model *m, struct model_node *n);

bool model_is_approved(const struct model_node *n);
bool model_is_paused(const struct model_node *n);

/* Its turn has come: what holds it begins to count. */
void model_be_ready(struct model *m, struct model_node *n);
/* Begins it unless something holds it; or whatever holds it. */
void model_begin(struct model *m, struct model_node *n);
void model_go(struct model *m, struct model_node *n);

/* Of a workflow that begins, or is open again: when it will have taken too long. */
void model_set_timeout(const struct model *m, struct model_node *n);

/* As if it had never run; what was below it is no part of it until it is made again. A pause stays,
 * and so do its attempts. */
void model_renew(struct model_node *n);
/* Of a workflow: what failed in it runs again. False: nothing did, or it did not begin. */
bool model_reopen_failed(struct model *m, struct model_node *n);

#endif
