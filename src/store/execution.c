/* execution.c - reads and writes executions by one list of columns, in the order of
 * sql/00_columns.sql and sql/door.sql. */
#include "store/execution.h"

/* The columns of an execution: name, how it is stored, whether a turn may change it. */
#define COLUMNS(X)                         \
    X(id, I64, FIXED)                      \
    X(parent, I64_OR_NULL, FIXED)          \
    X(root, I64, FIXED)                    \
    X(workflow, I64_OR_NULL, FIXED)        \
    X(rerun_of, I64_OR_NULL, FIXED)        \
    X(requested_at, I64, FIXED)            \
    X(started_at, I64_OR_NULL, CHANGES)    \
    X(finished_at, I64_OR_NULL, CHANGES)   \
    X(updated_at, I64, CHANGES)            \
    X(idle, I64_OR_NULL, CHANGES)          \
    X(priority, INT, FIXED)                \
    X(attempts, INT, CHANGES)              \
    X(max_attempts, INT, CHANGES)          \
    X(epoch, INT, CHANGES)                 \
    X(seq, INT, CHANGES)                   \
    X(needs_left, INT, CHANGES)            \
    X(needs_succeeded, INT, CHANGES)       \
    X(children_open, INT_OR_NULL, CHANGES) \
    X(children_made, INT_OR_NULL, CHANGES) \
    X(notify_left, INT_OR_NULL, CHANGES)   \
    X(task_index, INDEX, FIXED)            \
    X(depth, INT, FIXED)                   \
    X(kind, INT, FIXED)                    \
    X(status, INT, CHANGES)                \
    X(held, INT, CHANGES)                  \
    X(deferred, BOOL, CHANGES)             \
    X(flags, INT, CHANGES)                 \
    X(cancel_requested, BOOL, CHANGES)     \
    X(name, TEXT, FIXED)                   \
    X(queue, TEXT, FIXED)                  \
    X(lane, TEXT, FIXED)                   \
    X(concurrency, TEXT, FIXED)            \
    X(held_key, TEXT, CHANGES)             \
    X(task_name, TEXT, FIXED)

/* Reads column `col` of the row into `to` and increments col. A null is read as 0. */
#define READ_I64(to)          (to) = rows_int(r, row, col++)
#define READ_INT(to)          (to) = (int)rows_int(r, row, col++)
#define READ_BOOL(to)         (to) = rows_int(r, row, col++) != 0
#define READ_TEXT(to)         (to) = arena_strdup(arena, rows_text(r, row, col++))
#define READ_I64_OR_NULL(to)  READ_I64(to)
#define READ_INT_OR_NULL(to)  READ_INT(to)
/* Like READ_I64, but a null is read as -1. */
#define READ_INDEX(to)        (to) = rows_null(r, row, col) ? -1 : (int)rows_int(r, row, col), col++

#define VAL_I64(from)         val_int(from)
#define VAL_INT(from)         val_int(from)
#define VAL_BOOL(from)        val_int(from)
#define VAL_TEXT(from)        val_text(from)
#define VAL_I64_OR_NULL(from) val_or_null(from)
#define VAL_INT_OR_NULL(from) val_or_null(from)
#define VAL_INDEX(from)       ((from) < 0 ? VAL_NULL : val_int(from))

void execution_read_state(struct execution *e, const struct rows *r, size_t row, size_t col,
                          struct arena *arena)
{
    *e = (struct execution){0};
#define X(name, type, changes) READ_##type(e->name);
    COLUMNS(X)
#undef X
    READ_I64_OR_NULL(e->worker);
    READ_I64_OR_NULL(e->until);
    READ_I64_OR_NULL(e->expired_at);
    READ_TEXT(e->folder);
}

void execution_read_whole(struct execution *e, const struct rows *r, size_t row, size_t col,
                          struct arena *arena)
{
    execution_read_state(e, r, row, col, arena);
    col += STATE_COLUMNS;
    READ_TEXT(e->input);
    READ_TEXT(e->result);
    READ_TEXT(e->error);
    READ_TEXT(e->spec);
}

void execution_write_all(const struct execution *e, struct args *a)
{
#define X(name, type, changes) +1
    struct val *to = args_room(a, 0 COLUMNS(X));
#undef X
#define X(name, type, changes) val_put(to++, VAL_##type(e->name));
    COLUMNS(X)
#undef X
}

void execution_write_changes(const struct execution *e, struct args *a)
{
#define IF_FIXED(text)
#define IF_CHANGES(text)       text
#define X(name, type, changes) IF_##changes(+1)
    struct val *to = args_room(a, 0 COLUMNS(X));
#undef X
#define X(name, type, changes) IF_##changes(val_put(to++, VAL_##type(e->name));)
    COLUMNS(X)
#undef X
}
