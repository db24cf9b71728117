/* execution_noun.c - an execution as JSON, with the fields of a task or of a workflow. */
#include "api/api.h"
#include "base/text.h"
#include "core/graph.h"
#include "store/query/as_of.h"

#include <jansson.h>

#define NAMES_MAX 1000 /* names in each list of a workflow's tasks */

/* The data from which the JSON of an execution is written. */
struct answer {
    struct execution e;
    struct execution_history history;
    struct task_names tasks;
    const json_t *exit_code, *signal, *usage;
    const char *waiting, *pause_reason, *requested_by;
    int64_t duration, worker, retries, max_retries;
    bool paused;
    const struct answer *task, *workflow; /* this answer if the execution is a task, a workflow;
                                             else NULL */
};
#define ROW struct answer

/* ---- a task of a workflow ---- */

static const struct column task_columns[] = {
    {"workflow_execution", INT(e.workflow), "the execution of the workflow that it belongs to"},
    {"task_name", TEXT(e.task_name), NULL},
    {E_TASK_INDEX},
    {"retry_count", INT(retries), "attempts after the first"},
    {"max_retries", INT(max_retries), NULL},
};
const struct noun workflow_task_noun = {"### workflow_task", NOUN_COLUMNS(task_columns)};

/* ---- a workflow ---- */

/* Writes the names of the tasks whose status is in the range. A truncated list ends with "…", which
 * can't be the name of a task. */
static void write_tasks(struct json_writer *w, const struct answer *a, int from, int to)
{
    size_t n = 0;

    json_write_begin(w, '[');
    for (size_t i = 0; i < a->tasks.n && n <= NAMES_MAX; i++)
        if (a->tasks.at[i].status >= from && a->tasks.at[i].status <= to)
            json_write_text(w, n++ < NAMES_MAX ? a->tasks.at[i].name : "…");
    json_write_end(w, ']');
}

#define WRITE_TASKS(name, from, to)                          \
    static void name(struct json_writer *w, const void *row) \
    {                                                        \
        write_tasks(w, row, from, to);                       \
    }
WRITE_TASKS(write_current, S_READY, S_RUNNING)
WRITE_TASKS(write_completed, S_SUCCEEDED, S_SUCCEEDED)
WRITE_TASKS(write_failed, S_FAILED, S_TIMED_OUT)
WRITE_TASKS(write_skipped, S_SKIPPED, S_SKIPPED)

static const struct column workflow_columns[] = {
    {"definition", OPT_TEXT(history.definition), "the hash of its definition"},
    {"variables", JSON(history.variables, "object or null"),
     "`{params, vars}`, with all defaults applied; for a scheduled run also `due_at`"},
    {"current_tasks", CUSTOM(write_current, "array of texts"), "ready or running"},
    {"completed_tasks", CUSTOM(write_completed, "array of texts"), "succeeded"},
    {"failed_tasks", CUSTOM(write_failed, "array of texts"), "failed or timed out"},
    {"skipped_tasks", CUSTOM(write_skipped, "array of texts"), "skipped"},
    {"paused", BOOL(paused), NULL},
    {"pause_reason", OPT_TEXT(pause_reason), "null if none was given"},
    {"error", OPT_TEXT(e.error), "the same as `error` of the execution"},
};
const struct noun workflow_execution_noun = {"### workflow_execution",
                                             NOUN_COLUMNS(workflow_columns)};

/* ---- an execution ---- */

static const struct column columns[] = {
    {E_ID},
    {E_PARENT},
    {E_ROOT},
    {E_DEPTH},
    {E_KIND},
    {E_NAME},
    {E_STATUS},
    {E_ATTEMPT},
    {E_MAX_ATTEMPTS},
    {"queue", TEXT(e.queue), NULL},
    {"priority", INT(e.priority), "jobs with a higher priority are claimed first"},
    {"executor", LANE(e.lane, "text or null"),
     "what runs it: `process`, `function`, …; null for workflows and fan-outs, and for a task that "
     "was never ready"},
    {"worker", OPT_WORKER(worker), "the last worker that ran it"},
    {"host", OPT_TEXT(history.host), "that worker's host"},
    {E_REQUESTED},
    {"requested_by", OPT_TEXT(requested_by),
     "who requested it: `user@host`, `schedule NAME`, or the name that the program gave; null for tasks, which "
     "their workflow creates"},
    {E_STARTED},
    {E_FINISHED},
    {E_DURATION},
    {E_IDLE},
    {"exit_code", VALUE(exit_code, "number or null"), "of the last attempt that ended"},
    {"signal", VALUE(signal, "number or null"), "of the last attempt that ended"},
    {E_ERROR},
    {"input", JSON(e.input, "any"), "its input; for a fan-out its list"},
    {"outputs", JSON(e.result, "any"),
     "for a task an object by name, for a fan-out an array of `{status, outputs, item, error}`, one per item (null if larger "
     "than 256 kB: see its items), for a workflow the values of its `outputs:`"},
    {"result", JSON(e.result, "any"), "the same as `outputs`"},
    {"usage", VALUE(usage, "object or null"),
     "processor time and memory of the last attempt that ended"},
    {"waiting", OPT_TEXT(waiting),
     "why it waits: a stable word (`approval`, `paused`, `delay`, `limit`, `needs`, `worker`, "
     "`adoption`, `submission`), then details for people; `pawl why` shows everything"},
    {"paused", BOOL(paused),
     "whether it is paused itself, so that `pawl resume` ends the pause; false if only an ancestor is"},
    {"rerun_of", ID(e.rerun_of),
     "the execution that this one is a rerun of, with other params or another definition"},
    {"workflow_task", OPT_OBJECT(task, workflow_task_noun),
     "null if it is not a task of a workflow"},
    {"workflow_execution", OPT_OBJECT(workflow, workflow_execution_noun),
     "null if it is not a workflow"},
    {"children", LATER("array"), "of executions, by `requested_at` and `id`; in trees only"},
};
const struct noun execution_noun = {"## An execution", NOUN_COLUMNS(columns)};

json_t *api_data(const char *text)
{
    return text ? json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL) : NULL;
}

const char *api_data_text(const json_t *data, const char *key)
{
    return json_string_value(json_object_get(data, key));
}

const json_t *api_data_integer(const json_t *data, const char *key)
{
    const json_t *n = json_object_get(data, key);

    return json_is_integer(n) ? n : NULL;
}

/* The first word of a reason never changes, so that programs may rely on it; the rest is for
 * people. */
const char *execution_waiting(const struct execution *e, int64_t due_at, struct buf *b)
{
    char at[TIME_TEXT_SIZE];

    if (execution_is_submission(e))
        buf_addstr(b, "submission: no worker has taken it yet");
    else if (e->held == HELD_LIMIT)
        buf_addf(b, "limit: %s is full", e->held_key);
    else if (e->held == HELD_DELAY)
        buf_addf(b, "delay: until %s", due_at ? text_time(due_at, at) : "a timer ends it");
    else if (e->held)
        buf_addstr(b, hold_text(e->held));
    else if (e->status == S_PENDING && e->needs_left == NEEDS_UNKNOWN)
        buf_addstr(b, "needs: not all have ended");
    else if (e->status == S_PENDING)
        buf_addf(b, "needs: %d left", e->needs_left);
    else if (execution_is_claimable(e))
        buf_addf(b, "worker: for lane %s in queue %s", e->lane, e->queue);
    else if (execution_has_lease(e) && !e->worker)
        buf_addstr(b, "adoption: its worker is gone");
    return b->len ? b->ptr : NULL;
}

const char *execution_requester(const struct execution_history *history, struct buf *out)
{
    json_auto_t *request = api_data(history->request);
    const char *by = api_data_text(request, "by"), *schedule = api_data_text(request, "schedule");

    if (!by && !schedule)
        return NULL;
    buf_addf(out, "%s%s", by ? "" : "schedule ", by ? by : schedule);
    return out->ptr;
}

void execution_fields(struct json_writer *w, const struct execution *e,
                      const struct execution_history *history, struct task_names tasks)
{
    json_auto_t *outcome = api_data(history->outcome), *pause = api_data(history->pause);
    AUTO_BUF waiting = BUF_INIT, by = BUF_INIT;
    struct answer a = {.e = *e,
                       .history = *history,
                       .tasks = tasks,
                       .exit_code = api_data_integer(outcome, "exit_code"),
                       .signal = api_data_integer(outcome, "signal"),
                       .usage = json_object_get(outcome, "usage"),
                       .waiting = execution_waiting(e, history->due_at, &waiting),
                       .duration = final_duration(e),
                       .pause_reason = api_data_text(pause, "reason"),
                       .requested_by = execution_requester(history, &by),
                       .worker = e->worker ? e->worker : history->worker,
                       .retries = e->attempts > 1 ? e->attempts - 1 : 0,
                       .max_retries = e->max_attempts - 1,
                       .paused = (e->flags & FLAG_PAUSED) != 0,
                       .task = e->workflow && e->task_name ? &a : NULL,
                       .workflow = e->kind == KIND_WORKFLOW ? &a : NULL};

    noun_fields(w, &execution_noun, &a);
}
