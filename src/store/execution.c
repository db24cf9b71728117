/* execution.c - reads an execution from a result, in the column order of sql/00_columns.sql. */
#include "store/execution.h"

void execution_read_state(struct execution *e, const struct rows *r, size_t row, size_t col,
                          struct arena *arena)
{
#define NEXT_I64()  rows_int(r, row, col++)
#define NEXT_INT()  (int)rows_int(r, row, col++)
#define NEXT_TEXT() arena_strdup(arena, rows_text(r, row, col++))
    *e = (struct execution){0};
    e->id = NEXT_I64();
    e->parent = NEXT_I64();
    e->root = NEXT_I64();
    e->workflow = NEXT_I64();
    e->rerun_of = NEXT_I64();
    e->requested_at = NEXT_I64();
    e->started_at = NEXT_I64();
    e->finished_at = NEXT_I64();
    e->updated_at = NEXT_I64();
    e->priority = NEXT_INT();
    e->attempts = NEXT_INT();
    e->max_attempts = NEXT_INT();
    e->epoch = NEXT_INT();
    e->seq = NEXT_INT();
    e->needs_left = NEXT_INT();
    e->task_index = rows_null(r, row, col) ? -1 : (int)rows_int(r, row, col);
    col++;
    e->cursor = NEXT_INT();
    e->depth = NEXT_INT();
    e->kind = NEXT_INT();
    e->status = NEXT_INT();
    e->held = NEXT_INT();
    e->deferred = NEXT_INT() != 0;
    e->flags = (int)NEXT_INT();
    e->cancel_requested = NEXT_INT() != 0;
    e->name = NEXT_TEXT();
    e->queue = NEXT_TEXT();
    e->lane = NEXT_TEXT();
    e->concurrency = NEXT_TEXT();
    e->held_key = NEXT_TEXT();
    e->task_name = NEXT_TEXT();
    e->worker = NEXT_I64();
    e->until = NEXT_I64();
    e->expired_at = NEXT_I64();
    e->folder = NEXT_TEXT();
}

void execution_read_whole(struct execution *e, const struct rows *r, size_t row, size_t col,
                          struct arena *arena)
{
    execution_read_state(e, r, row, col, arena);
    col += STATE_COLUMNS;
    e->input = NEXT_TEXT();
    e->result = NEXT_TEXT();
    e->error = NEXT_TEXT();
    e->spec = NEXT_TEXT();
}
