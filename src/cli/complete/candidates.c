/* candidates.c - candidates from the database: ids that suit the command, tasks, queues,
 * schedules, applied workflows and their versions, workers, access tokens, webhooks, tenants. */
#include "cli/complete/complete.h"

#include <string.h>

#define RECENT 50

/* The executions that suit a command. */
static const struct wanted {
    const char *command;
    bool all;            /* executions at any depth */
    const char *status;  /* NULL for any */
    const char *field;   /* a field that must not be null; NULL if none */
    const char *waiting; /* what the execution waits for; NULL for any */
} wanted[] = {
    {"logs", .all = true, .field = "executor"},
    {"approve", .all = true, .status = "pending,ready", .waiting = "approval"},
    {"reject", .all = true, .status = "pending,ready", .waiting = "approval"},
    {"skip", .all = true, .status = "pending,ready"},
    {"wait", .all = true, .status = "pending,ready,running"},
    {"watch", .status = "pending,ready,running"},
    {"cancel", .status = "pending,ready,running"},
    {"pause", .status = "pending,ready,running"},
    {"resume", .status = "pending,ready,running"},
    {"rerun", .status = "succeeded,failed,timed_out,cancelled,skipped"},
};

static const struct wanted *wanted_by(const char *command)
{
    static const struct wanted any = {0};
    const struct wanted *found = FIND_NAMED(wanted, command);

    return found ? found : &any;
}

static bool is_wanted(const struct wanted *w, const json_t *o)
{
    if (w->field && json_is_null(json_object_get(o, w->field)))
        return false;
    return !w->waiting || !strncmp(field(o, "waiting"), w->waiting, strlen(w->waiting));
}

static int offer_execution(void *arg, const char *json)
{
    struct completion *l = arg;
    json_auto_t *o = parse_object(json);
    AUTO_BUF id = BUF_INIT, text = BUF_INIT;

    if (!is_wanted(wanted_by(l->command->name), o))
        return 0;
    buf_addi64(&id, field_int(o, "id"));
    buf_addf(&text, "%s, %s", field(o, "name"), field(o, "status"));
    offer(l, buf_cstr(&id), buf_cstr(&text));
    return 0;
}

/* Offers a task. Items are left out: they have the name of their fan-out, which is offered
 * already. */
static int offer_task(void *arg, const char *json)
{
    json_auto_t *o = parse_object(json);
    json_t *task = json_object_get(o, "workflow_task");

    if (json_is_null(json_object_get(task, "task_index")))
        offer(arg, field(task, "task_name"), field(o, "status"));
    return 0;
}

/* Offers a field of each row of a list. */
struct field_offer {
    struct completion *l;
    const char *word, *text; /* fields; if text is NULL, `word` itself is the description */
};

static int offer_field(void *arg, const char *json)
{
    const struct field_offer *f = arg;
    json_auto_t *o = parse_object(json);

    offer(f->l, field(o, f->word), f->text ? field(o, f->text) : f->word);
    return 0;
}

static void offer_tenant(void *arg, const char *name)
{
    offer(arg, name, "tenant");
}

int offer_ids(struct completion *l, struct pawl *p, struct pawl_error *err)
{
    const struct wanted *w = wanted_by(l->command->name);
    struct pawl_list_query q = {.limit = RECENT, .all = w->all, .status = w->status};

    offer(l, "@last", "the newest execution without a parent");
    return pawl_list(p, &q, offer_execution, l, NULL, err);
}

int offer_tasks(struct completion *l, struct pawl *p, struct pawl_error *err)
{
    const char *which = l->cli.nwords ? l->cli.words[0] : "";
    int64_t id;
    int rc = strcmp(which, "@last") ? text_parse_i64(which, &id) : pawl_last(p, &id, err);

    return rc ? rc : pawl_tasks(p, id, offer_task, l, err);
}

int offer_queues(struct completion *l, struct pawl *p, struct pawl_error *err)
{
    return pawl_queues(p, offer_field, &(struct field_offer){l, "queue", NULL}, err);
}

int offer_schedules(struct completion *l, struct pawl *p, struct pawl_error *err)
{
    return pawl_schedules(p, NULL, offer_field, &(struct field_offer){l, "schedule", "cron"}, err);
}

int offer_workflows(struct completion *l, struct pawl *p, struct pawl_error *err)
{
    return pawl_applied_list(p, NULL, offer_field, &(struct field_offer){l, "name", "description"},
                             NULL, err);
}

/* Offers the versions of the workflow that the line names. */
int offer_versions(struct completion *l, struct pawl *p, struct pawl_error *err)
{
    const char *name = l->cli.nwords > 1 ? l->cli.words[1] : NULL;

    return pawl_applied_versions(p, name, 0, RECENT, offer_field,
                                 &(struct field_offer){l, "definition", "applied_at"}, NULL, err);
}

int offer_workers(struct completion *l, struct pawl *p, struct pawl_error *err)
{
    return pawl_workers(p, offer_field, &(struct field_offer){l, "id", "host"}, err);
}

int offer_hosts(struct completion *l, struct pawl *p, struct pawl_error *err)
{
    return pawl_workers(p, offer_field, &(struct field_offer){l, "host", NULL}, err);
}

/* Offers a token that can be revoked. */
static int offer_token(void *arg, const char *json)
{
    json_auto_t *o = parse_object(json);

    if (!strcmp(field(o, "state"), "active"))
        offer(arg, field(o, "name"), "token");
    return 0;
}

int offer_tokens(struct completion *l, struct pawl *p, struct pawl_error *err)
{
    return pawl_tokens(p, offer_token, l, err);
}

int offer_hooks(struct completion *l, struct pawl *p, struct pawl_error *err)
{
    return pawl_hooks(p, offer_field, &(struct field_offer){l, "name", "workflow"}, err);
}

void offer_tenants(struct completion *l)
{
    struct pawl_options o = cli_options(&l->cli, true);
    struct pawl_error err;

    if (pawl_tenant_list(&o, offer_tenant, l, &err))
        return; /* offer nothing */
}
