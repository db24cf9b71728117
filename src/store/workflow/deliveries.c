/* deliveries.c - reports ends of executions to webhooks. The turn that ends an execution submits a
 * job for each webhook that wants to know: so nothing is lost or reported twice by a crash. A
 * worker that serves the queue pawl:hooks runs these jobs (api/hook_deliver.c): they are retried,
 * shown and rerun like all others. Their own ends are not reported. */
#include "store/deliveries.h"
#include "store/store_internal.h"
#include "store/workflow/workflow.h"

#include "base/json.h"
#include "base/text.h"

#include <string.h>

/* Twelve attempts in about 23 hours. */
#define ATTEMPTS         12
#define FIRST_DELAY_US   (5 * 1000000LL)
#define DELAY_FACTOR     3
#define LONGEST_DELAY_US (6 * 3600 * 1000000LL)
#define ATTEMPT_US       (30 * 1000000LL)

/* A row of hooks. */
struct reporting_hook {
    const char *name, *workflow, *queue;
    int statuses, tasks;
};

/* Reads the webhooks again if something has changed since they were read. */
static int refresh_hooks(struct turn *t, struct err *err)
{
    struct store *s = t->store;
    AUTO_ROWS r = ROWS_INIT;
    int64_t version = 0;

    TRY(settings_find_version(t, &version, err));
    if (version == s->hooks.version)
        return 0;
    s->hooks.version = 0;
    s->hooks.n = 0;
    arena_reset(&s->hooks.arena);
    if (version > SETTINGS_FIRST_VERSION)
        TRY(ask(t->db, &r, err, Q_HOOKS_REPORTING));
    s->hooks.at = arena_zalloc(&s->hooks.arena, (r.n + 1) * sizeof(*s->hooks.at));
    for (size_t i = 0; i < r.n; i++) {
        struct reporting_hook *h = &s->hooks.at[i];

        rows_read(&r, i, 0, &s->hooks.arena, &h->name, &h->statuses, &h->workflow, &h->queue,
                  &h->tasks);
    }
    s->hooks.n = r.n;
    s->hooks.version = version;
    return 0;
}

/* Whether a full name such as "nightly::extract" is that of the workflow, or of something in it. */
static bool is_of(const char *name, const char *workflow)
{
    size_t len = strlen(workflow);

    return !strncmp(name, workflow, len) && (!name[len] || !strncmp(name + len, "::", 2));
}

static bool wants(const struct reporting_hook *h, const struct end_note *n)
{
    const struct execution *e = &n->row->now;

    return (h->statuses & 1 << n->status) && (h->tasks || !e->parent) &&
           (!h->workflow || is_of(e->name, h->workflow)) &&
           (!h->queue || !strcmp(e->queue, h->queue)) && strcmp(e->queue, QUEUE_HOOKS) != 0;
}

/* ---- the job ---- */

static void write_time(struct json_writer *w, const char *key, int64_t at)
{
    char text[TIME_TEXT_SIZE];

    json_field_text(w, key, at ? text_time(at, text) : NULL);
}

static void write_data(struct json_writer *w, const struct end_note *n)
{
    const struct execution *e = &n->row->now;

    json_write_key(w, "data");
    json_write_begin(w, '{');
    json_field_i64(w, "execution", e->id);
    json_field_i64(w, "root", e->root);
    json_field_text(w, "name", e->name);
    json_field_text(w, "kind", kind_text(e->kind));
    json_field_text(w, "queue", e->queue);
    json_field_text(w, "status", status_text(n->status));
    json_field_text(w, "error", n->row->outcome_changed ? e->error : NULL);
    json_field_i64(w, "attempt", e->attempts);
    write_time(w, "requested_at", e->requested_at);
    write_time(w, "started_at", e->started_at);
    write_time(w, "finished_at", n->at);
    json_write_end(w, '}');
}

/* An event in the JSON format of CloudEvents 1.0. */
static const char *build_input(struct turn *t, const struct reporting_hook *h,
                               const struct end_note *n)
{
    const char *tenant = t->store->url->tenant;
    AUTO_BUF b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);

    json_write_begin(&w, '{');
    json_field_text(&w, "hook", h->name);
    json_write_key(&w, "event");
    json_write_begin(&w, '{');
    json_field_text(&w, "specversion", "1.0");
    json_field_text(&w, "id",
                    arena_printf(&t->arena, "%lld.%d", (long long)n->row->now.id, n->seq));
    json_field_text(&w, "source",
                    arena_printf(&t->arena, "urn:pawl:%s", tenant ? tenant : "default"));
    json_field_text(&w, "type", arena_printf(&t->arena, "pawl.%s", event_text(n->type)));
    json_field_text(&w, "subject",
                    arena_printf(&t->arena, "executions/%lld", (long long)n->row->now.id));
    write_time(&w, "time", n->at);
    json_field_text(&w, "datacontenttype", "application/json");
    write_data(&w, n);
    json_write_end(&w, '}');
    json_write_end(&w, '}');
    return arena_strdup(&t->arena, b.ptr);
}

static const char *build_spec(struct turn *t)
{
    static const int retried = DELIVERY_RETRIED;
    AUTO_BUF b = BUF_INIT;

    spec_write(&(struct spec){.timeout = ATTEMPT_US,
                              .retry = {.delay = FIRST_DELAY_US,
                                        .backoff = DELAY_FACTOR,
                                        .max_delay = LONGEST_DELAY_US,
                                        .jitter = -1,
                                        .codes = &retried,
                                        .ncodes = 1}},
               &b);
    return arena_strdup(&t->arena, b.ptr);
}

static struct submission build_job(struct turn *t, const struct reporting_hook *h,
                                   const struct end_note *n)
{
    return (struct submission){.kind = KIND_EXEC,
                               .name = arena_printf(&t->arena, "hook::%s", h->name),
                               .queue = QUEUE_HOOKS,
                               .lane = "function:" FUNCTION_HOOKS,
                               .input = build_input(t, h, n),
                               .spec = build_spec(t),
                               .by = arena_printf(&t->arena, "webhook %s, execution %lld", h->name,
                                                  (long long)n->row->now.id),
                               .task_index = -1,
                               .max_attempts = ATTEMPTS,
                               .shares_slot = true};
}

/* ---- all ends of a turn ---- */

static int submit_all(struct turn *t, struct submission *list, size_t n, struct err *err)
{
    for (size_t done = 0, part; done < n; done += part) {
        part = n - done < STORE_MAX_BATCH ? n - done : STORE_MAX_BATCH;
        TRY(op_submit(t, list + done, part, err));
        for (size_t i = 0; i < part; i++)
            if (list[done + i].rc) {
                *err = list[done + i].err;
                return list[done + i].rc;
            }
    }
    return 0;
}

int deliveries_submit(struct turn *t, struct err *err)
{
    AUTO_VEC(struct submission) jobs = {0};

    if (!t->end_notes.n)
        return 0;
    TRY(refresh_hooks(t, err));
    for (size_t i = 0; i < t->end_notes.n; i++)
        for (size_t k = 0; k < t->store->hooks.n; k++)
            if (wants(&t->store->hooks.at[k], &t->end_notes.at[i]))
                *vec_add(&jobs) = build_job(t, &t->store->hooks.at[k], &t->end_notes.at[i]);
    t->end_notes.n = 0;
    return submit_all(t, jobs.at, jobs.n, err);
}
