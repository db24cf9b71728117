/* spec.c - reads and writes a job's spec as JSON. Both directions use one table of keys, with their
 * types, bounds and offsets in struct spec. */
#include "core/spec.h"

#include "base/json.h"
#include "base/json_read.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPEC_MAX     (1024 * 1024)
/* The kernel's limit for one argument or variable, without the closing NUL. */
#define ARG_TEXT_MAX (128 * 1024 - 1)
#define SPAN_MAX     (100LL * 365 * 86400 * 1000000) /* µs */
#define NAME_MAX_LEN 255

enum field_type {
    TEXT,   /* const char *: min..max bytes */
    PATH,   /* const char *: an absolute path of min..max bytes */
    ARGS,   /* const char *const * and a count: the command and its arguments */
    VARS,   /* const char *const * and a count: names of variables */
    KEYS,   /* const char *const * and a count: names of outputs */
    PAIRS,  /* struct spec_pair * and a count: variables */
    I64,    /* int64_t: 0 is the default */
    INT,    /* int: 0 is the default */
    FACTOR, /* double: 0 is the default, otherwise 1 or more */
    PART,   /* double, 0..1: below 0 is the default */
    CODES,  /* const int * and a count */
    OBJECT, /* const char *: unchanged JSON */
    GROUP,  /* an object with fields */
};

struct field {
    const char *key;
    enum field_type type;
    size_t at, count_at; /* in struct spec */
    int64_t min, max;    /* bounds of a number, of a text's bytes or of a list's length */
    const struct field *group;
};

#define AT(member)    .at = offsetof(struct spec, member)
#define LIST(list, n) AT(list), .count_at = offsetof(struct spec, n)

static const struct field limit_fields[] = {
    {"memory", I64, AT(limits.memory), .max = 1LL << 50},
    {"cpu", I64, AT(limits.cpu), .max = SPAN_MAX},
    {"files", INT, AT(limits.files), .max = 1 << 30},
    {"pids", INT, AT(limits.pids), .max = 1 << 22},
    {.key = NULL},
};

static const struct field retry_fields[] = {
    {"delay", I64, AT(retry.delay), .max = SPAN_MAX},
    {"backoff", FACTOR, AT(retry.backoff), .max = 1000},
    {"max_delay", I64, AT(retry.max_delay), .max = SPAN_MAX},
    {"jitter", PART, AT(retry.jitter), .max = 1},
    {"codes", CODES, LIST(retry.codes, retry.ncodes), .max = 256},
    {.key = NULL},
};

static const struct field fields[] = {
    {"run", TEXT, AT(run), .min = 1, .max = ARG_TEXT_MAX},
    {"argv", ARGS, LIST(argv, argc), .min = 1, .max = 10000},
    {"cwd", PATH, AT(cwd), .min = 1, .max = 4095},
    {"stdin", TEXT, AT(input), .max = SPEC_MAX},
    {"user", TEXT, AT(user), .min = 1, .max = NAME_MAX_LEN},
    {"env", PAIRS, LIST(env, nenv), .max = 1000},
    {"secrets", VARS, LIST(secrets, nsecrets), .max = 1000},
    {"outputs", KEYS, LIST(outputs, noutputs), .max = 1000},
    {"timeout", I64, AT(timeout), .max = SPAN_MAX},
    {"grace", I64, AT(grace), .max = SPAN_MAX},
    {"limits", GROUP, .group = limit_fields},
    {"container", OBJECT, AT(container)},
    {"retry", GROUP, .group = retry_fields},
    {.key = NULL},
};

#define MAX_FIELDS (sizeof(fields) / sizeof(*fields))

/* ---- read ---- */

struct reading {
    struct spec *spec;
    struct arena *arena;
    struct err *err;
};

static void *slot(const struct reading *r, size_t at)
{
    return (char *)r->spec + at;
}

static bool is_variable(const char *s)
{
    size_t n = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");

    return n && !s[n] && !(*s >= '0' && *s <= '9') && n <= NAME_MAX_LEN;
}

/* An output's name must fit into a line KEY=VALUE. */
static bool is_output(const char *s)
{
    size_t n = strlen(s);

    for (; *s; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7F || *s == '=')
            return false;
    return n && n <= NAME_MAX_LEN;
}

static int read_item(const struct reading *r, const struct field *f, const struct json_node *p,
                     const char **out)
{
    int rc = json_read_text(p, 0, ARG_TEXT_MAX, r->arena, out, r->err);

    if (rc)
        return rc;
    if (f->type == ARGS && !p->index && !**out)
        return json_read_fail(p, r->err, "is empty: it must name the program");
    if (f->type == VARS && !is_variable(*out))
        return json_read_fail(p, r->err,
                              "is not a variable's name: \"%.60s\" (letters, digits and _)", *out);
    if (f->type == KEYS && !is_output(*out))
        return json_read_fail(
            p, r->err, "is not an output's name: \"%.60s\" (no =, no control characters)", *out);
    return 0;
}

static int read_list(const struct reading *r, const struct field *f, const struct json_node *p)
{
    struct json_node item;
    const char **list;
    size_t i, n;
    int rc;

    if ((rc = json_read_array(p, (size_t)f->max, &n, r->err)))
        return rc;
    if (n < (size_t)f->min)
        return json_read_fail(p, r->err, "is an empty list");
    list = arena_zalloc(r->arena, (n + 1) * sizeof(*list));
    for (i = 0; i < n; i++) {
        json_read_item(p, i, &item);
        if ((rc = read_item(r, f, &item, &list[i])))
            return rc;
    }
    *(const char *const **)slot(r, f->at) = list;
    *(size_t *)slot(r, f->count_at) = n;
    return 0;
}

static int read_pairs(const struct reading *r, const struct field *f, const struct json_node *p)
{
    struct json_node member;
    struct spec_pair *list;
    size_t n = 0;
    void *iter;
    int rc;

    if ((rc = json_read_known_keys(p, NULL, r->err)))
        return rc;
    if (json_read_size(p) > (size_t)f->max)
        return json_read_fail(p, r->err, "has %zu variables; at most %lld are allowed",
                              json_read_size(p), (long long)f->max);
    list = arena_zalloc(r->arena, (json_read_size(p) + 1) * sizeof(*list));
    JSON_EACH(p, iter, &member)
    {
        if (!is_variable(member.key))
            return json_read_fail(&member, r->err,
                                  "is not a variable's name (letters, digits and _)");
        list[n].key = arena_strdup(r->arena, member.key);
        if ((rc = json_read_text(&member, 0, ARG_TEXT_MAX - strlen(member.key) - 1, r->arena,
                                 &list[n].value, r->err)))
            return rc;
        n++;
    }
    *(const struct spec_pair **)slot(r, f->at) = list;
    *(size_t *)slot(r, f->count_at) = n;
    return 0;
}

static int read_codes(const struct reading *r, const struct field *f, const struct json_node *p)
{
    struct json_node item;
    int64_t code = 0;
    size_t i, n;
    int *list, rc;

    if ((rc = json_read_array(p, (size_t)f->max, &n, r->err)))
        return rc;
    list = arena_alloc(r->arena, (n + 1) * sizeof(*list));
    for (i = 0; i < n; i++) {
        json_read_item(p, i, &item);
        if ((rc = json_read_i64(&item, 0, 255, &code, r->err)))
            return rc;
        list[i] = (int)code;
    }
    *(const int **)slot(r, f->at) = list;
    *(size_t *)slot(r, f->count_at) = n;
    return 0;
}

static int read_text(const struct reading *r, const struct field *f, const struct json_node *p)
{
    const char *text;
    int rc = json_read_text(p, (size_t)f->min, (size_t)f->max, r->arena, &text, r->err);

    if (rc)
        return rc;
    if (f->type == PATH && *text != '/')
        return json_read_fail(p, r->err, "must be an absolute path, not \"%.60s\"", text);
    *(const char **)slot(r, f->at) = text;
    return 0;
}

static int read_int(const struct reading *r, const struct field *f, const struct json_node *p)
{
    int64_t n;
    int rc = json_read_i64(p, f->min, f->max, &n, r->err);

    if (rc)
        return rc;
    if (f->type == INT)
        *(int *)slot(r, f->at) = (int)n;
    else
        *(int64_t *)slot(r, f->at) = n;
    return 0;
}

static int read_double(const struct reading *r, const struct field *f, const struct json_node *p)
{
    double n;
    int rc = json_read_double(p, 0, (double)f->max, &n, r->err);

    if (rc)
        return rc;
    if (f->type == FACTOR && n != 0 && n < 1)
        return json_read_fail(p, r->err, "must be 1 or more, not %g: delays do not shrink", n);
    *(double *)slot(r, f->at) = n;
    return 0;
}

static int read_object(const struct reading *r, const struct field *f, const struct json_node *p)
{
    int rc = json_read_known_keys(p, NULL, r->err);

    if (!rc)
        *(const char **)slot(r, f->at) = json_read_raw(p, r->arena);
    return rc;
}

static int read_group(const struct reading *r, const struct field *group,
                      const struct json_node *p);

static int read_field(const struct reading *r, const struct field *f, const struct json_node *p)
{
    switch (f->type) {
    case TEXT:
    case PATH:
        return read_text(r, f, p);
    case ARGS:
    case VARS:
    case KEYS:
        return read_list(r, f, p);
    case PAIRS:
        return read_pairs(r, f, p);
    case I64:
    case INT:
        return read_int(r, f, p);
    case FACTOR:
    case PART:
        return read_double(r, f, p);
    case CODES:
        return read_codes(r, f, p);
    case OBJECT:
        return read_object(r, f, p);
    case GROUP:
        return read_group(r, f->group, p);
    }
    return 0;
}

static int read_group(const struct reading *r, const struct field *group, const struct json_node *p)
{
    const char *keys[MAX_FIELDS] = {NULL};
    struct json_node at;
    size_t i;
    int rc;

    for (i = 0; group[i].key; i++)
        keys[i] = group[i].key;
    if ((rc = json_read_known_keys(p, keys, r->err)))
        return rc;
    for (i = 0; group[i].key; i++)
        if (json_read_member(p, group[i].key, &at) && (rc = read_field(r, &group[i], &at)))
            return rc;
    return 0;
}

int spec_parse(const char *json, struct arena *arena, struct spec *out, struct err *err)
{
    struct spec spec = {.retry.jitter = -1};
    struct reading r = {&spec, arena, err};
    struct json_node doc;
    int rc;

    if (!json) {
        *out = spec;
        return 0;
    }
    if ((rc = json_read_open(json, strlen(json), SPEC_MAX, "the spec", &doc, err)))
        return rc;
    if ((rc = read_group(&r, fields, &doc)))
        goto done;
    if (spec.run && spec.argv)
        rc = json_read_fail(&doc, err, "has both run and argv: give only one of them");
    if (!rc)
        *out = spec;
done:
    json_read_close(&doc);
    return rc;
}

/* ---- write ---- */

static size_t count_of(const struct field *f, const struct spec *s)
{
    return *(const size_t *)((const char *)s + f->count_at);
}

static void write_pairs(struct json_writer *w, const struct field *f, const struct spec *s)
{
    const struct spec_pair *list = *(const struct spec_pair *const *)((const char *)s + f->at);
    size_t i, n = count_of(f, s);

    json_write_begin(w, '{');
    for (i = 0; i < n; i++) {
        json_write_key(w, list[i].key);
        json_write_text(w, list[i].value);
    }
    json_write_end(w, '}');
}

static void write_list(struct json_writer *w, const struct field *f, const struct spec *s)
{
    const void *list = *(const void *const *)((const char *)s + f->at);
    size_t i, n = count_of(f, s);

    json_write_begin(w, '[');
    for (i = 0; i < n; i++) {
        if (f->type == CODES)
            json_write_i64(w, ((const int *)list)[i]);
        else
            json_write_text(w, ((const char *const *)list)[i]);
    }
    json_write_end(w, ']');
}

static bool is_default(const struct field *f, const struct spec *s)
{
    const char *at = (const char *)s + f->at;
    size_t i;

    switch (f->type) {
    case TEXT:
    case PATH:
    case OBJECT:
        return !*(const char *const *)at;
    case ARGS:
    case VARS:
    case KEYS:
    case PAIRS:
    case CODES:
        return !count_of(f, s);
    case I64:
        return !*(const int64_t *)at;
    case INT:
        return !*(const int *)at;
    case FACTOR:
        return !(*(const double *)at > 0);
    case PART:
        return *(const double *)at < 0;
    case GROUP:
        for (i = 0; f->group[i].key; i++)
            if (!is_default(&f->group[i], s))
                return false;
    }
    return true;
}

static void write_group(struct json_writer *w, const struct field *group, const struct spec *s);

static void write_field(struct json_writer *w, const struct field *f, const struct spec *s)
{
    const char *at = (const char *)s + f->at;

    switch (f->type) {
    case TEXT:
    case PATH:
        json_write_text(w, *(const char *const *)at);
        break;
    case ARGS:
    case VARS:
    case KEYS:
    case CODES:
        write_list(w, f, s);
        break;
    case PAIRS:
        write_pairs(w, f, s);
        break;
    case I64:
        json_write_i64(w, *(const int64_t *)at);
        break;
    case INT:
        json_write_i64(w, *(const int *)at);
        break;
    case FACTOR:
    case PART:
        json_write_double(w, *(const double *)at);
        break;
    case OBJECT:
        json_write_raw(w, *(const char *const *)at);
        break;
    case GROUP:
        write_group(w, f->group, s);
    }
}

static void write_group(struct json_writer *w, const struct field *group, const struct spec *s)
{
    json_write_begin(w, '{');
    for (; group->key; group++)
        if (!is_default(group, s)) {
            json_write_key(w, group->key);
            write_field(w, group, s);
        }
    json_write_end(w, '}');
}

void spec_write(const struct spec *s, struct buf *out)
{
    struct json_writer w = JSON_WRITER(out);

    write_group(&w, fields, s);
}
