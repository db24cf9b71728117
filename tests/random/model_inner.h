/* model_inner.h - shared by the files of the model. */
#ifndef TESTS_RANDOM_MODEL_INNER_H
#define TESTS_RANDOM_MODEL_INNER_H

#include "model.h"

bool model_has_failed(const struct model_node *n);
bool model_has_outputs(const struct model_node *n);

/* The task of the same workflow with this name. */
struct model_node *model_sibling(const struct model_node *n, int name);
/* Makes a pending task ready, skips it or fails it, if its needs decide that. */
void model_decide(struct model *m, struct model_node *n);

bool model_is_approved(const struct model_node *n);
bool model_is_paused(const struct model_node *n);

/* The node becomes ready: its delay and its approval's timeout start. */
void model_be_ready(struct model *m, struct model_node *n);
/* Starts it unless something holds it; model_go starts it in any case. */
void model_begin(struct model *m, struct model_node *n);
void model_go(struct model *m, struct model_node *n);

/* Sets the timeout of a workflow that starts or is reopened. */
void model_set_timeout(const struct model *m, struct model_node *n);

/* Resets it as if it had never run; its descendants are not part of it until they are created
 * again. The number of attempts is kept. */
void model_renew(struct model_node *n);
/* Runs the failed tasks of a workflow again, or lets it wait for its permit first. False if none
 * failed or it never started. */
bool model_reopen_failed(struct model *m, struct model_node *n, bool wait);
/* Starts a workflow that waited; it has the tasks of its earlier run. */
void model_go_failed(struct model *m, struct model_node *n);

#endif
