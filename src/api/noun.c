/* noun.c - writes rows as JSON, as their column tables say; see noun.h. */
#include "api/noun.h"

#include "base/mem.h"
#include "base/text.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t number_at(const void *value, size_t size)
{
    return size == sizeof(int) ? *(const int *)value : *(const int64_t *)value;
}

static void write_int_or_null(struct json_writer *w, bool is_null, int64_t n)
{
    if (is_null)
        json_write_null(w);
    else
        json_write_i64(w, n);
}

static void write_time(struct json_writer *w, int64_t us)
{
    char text[TIME_TEXT_SIZE];

    json_write_text(w, us ? text_time(us, text) : NULL);
}

static void write_worker(struct json_writer *w, int64_t id)
{
    char text[17];

    snprintf(text, sizeof(text), "%016llx", (unsigned long long)id);
    json_write_text(w, id ? text : NULL);
}

static void write_lane(struct json_writer *w, const char *lane)
{
    char *executor = lane ? mem_printf("%.*s", (int)strcspn(lane, ":"), lane) : NULL;

    json_write_text(w, executor);
    free(executor);
}

/* Writes a stored document unchanged, but on one line: in valid JSON a line break is never part of
 * a string. */
static void write_document(struct json_writer *w, const char *json)
{
    size_t i = w->out->len;

    json_write_raw(w, json);
    for (; i < w->out->len; i++)
        if (w->out->ptr[i] == '\n' || w->out->ptr[i] == '\r')
            w->out->ptr[i] = ' ';
}

static void write_value(struct json_writer *w, const json_t *value)
{
    char *text = json_text(value);

    json_write_raw(w, text);
    free(text);
}

static void write_rows(struct json_writer *w, const struct noun *noun, const struct noun_rows *rows)
{
    json_write_begin(w, '[');
    for (size_t i = 0; i < rows->n; i++)
        noun_write(w, noun, (const char *)rows->at + i * rows->size);
    json_write_end(w, ']');
}

void column_write(struct json_writer *w, const struct column *c, const void *row)
{
    const void *value = (const char *)row + c->at;
    int64_t n = c->type <= COLUMN_WORD ? number_at(value, c->size) : 0;
    const void *pointer =
        c->type > COLUMN_WORD && c->type <= COLUMN_OBJECT ? *(const void *const *)value : NULL;

    json_write_key(w, c->name);
    switch (c->type) {
    case COLUMN_INT:
        json_write_i64(w, n);
        break;
    case COLUMN_ID:
        write_int_or_null(w, n == 0, n);
        break;
    case COLUMN_OPT_INT:
        write_int_or_null(w, n < 0, n);
        break;
    case COLUMN_TIME:
        write_time(w, n);
        break;
    case COLUMN_WORKER:
        write_worker(w, n);
        break;
    case COLUMN_WORD:
        json_write_text(w, n ? c->word((int)n) : NULL);
        break;
    case COLUMN_TEXT:
        json_write_text(w, pointer);
        break;
    case COLUMN_LANE:
        write_lane(w, pointer);
        break;
    case COLUMN_JSON:
        write_document(w, pointer);
        break;
    case COLUMN_VALUE:
        write_value(w, pointer);
        break;
    case COLUMN_OBJECT:
        if (pointer)
            noun_write(w, c->noun, pointer);
        else
            json_write_null(w);
        break;
    case COLUMN_BOOL:
        json_write_bool(w, *(const bool *)value);
        break;
    case COLUMN_LIST:
        write_rows(w, c->noun, value);
        break;
    case COLUMN_CUSTOM:
        c->write(w, row);
        break;
    case COLUMN_LATER:
        break;
    }
}

void noun_fields(struct json_writer *w, const struct noun *noun, const void *row)
{
    for (size_t i = 0; i < noun->n; i++)
        if (noun->columns[i].type != COLUMN_LATER)
            column_write(w, &noun->columns[i], row);
}

void noun_write(struct json_writer *w, const struct noun *noun, const void *row)
{
    json_write_begin(w, '{');
    noun_fields(w, noun, row);
    json_write_end(w, '}');
}

char *noun_text(const struct noun *noun, const void *row)
{
    struct buf b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);

    noun_write(&w, noun, row);
    return b.ptr;
}

void lines_add(struct lines *l, const struct noun *noun, const void *row)
{
    struct json_writer w = JSON_WRITER(&l->line);

    buf_reset(&l->line);
    noun_write(&w, noun, row);
    l->closed = l->each(l->arg, l->line.ptr) != 0;
}

void lines_release(struct lines *l)
{
    buf_release(&l->line);
}

/* ---- all nouns ---- */

extern const struct noun execution_noun, workflow_task_noun, workflow_execution_noun, outline_noun,
    items_noun, critical_path_noun, step_noun, diff_noun, diff_task_noun, event_noun, queue_noun,
    queue_pause_noun, queue_limit_noun, last_audit_noun, schedule_noun, schedule_pause_noun,
    due_noun, submission_noun, worker_noun, worker_drain_noun, overview_noun, running_noun,
    ended_noun, why_noun, retention_noun, routes_noun, route_noun, token_noun, hook_noun,
    rerun_noun, rerun_node_noun, applied_noun, applied_detail_noun, applied_param_noun,
    applied_task_noun, applied_version_noun, bulk_noun, counts_noun, definition_noun, graph_noun,
    graph_node_noun, graph_edge_noun;

const struct noun *const nouns[] = {&execution_noun,
                                    &workflow_task_noun,
                                    &workflow_execution_noun,
                                    &outline_noun,
                                    &items_noun,
                                    &graph_noun,
                                    &graph_node_noun,
                                    &graph_edge_noun,
                                    &critical_path_noun,
                                    &step_noun,
                                    &diff_noun,
                                    &diff_task_noun,
                                    &event_noun,
                                    &queue_noun,
                                    &queue_pause_noun,
                                    &queue_limit_noun,
                                    &last_audit_noun,
                                    &retention_noun,
                                    &routes_noun,
                                    &route_noun,
                                    &token_noun,
                                    &hook_noun,
                                    &schedule_noun,
                                    &schedule_pause_noun,
                                    &due_noun,
                                    &applied_noun,
                                    &applied_detail_noun,
                                    &applied_param_noun,
                                    &applied_task_noun,
                                    &applied_version_noun,
                                    &definition_noun,
                                    &submission_noun,
                                    &worker_noun,
                                    &worker_drain_noun,
                                    &overview_noun,
                                    &running_noun,
                                    &ended_noun,
                                    &why_noun,
                                    &rerun_noun,
                                    &rerun_node_noun,
                                    &bulk_noun,
                                    &counts_noun,
                                    NULL};
