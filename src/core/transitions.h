/* transitions.h - the one table of legal moves. The door refuses a move that is not in the table,
 * verify reports events that are not in it, and docs/STATES.md is generated from it. */
#ifndef CORE_TRANSITIONS_H
#define CORE_TRANSITIONS_H

#include "core/vocab.h"

#include <stddef.h>

enum move_for { FOR_JOBS = 1, FOR_WORKFLOWS = 2, FOR_ALL = 3 };

struct move {
    enum event_action action;
    enum status from; /* S_NONE if the move creates the execution */
    enum status to;
    enum move_for who;
};

extern const struct move legal_moves[];
extern const size_t legal_move_count;

/* Whether `action` may change the status of an execution of this kind from `from` to `to`. */
bool move_is_legal(int kind, enum event_action action, int from, int to);

#endif
