/* build_fields.c - see build_fields.h: the tables of fields, and the functions that write them. */
#include "api/build_fields.h"

#include "base/json_read.h"
#include "base/text.h"
#include "core/workflow/model.h"
#include "pawl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define WHAT_SIZE 320

/* ---- the key of each field ---- */

#define END         \
    {               \
        .key = NULL \
    }
#define AT(type, member) .at = offsetof(struct type, member)

static const struct build_field container[] = {
    {"image", BUILD_TEXT, AT(pawl_container_keys, image)},
    {"pull", BUILD_TEXT, AT(pawl_container_keys, pull)},
    {"network", BUILD_TEXT, AT(pawl_container_keys, network)},
    {"volumes", BUILD_TEXTS, AT(pawl_container_keys, volumes)},
    {"options", BUILD_TEXTS, AT(pawl_container_keys, options)},
    END,
};

static const struct build_field approval[] = {
    {"message", BUILD_TEXT, AT(pawl_approval_keys, message)},
    {"timeout", BUILD_DURATION, AT(pawl_approval_keys, timeout)},
    END,
};

#define TASK(member) AT(pawl_task_keys, member)

static const struct build_field limits[] = {
    {"memory", BUILD_BYTES, TASK(memory)},
    {"cpu", BUILD_DURATION, TASK(cpu)},
    {"files", BUILD_INT, TASK(files)},
    {"pids", BUILD_INT, TASK(pids)},
    END,
};

static const struct build_field retry[] = {
    {"max", BUILD_COUNT, TASK(retries)},
    {"delay", BUILD_DURATION, TASK(retry.delay)},
    {"backoff", BUILD_NUMBER, TASK(retry.backoff)},
    {"max_delay", BUILD_DURATION, TASK(retry.max_delay)},
    {"jitter", BUILD_NUMBER, TASK(retry.jitter)},
    {"codes", BUILD_CODES, TASK(retry)},
    END,
};

static const struct build_field task_concurrency[] = {
    {"key", BUILD_TEXT, TASK(concurrency)},
    {"max", BUILD_INT, TASK(concurrency_max)},
    END,
};

const struct build_field build_task[] = {
    {"run", BUILD_TEXT, TASK(run)},
    {"argv", BUILD_TEXTS, TASK(argv)},
    {"function", BUILD_TEXT, TASK(function)},
    {"workflow", BUILD_TEXT, TASK(workflow)},
    {"description", BUILD_TEXT, TASK(description)},
    {"needs", BUILD_TEXTS, TASK(needs)},
    {"if", BUILD_TEXT, TASK(condition)},
    {"join", BUILD_INT, TASK(join)},
    {"foreach", BUILD_ITEMS, TASK(foreach)},
    {"max_parallel", BUILD_INT, TASK(max_parallel)},
    {"fail_fast", BUILD_BOOL, TASK(fail_fast)},
    {"allow_failure", BUILD_BOOL, TASK(allow_failure)},
    {"with", BUILD_JSON, TASK(with)},
    {"env", BUILD_PAIRS, TASK(env)},
    {"cwd", BUILD_TEXT, TASK(cwd)},
    {"stdin", BUILD_TEXT, TASK(input)},
    {"user", BUILD_TEXT, TASK(user)},
    {"limits", BUILD_GROUP, .fields = limits},
    {"container", BUILD_OPTION, TASK(container), .fields = container},
    {"secrets", BUILD_TEXTS, TASK(secrets)},
    {"retry", BUILD_GROUP, .fields = retry},
    {"timeout", BUILD_DURATION, TASK(timeout)},
    {"queue", BUILD_TEXT, TASK(queue)},
    {"priority", BUILD_GIVEN, TASK(priority),
     .given = offsetof(struct pawl_task_keys, has_priority)},
    {"executor", BUILD_TEXT, TASK(executor)},
    {"concurrency", BUILD_GROUP, .fields = task_concurrency},
    {"delay", BUILD_DURATION, TASK(delay)},
    {"outputs", BUILD_TEXTS, TASK(outputs)},
    {"approval", BUILD_OPTION, TASK(approval), .fields = approval},
    END,
};

const struct build_field build_param[] = {
    {"type", BUILD_TEXT, AT(pawl_param_keys, type)},
    {"default", BUILD_JSON, AT(pawl_param_keys, value)},
    {"required", BUILD_BOOL, AT(pawl_param_keys, required)},
    {"description", BUILD_TEXT, AT(pawl_param_keys, description)},
    END,
};

const struct build_field build_schedule[] = {
    {"name", BUILD_TEXT, AT(pawl_schedule_keys, name)},
    {"cron", BUILD_TEXT, AT(pawl_schedule_keys, cron)},
    {"tz", BUILD_TEXT, AT(pawl_schedule_keys, tz)},
    {"catchup", BUILD_CATCHUP, AT(pawl_schedule_keys, catchup)},
    {"overlap", BUILD_TEXT, AT(pawl_schedule_keys, overlap)},
    {"jitter", BUILD_DURATION, AT(pawl_schedule_keys, jitter)},
    {"start", BUILD_TIME, AT(pawl_schedule_keys, start)},
    {"end", BUILD_TIME, AT(pawl_schedule_keys, end)},
    {"with", BUILD_JSON, AT(pawl_schedule_keys, with)},
    END,
};

#define FLOW(member) AT(pawl_workflow_keys, member)

static const struct build_field concurrency[] = {
    {"key", BUILD_TEXT, FLOW(concurrency)},
    {"max", BUILD_INT, FLOW(concurrency_max)},
    END,
};

const struct build_field build_workflow[] = {
    {"name", BUILD_TEXT, FLOW(name)},
    {"description", BUILD_TEXT, FLOW(description)},
    {"vars", BUILD_JSON, FLOW(vars)},
    {"env", BUILD_PAIRS, FLOW(env)},
    {"timeout", BUILD_DURATION, FLOW(timeout)},
    {"queue", BUILD_TEXT, FLOW(queue)},
    {"priority", BUILD_INT, FLOW(priority)},
    {"concurrency", BUILD_GROUP, .fields = concurrency},
    {"secrets", BUILD_TEXTS, FLOW(secrets)},
    {"defaults", BUILD_OPTION, FLOW(defaults), .fields = build_task},
    {"outputs", BUILD_JSON, FLOW(outputs)},
    {"on_failure", BUILD_OPTION, FLOW(on_failure), .fields = build_task},
    {"on_exit", BUILD_OPTION, FLOW(on_exit), .fields = build_task},
    END,
};

/* ---- values ---- */

static void write_texts(struct json_writer *to, const char *const *texts)
{
    json_write_begin(to, '[');
    for (; *texts; texts++)
        json_write_text(to, *texts);
    json_write_end(to, ']');
}

/* A pair without `=` gets the value null, which the parser refuses. */
static void write_pairs(struct json_writer *to, const char *const *pairs)
{
    struct buf name = BUF_INIT;

    json_write_begin(to, '{');
    for (; *pairs; pairs++) {
        const char *equals = strchrnul(*pairs, '=');

        buf_reset(&name);
        buf_add(&name, *pairs, (size_t)(equals - *pairs));
        json_write_key(to, buf_cstr(&name));
        json_write_text(to, *equals ? equals + 1 : NULL);
    }
    json_write_end(to, '}');
    buf_release(&name);
}

static void write_codes(struct json_writer *to, const struct pawl_retry *r)
{
    size_t i;

    json_write_begin(to, '[');
    for (i = 0; i < r->ncodes; i++)
        json_write_i64(to, r->codes[i]);
    json_write_end(to, ']');
}

/* Reads and rewrites the JSON: on one line, and without escapes that YAML does not have. */
static void write_json(struct build *b, const char *json, const char *what)
{
    struct arena arena = ARENA_INIT;
    struct json_node doc;
    struct err err;

    if (json_read_open(json, strlen(json), WORKFLOW_MAX_TEXT, what, &doc, &err)) {
        buf_add(b->wrong, err.msg, strlen(err.msg) + 1);
        return;
    }
    json_write_raw(&b->to, json_read_raw(&doc, &arena));
    json_read_close(&doc);
    arena_release(&arena);
}

static void write_duration(struct json_writer *to, int64_t us)
{
    char text[DURATION_TEXT_SIZE];

    json_write_text(to, text_exact_duration(us, text));
}

/* A year has four digits in a file. A time outside of that is most likely not in microseconds. */
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

/* ---- fields by the tables ---- */

static bool is_given(const struct build_field *f, const void *keys)
{
    const void *at = (const char *)keys + f->at;

    switch (f->type) {
    case BUILD_GIVEN:
        return *(const int *)at || *(const bool *)((const char *)keys + f->given);
    case BUILD_INT:
    case BUILD_COUNT:
        return *(const int *)at;
    case BUILD_BYTES:
    case BUILD_DURATION:
    case BUILD_CATCHUP:
    case BUILD_TIME:
        return *(const int64_t *)at;
    case BUILD_NUMBER:
        return fpclassify(*(const double *)at) != FP_ZERO;
    case BUILD_BOOL:
        return *(const bool *)at;
    case BUILD_CODES:
        return ((const struct pawl_retry *)at)->codes;
    case BUILD_GROUP:
        for (f = f->fields; f->key && !is_given(f, keys);)
            f++;
        return f->key;
    default:
        return *(const void *const *)at;
    }
}

static void write_field(struct build *b, const struct build_field *f, const void *keys,
                        const char *what)
{
    const void *at = (const char *)keys + f->at;
    const char *text = f->type <= BUILD_ITEMS ? *(const char *const *)at : NULL;
    struct json_writer *to = &b->to;

    switch (f->type) {
    case BUILD_TEXT:
        json_write_text(to, text);
        break;
    case BUILD_TEXTS:
        write_texts(to, *(const char *const *const *)at);
        break;
    case BUILD_PAIRS:
        write_pairs(to, *(const char *const *const *)at);
        break;
    case BUILD_ITEMS:
        if (!strncmp(text, "${{", 3)) {
            json_write_text(to, text);
            break;
        } /* fall through */
    case BUILD_JSON:
        write_json(b, text, what);
        break;
    case BUILD_INT:
    case BUILD_GIVEN:
        json_write_i64(to, *(const int *)at);
        break;
    case BUILD_COUNT:
        json_write_i64(to, *(const int *)at < 0 ? 0 : *(const int *)at);
        break;
    case BUILD_BYTES:
        json_write_i64(to, *(const int64_t *)at);
        break;
    case BUILD_DURATION:
        write_duration(to, *(const int64_t *)at);
        break;
    case BUILD_CATCHUP:
        if (*(const int64_t *)at < 0)
            json_write_text(to, "last");
        else
            write_duration(to, *(const int64_t *)at);
        break;
    case BUILD_TIME:
        write_time(b, *(const int64_t *)at, what);
        break;
    case BUILD_NUMBER:
        json_write_double(to, *(const double *)at < 0 ? 0 : *(const double *)at);
        break;
    case BUILD_BOOL:
        json_write_bool(to, *(const bool *)at);
        break;
    case BUILD_CODES:
        write_codes(to, at);
        break;
    case BUILD_GROUP:
        build_mapping(b, f->fields, keys, what);
        break;
    case BUILD_OPTION:
        build_mapping(b, f->fields, *(const void *const *)at, what);
        break;
    }
}

void build_field(struct build *b, const struct build_field *f, const void *keys, const char *what)
{
    size_t len = b->to.out->len, wrong = b->wrong->len;
    struct json_writer before = b->to;
    char name[WHAT_SIZE];

    if (!keys || !is_given(f, keys))
        return;
    snprintf(name, sizeof(name), "%.200s%s%s", what, *what ? "." : "", f->key);
    json_write_key(&b->to, f->key);
    write_field(b, f, keys, name);
    if (b->wrong->len > wrong && !f->fields) {
        b->to = before; /* leave the field out */
        b->to.out->len = len;
    }
}

void build_mapping(struct build *b, const struct build_field *fields, const void *keys,
                   const char *what)
{
    json_write_begin(&b->to, '{');
    for (; fields->key; fields++)
        build_field(b, fields, keys, what);
    json_write_end(&b->to, '}');
}
