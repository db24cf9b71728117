/* submit.c - submitting executions. Requests of many clients become one transaction: the plane
 * passes all that wait, and each is answered when its jobs are stored durably. A request whose jobs
 * the database refuses is found by halving the set, so that it delays the other requests little. */
#include "base/idmap.h"
#include "base/text.h"
#include "server/server.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* The jobs of one request. */
struct order {
    struct request *r;
    struct pawl_job *jobs;
    size_t n;
    bool list; /* the body was an array, and so is the answer */
};

static const struct value_rule concurrency_members[] = {
    RULE("key", TEXT, "jobs with the same key share the limit", .min = 1, .max = 200,
         .required = true),
    RULE("max", INT, "how many of them may be claimable or running; 1 if not given", .min = 1,
         .max = INT_MAX),
    {0}};

static const struct value_rule command_members[] = {
    RULE("run", TEXT, "shell text", .min = 1),
    RULE("argv", TEXTS, "the program and its arguments, instead of `run`"),
    RULE("cwd", TEXT, "absolute path of its working directory", .min = 1, .max = 4096),
    RULE("env", TEXTS, "NAME=VALUE"),
    RULE("stdin", TEXT, "its standard input"),
    RULE("timeout", DURATION, "limit of one attempt"),
    RULE("secrets", TEXTS, "names of secrets that the worker puts into its environment"),
    {0}};

static const struct value_rule retry_members[] = {
    RULE("delay", DURATION, "before the second attempt"),
    RULE("max_delay", DURATION, "the longest delay"),
    {0}};

static const struct value_rule members[] = {
    RULE("workflow", TEXT, "the name of an applied workflow", .min = 1, .max = 200),
    RULE("yaml", TEXT, "a workflow file, instead of `workflow`; needs the scope admin", .min = 1),
    RULE("function", TEXT, "a job for workers that serve this function, instead of `workflow`",
         .min = 1, .max = 100),
    RULE("command", MEMBERS, "a command, instead of `workflow`; needs the scope admin",
         .of = command_members),
    RULE(
        "name", TEXT,
        "full name of a function's or command's execution; `exec::FUNCTION` or `exec::command` if not given",
        .min = 1, .max = 200),
    RULE("document", OBJECT,
         "a definition, as `document` of a workflow in detail has it, instead of `workflow`; needs "
         "the scope admin"),
    RULE("spec", OBJECT,
         "how it is run, as the library writes it, instead of `command` and `retry`; needs the "
         "scope admin"),
    RULE("executor", TEXT,
         "with `spec`: the key of the executor that runs it; the routes decide "
         "if not given",
         .min = 1, .max = 100),
    RULE("params", OBJECT, "params of the workflow"),
    RULE("param", TEXTS,
         "NAME=VALUE: further params, converted to their types as by the command line"),
    RULE("input", ANY, "input of a function"),
    RULE("queue", TEXT, "`default` if not given", .min = 1, .max = 200),
    RULE("key", TEXT, "idempotency key, instead of the header Idempotency-Key", .min = 1,
         .max = 200),
    RULE("priority", INT, "higher is claimed first", .min = INT_MIN, .max = INT_MAX),
    RULE("max_attempts", INT, "of a function or command; 1 if not given", .min = 1, .max = 1000),
    RULE("delay", DURATION, "wait at least this long before starting"),
    RULE("retry", MEMBERS, "delays between the attempts of a function or command",
         .of = retry_members),
    RULE("concurrency", MEMBERS, "a limit that it shares with other jobs",
         .of = concurrency_members),
    RULE("refuse", BOOL, "answer 429 instead of waiting if a limit is reached"),
    RULE("parent", INT, "an execution that has not ended, which it becomes a child of", .min = 1,
         .max = INT64_MAX),
    {0}};

/* ---- from JSON to jobs ---- */

static struct values nested(const struct values *v, const char *name,
                            const struct value_rule *rules)
{
    return (struct values){rules, value_of(v, name)->of};
}

static bool refuse(struct request *r, const char *sentence)
{
    answer_problem(r, 422, "not-processable", "%s", sentence);
    return false;
}

/* Checks that the request has exactly one kind of work, and that the token may submit it. */
static bool check_kind(struct request *r, const struct values *v)
{
    static const char *const kinds[] = {"workflow", "yaml",    "document",
                                        "function", "command", "spec"};
    bool of_workflow, powerful;
    size_t n = 0;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        n += value_of(v, kinds[i])->given;
    if (value_of(v, "function")->given && value_of(v, "spec")->given)
        n--; /* the spec has its retries */
    if (n != 1)
        return refuse(r, "the body must have exactly one of workflow, yaml, document, function, "
                         "command and spec");
    of_workflow = value_of(v, "workflow")->given || value_of(v, "yaml")->given ||
                  value_of(v, "document")->given;
    if ((value_of(v, "params")->given || value_of(v, "param")->given) && !of_workflow)
        return refuse(r, "params belong to a workflow; a function has an input");
    if (value_of(v, "input")->given && !value_of(v, "function")->given &&
        !value_of(v, "spec")->given)
        return refuse(r, "input belongs to a function; a workflow has params");
    /* Each of these lets its author run any program on the workers. */
    powerful = value_of(v, "command")->given || value_of(v, "yaml")->given ||
               value_of(v, "document")->given || value_of(v, "spec")->given;
    if (powerful && !(r->scopes & PAWL_SCOPE_ADMIN)) {
        answer_problem(
            r, 403, "forbidden",
            "submitting commands and workflow files needs the scope admin; the scope submit "
            "allows applied workflows and functions");
        return false;
    }
    return true;
}

/* Makes the spec of a function or command. */
static bool make_spec(struct request *r, const struct values *v, struct pawl_job *job)
{
    struct values c = nested(v, "command", command_members), t = nested(v, "retry", retry_members);
    struct pawl_retry retry = {.delay = t.at ? value_int(&t, "delay") : 0,
                               .max_delay = t.at ? value_int(&t, "max_delay") : 0};
    struct pawl_error err = {0};
    struct pawl_command command;
    char *spec;

    if (!c.at && !t.at)
        return true;
    if (c.at)
        command = (struct pawl_command){.run = value_text(&c, "run"),
                                        .argv = value_of(&c, "argv")->list,
                                        .cwd = value_text(&c, "cwd"),
                                        .env = value_of(&c, "env")->list,
                                        .input = value_text(&c, "stdin"),
                                        .timeout = value_int(&c, "timeout"),
                                        .secrets = value_of(&c, "secrets")->list};
    if (pawl_command_spec(r->p, c.at ? &command : NULL, &retry, &spec, &err)) {
        answer_error(r, &err);
        return false;
    }
    job->spec = arena_strdup(&r->arena, spec);
    free(spec);
    return true;
}

static void set_name(struct request *r, const struct values *v, struct pawl_job *job)
{
    const char *function = value_text(v, "function"), *name = value_text(v, "name");

    if (function)
        job->lane = arena_printf(&r->arena, "function:%s", function);
    job->name = name ? name : arena_printf(&r->arena, "exec::%s", function ? function : "command");
}

static bool make_job(struct request *r, const struct values *v, struct pawl_job *job)
{
    struct values limit = nested(v, "concurrency", concurrency_members);
    const char *params = value_text(v, "params");

    if (!check_kind(r, v))
        return false;
    *job = (struct pawl_job){.applied = value_text(v, "workflow"),
                             .yaml = value_text(v, "yaml"),
                             .document = value_text(v, "document"),
                             .params = value_of(v, "param")->list,
                             .spec = value_text(v, "spec"),
                             .lane = value_text(v, "executor"),
                             .refuse = value_bool(v, "refuse"),
                             .input = params ? params : value_text(v, "input"),
                             .queue = value_text(v, "queue"),
                             .key = value_text(v, "key"),
                             .priority = (int)value_int(v, "priority"),
                             .max_attempts = (int)value_int(v, "max_attempts"),
                             .delay = value_int(v, "delay"),
                             .concurrency = limit.at ? value_text(&limit, "key") : NULL,
                             .concurrency_max = limit.at ? (int)value_int(&limit, "max") : 0,
                             .parent = value_int(v, "parent"),
                             .by = r->by};
    if (job->applied || job->yaml || job->document)
        return true;
    set_name(r, v, job);
    return make_spec(r, v, job);
}

/* Applies the header Idempotency-Key, which gives the key of a single job; in a list, each job has
 * a key of its own. */
static bool apply_key_header(struct order *o)
{
    const char *key =
        MHD_lookup_connection_value(o->r->connection, MHD_HEADER_KIND, "Idempotency-Key");

    if (!key)
        return true;
    if (o->n != 1 || o->jobs[0].key)
        return refuse(
            o->r,
            "give either the header Idempotency-Key with one job, or the member key of each job");
    if (!*key || strlen(key) > 200 || !text_is_utf8(key, strlen(key)))
        return refuse(o->r, "Idempotency-Key must have from 1 to 200 bytes of UTF-8");
    o->jobs[0].key = arena_strdup(&o->r->arena, key);
    return true;
}

static bool read_order(struct order *o)
{
    struct values *values;

    if (!body_read(o->r, &values, &o->n))
        return false;
    o->list = o->r->body.len && o->r->body.ptr[strspn(o->r->body.ptr, " \t\r\n")] == '[';
    o->jobs = arena_zalloc(&o->r->arena, (o->n + 1) * sizeof(*o->jobs));
    for (size_t i = 0; i < o->n; i++)
        if (!make_job(o->r, &values[i], &o->jobs[i]))
            return false;
    return apply_key_header(o);
}

/* ---- answers ---- */

static void add_receipt(struct buf *b, const struct pawl_job *job)
{
    buf_addf(b, "{\"id\":%lld,\"existed\":%s}", (long long)job->id,
             job->existed ? "true" : "false");
}

static void answer_order(const struct order *o)
{
    struct buf b = BUF_INIT;
    bool created = false;

    if (o->list)
        buf_addch(&b, '[');
    for (size_t i = 0; i < o->n; i++) {
        if (i)
            buf_addch(&b, ',');
        add_receipt(&b, &o->jobs[i]);
        created |= !o->jobs[i].existed;
    }
    if (o->list)
        buf_addch(&b, ']');
    else
        answer_header(o->r, "Location", "/v1/executions/%lld", (long long)o->jobs[0].id);
    answer_buf(o->r, created ? 201 : 200, "application/json", &b);
}

/* ---- one transaction for many requests ---- */

/* Whether the error concerns all jobs, so that each half of them would meet it, too. This includes
 * an unknown outcome of the commit: if the jobs were submitted again, those without a key could be
 * stored twice. */
static bool is_of_all(int code)
{
    switch (code) {
    case PAWL_E_UNAVAILABLE:
    case PAWL_E_NO_SPACE:
    case PAWL_E_SCHEMA:
    case PAWL_E_BUSY:
    case PAWL_E_REDO:
    case PAWL_E_CONN_LOST:
    case PAWL_E_COMMIT_UNKNOWN:
        return true;
    default:
        return false;
    }
}

static void submit_orders(struct pawl *p, struct order *orders, size_t n)
{
    AUTO_VEC(struct pawl_job) all = {0};
    struct pawl_error err = {0};
    size_t at = 0;

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < orders[i].n; k++)
            *vec_add(&all) = orders[i].jobs[k];
    if (pawl_submit(p, all.at, all.n, &err)) {
        if (n == 1 || is_of_all(err.code)) {
            for (size_t i = 0; i < n; i++)
                answer_error(orders[i].r, &err);
            return;
        }
        submit_orders(p, orders, n / 2);
        submit_orders(p, orders + n / 2, n - n / 2);
        return;
    }
    for (size_t i = 0; i < n; at += orders[i++].n) {
        memcpy(orders[i].jobs, all.at + at, orders[i].n * sizeof(*all.at));
        answer_order(&orders[i]);
    }
}

/* ---- keys ---- */

/* Represents a key in a map. If two keys have the same number, their requests are carried out in
 * two transactions without need. */
static int64_t key_id(const char *key)
{
    return (int64_t)(text_hash(key) >> 1) + 1;
}

static bool has_key_in(const struct order *o, const struct idmap *keys)
{
    for (size_t i = 0; i < o->n; i++)
        if (o->jobs[i].key && idmap_get(keys, key_id(o->jobs[i].key)))
            return true;
    return false;
}

static void add_keys(struct idmap *keys, struct order *o)
{
    for (size_t i = 0; i < o->n; i++)
        if (o->jobs[i].key)
            idmap_put(keys, key_id(o->jobs[i].key), o);
}

/* Two requests of one transaction must not use the same idempotency key: which of them comes first
 * would depend on chance, and the second could not be distinguished from the first. Moves the
 * orders that share a key with an earlier one to the end, and returns the number of the remaining
 * ones. */
static size_t separate_keys(struct order *orders, size_t n)
{
    AUTO_IDMAP keys = IDMAP_INIT;
    size_t apart = 0;

    for (size_t i = 0; i < n; i++) {
        struct order o = orders[i];

        if (has_key_in(&o, &keys))
            continue;
        memmove(orders + apart + 1, orders + apart, (i - apart) * sizeof(o));
        orders[apart] = o;
        add_keys(&keys, &orders[apart++]);
    }
    return apart;
}

/* Copies the result of the token's check from an earlier request of the batch with the same token,
 * so that each token is checked once. */
static void share_check(struct request *const *list, size_t i)
{
    for (size_t k = 0; k < i && list[i]->token && !list[i]->known; k++)
        if (list[k]->known && list[k]->token && !strcmp(list[k]->token, list[i]->token)) {
            list[i]->by = arena_strdup(&list[i]->arena, list[k]->by);
            list[i]->scopes = list[k]->scopes;
            list[i]->known = true;
        }
}

/* Reads a request of the batch; false if it was refused. *gone is set if the database can't be
 * used: then the remaining requests are refused at once, and do not wait for it one after the
 * other. */
static bool admit(struct order *o, bool *gone)
{
    struct request *r = o->r;

    if (*gone) {
        answer_problem(r, 503, "unavailable", "the database can't be used now");
        return false;
    }
    if (guard_check(r))
        return read_order(o);
    *gone = r->status == 503;
    return false;
}

void submit_batch(struct pawl *p, struct request **list, size_t n)
{
    struct order *orders = mem_zalloc((n + 1) * sizeof(*orders));
    size_t ready = 0, apart;
    bool gone = false;

    for (size_t i = 0; i < n; i++) {
        struct order *o = &orders[ready];

        *o = (struct order){.r = list[i]};
        list[i]->p = p;
        share_check(list, i);
        if (admit(o, &gone))
            ready++;
    }
    for (size_t at = 0; at < ready; at += apart) {
        apart = separate_keys(orders + at, ready - at);
        submit_orders(p, orders + at, apart);
    }
    free(orders);
    for (size_t i = 0; i < n; i++)
        request_done(list[i]);
}

/* Fills the table of endpoints: planes call submit_batch instead. */
static void submit(struct request *r)
{
    submit_batch(r->p, &r, 1);
}

const struct endpoint submit_endpoints[] = {
    {"POST", "/v1/executions", "submit",
     "Submits an execution, or a list of at most 1,000 in one transaction. Answers 201 if it is new, 200 if an execution "
     "with the same idempotency key existed.",
     PAWL_SCOPE_SUBMIT, PLANE_SUBMIT, .body = members,
     .any_of = "workflow|yaml|document|function|command|spec", .list_body = true, .batched = true,
     .answer = "Receipt", .status = 201, .run = submit},
    {0},
};
