/* build_keys.c - converts the structures of pawl.h that describe a workflow to the keys of a
 * workflow file; see build_keys.h. */
#include "api/build_keys.h"

#include "base/text.h"
#include "pawl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define WHAT_SIZE                        320

/* ---- which member of a structure of pawl.h holds each key; the index is the key's number ---- */

/* A placeholder: the builder does not read keys that have no member. */
#define NO_MEMBER                        description

#define X(key, type, member, built, ...) offsetof(struct pawl_task_keys, built),
static const size_t task[] = {TASK_KEYS(X)};
static const size_t retry[] = {RETRY_KEYS(X)};
static const size_t limits[] = {LIMIT_KEYS(X)};
#undef X
#define X(key, type, member, built, ...) offsetof(struct pawl_workflow_keys, built),
static const size_t workflow[] = {WORKFLOW_KEYS(X)};
#undef X
#define X(key, type, member, built, ...) offsetof(struct pawl_param_keys, built),
static const size_t param[] = {PARAM_KEYS(X)};
#undef X
#define X(key, type, member, built, ...) offsetof(struct pawl_schedule_keys, built),
static const size_t schedule[] = {SCHEDULE_KEYS(X)};
#undef X
#define X(key, type, member, built, ...) offsetof(struct pawl_webhook_keys, built),
static const size_t webhook[] = {WEBHOOK_KEYS(X)};
#undef X
#define X(key, type, member, built, ...) offsetof(struct pawl_follow_keys, built),
static const size_t follow[] = {FOLLOW_KEYS(X)};
#undef X
#define X(key, type, member, built, ...) offsetof(struct pawl_container_keys, built),
static const size_t container[] = {CONTAINER_KEYS(X)};
#undef X
#define X(key, type, member, built, ...) offsetof(struct pawl_approval_keys, built),
static const size_t approval[] = {APPROVAL_KEYS(X)};
#undef X
/* The offsets of the keys of `concurrency` are relative to its first member. Tasks and workflows
 * both have these members. */
#define X(key, type, member, built, ...) \
    offsetof(struct pawl_task_keys, built) - offsetof(struct pawl_task_keys, concurrency),
static const size_t concurrency[] = {CONCURRENCY_KEYS(X)};
#undef X
_Static_assert(offsetof(struct pawl_workflow_keys, concurrency_max) -
                       offsetof(struct pawl_workflow_keys, concurrency) ==
                   offsetof(struct pawl_task_keys, concurrency_max) -
                       offsetof(struct pawl_task_keys, concurrency),
               "tasks and workflows must have the members of concurrency in the same order");

/* How a structure holds a mapping: as a pointer to another structure, or inline in its own members,
 * starting at its first member or at the member of the mapping's first key. */
enum form { POINTER, INLINE, INLINE_FROM_MEMBER };

static const struct structure {
    const struct keys *keys;
    const size_t *at;
    enum form form;
} structures[] = {{&keys_workflow, workflow, POINTER},
                  {&keys_task, task, POINTER},
                  {&keys_param, param, POINTER},
                  {&keys_schedule, schedule, POINTER},
                  {&keys_webhook, webhook, POINTER},
                  {&keys_follow, follow, POINTER},
                  {&keys_container, container, POINTER},
                  {&keys_approval, approval, POINTER},
                  {&keys_retry, retry, INLINE},
                  {&keys_limits, limits, INLINE},
                  {&keys_concurrency, concurrency, INLINE_FROM_MEMBER},
                  {.keys = NULL}};

static const struct structure *structure_of(const struct keys *keys)
{
    const struct structure *s = structures;

    while (s->keys && s->keys != keys)
        s++;
    return s->keys ? s : NULL;
}

bool build_has(const struct keys *keys, const struct key *k)
{
    return structure_of(keys) && k->sentence && k->type != KEY_PARAMS && k->type != KEY_TRIGGERS &&
           k->type != KEY_TASKS;
}

static const void *member_of(const struct keys *keys, const struct key *k, const void *from)
{
    return (const char *)from + structure_of(keys)->at[k - keys->at];
}

/* Returns the structure that holds the keys of the mapping k. */
static const void *mapping_of(const struct keys *keys, const struct key *k, const void *from)
{
    const void *member = member_of(keys, k, from);
    enum form form = structure_of(k->group)->form;

    return form == POINTER ? *(const void *const *)member : form == INLINE ? from : member;
}

/* ---- values ---- */

static void write_texts(struct json_writer *to, const char *const *texts)
{
    json_write_begin(to, '[');
    for (; *texts; texts++)
        json_write_text(to, *texts);
    json_write_end(to, ']');
}

/* Writes NAME=VALUE pairs as a mapping. A pair without `=` gets the value null, which the parser
 * refuses. */
static void write_pairs(struct json_writer *to, const char *const *pairs)
{
    AUTO_BUF name = BUF_INIT;

    json_write_begin(to, '{');
    for (; *pairs; pairs++) {
        const char *equals = strchrnul(*pairs, '=');

        buf_reset(&name);
        buf_add(&name, *pairs, (size_t)(equals - *pairs));
        json_write_key(to, buf_cstr(&name));
        json_write_text(to, *equals ? equals + 1 : NULL);
    }
    json_write_end(to, '}');
}

static void write_codes(struct json_writer *to, const struct pawl_retry *r)
{
    json_write_begin(to, '[');
    for (size_t i = 0; i < r->ncodes; i++)
        json_write_i64(to, r->codes[i]);
    json_write_end(to, ']');
}

/* Reads and rewrites the JSON: on one line, and without escapes that YAML does not have. */
static void write_json(struct build *b, const char *json, const char *what)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct json_node doc;
    struct err err;

    if (json_read_open(json, strlen(json), WORKFLOW_MAX_TEXT, what, &doc, &err)) {
        buf_add(b->wrong, err.msg, strlen(err.msg) + 1);
        return;
    }
    json_write_raw(&b->to, json_read_raw(&doc, &arena));
    json_read_close(&doc);
}

static void write_duration(struct json_writer *to, int64_t us)
{
    char text[DURATION_TEXT_SIZE];

    json_write_text(to, text_exact_duration(us, text));
}

/* Writes a time. A year in a file has four digits: a time outside of that range was most likely not
 * given in microseconds. */
static void write_time(struct build *b, int64_t us, const char *what)
{
    struct err err = ERR_INIT;
    char text[TIME_TEXT_SIZE];
    int64_t same;

    if (text_parse_time(text_time(us, text), &same, &err) || same != us) {
        buf_addf(b->wrong, "%s is not within the years 0 to 9999: %lld is read as µs since 1970",
                 what, (long long)us);
        buf_addch(b->wrong, '\0');
        return;
    }
    json_write_text(&b->to, text);
}

/* ---- keys, by the key table ---- */

/* A key counts as given if its value is not 0. */
static bool is_given(const struct keys *keys, const struct key *k, const void *from)
{
    const void *at = member_of(keys, k, from), *mapping;
    const struct key *inner;

    switch (key_stored_as(k)) {
    case STORED_INT:
        return *(const int *)at || (keys == &keys_task && !strcmp(k->name, "priority") &&
                                    ((const struct pawl_task_keys *)from)->has_priority);
    case STORED_I64:
        return *(const int64_t *)at;
    case STORED_DOUBLE:
        return fpclassify(*(const double *)at) != FP_ZERO;
    case STORED_BOOL:
        return *(const bool *)at;
    case STORED_GROUP:
        mapping = mapping_of(keys, k, from);
        KEYS_EACH(k->group, inner)
        if (is_given(k->group, inner, mapping))
            return true;
        return false;
    default:
        return *(const void *const *)at;
    }
}

static void write_number(struct build *b, const struct key *k, const void *at, const char *what)
{
    int64_t amount = key_stored_as(k) == STORED_I64 ? *(const int64_t *)at : *(const int *)at;

    if (k->type == KEY_CATCHUP && amount < 0)
        json_write_text(&b->to, "last");
    else if (k->type == KEY_DURATION || k->type == KEY_CATCHUP)
        write_duration(&b->to, amount);
    else if (k->type == KEY_TIME)
        write_time(b, amount, what);
    else if (k->unset && amount < 0) /* a negative retry.max means "no retries" */
        json_write_i64(&b->to, 0);
    else
        json_write_i64(&b->to, amount);
}

static void write_key(struct build *b, const struct keys *keys, const struct key *k,
                      const void *from, const char *what)
{
    const void *at = member_of(keys, k, from);
    struct json_writer *to = &b->to;

    if (k->group) {
        build_mapping(b, k->group, mapping_of(keys, k, from), what);
        return;
    }
    switch (key_stored_as(k)) {
    case STORED_TEXTS:
    case STORED_INDEXES:
        write_texts(to, *(const char *const *const *)at);
        break;
    case STORED_PAIRS:
        write_pairs(to, *(const char *const *const *)at);
        break;
    case STORED_JSON:
        if (k->type == KEY_FOREACH && !strncmp(*(const char *const *)at, "${{", 3)) {
            json_write_text(to, *(const char *const *)at);
            break;
        } /* fall through */
    case STORED_VALUES:
        write_json(b, *(const char *const *)at, what);
        break;
    case STORED_INT:
    case STORED_I64:
        write_number(b, k, at, what);
        break;
    case STORED_DOUBLE:
        json_write_double(to, *(const double *)at < 0 ? 0 : *(const double *)at);
        break;
    case STORED_BOOL:
        json_write_bool(to, *(const bool *)at);
        break;
    case STORED_CODES:
        write_codes(to, &((const struct pawl_task_keys *)from)->retry);
        break;
    default: /* strings, words, the path of a nested workflow */
        json_write_text(to, *(const char *const *)at);
    }
}

void build_key(struct build *b, const struct keys *keys, const struct key *k, const void *from,
               const char *what)
{
    size_t len = b->to.out->len, wrong = b->wrong->len;
    struct json_writer before = b->to;
    char name[WHAT_SIZE];

    if (!from || !build_has(keys, k) || !is_given(keys, k, from))
        return;
    snprintf(name, sizeof(name), "%.200s%s%s", what, *what ? "." : "", k->name);
    json_write_key(&b->to, k->name);
    write_key(b, keys, k, from, name);
    if (b->wrong->len > wrong && !k->group) {
        b->to = before; /* leave this key out */
        b->to.out->len = len;
    }
}

void build_mapping(struct build *b, const struct keys *keys, const void *from, const char *what)
{
    const struct key *k;

    json_write_begin(&b->to, '{');
    for (k = keys->at; k->name; k++)
        build_key(b, keys, k, from, what);
    json_write_end(&b->to, '}');
}
