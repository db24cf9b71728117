/* catalogue_fixture.h - applied workflows in a test, and the JSON that the library returns about
 * them. */
#ifndef TESTS_CATALOGUE_FIXTURE_H
#define TESTS_CATALOGUE_FIXTURE_H

#include "api_fixture.h"
#include "retention_fixture.h"
#include "sql_submission_fixture.h"
#include "store/schedule/catalogue.h"

#define NIGHTLY                                                                   \
    "# loads the data of one day\n"                                               \
    "name: nightly\n"                                                             \
    "description: Loads a day.\n"                                                 \
    "on: {schedule: {cron: '@daily', with: {day: now}}}\n"                        \
    "params:\n"                                                                   \
    "  day: {type: string, required: true, description: the day}\n"               \
    "  n: {type: integer, default: 3}\n"                                          \
    "tasks:\n"                                                                    \
    "  get: {run: x, description: gets it}\n"                                     \
    "  each: {needs: get, foreach: [1, 2], function: load}\n"                     \
    "  ask: {needs: [get, each], approval: {}, if: always(), run: y, queue: q}\n" \
    "on_exit: {run: z}\n"

struct catalogue {
    struct store *s;
    struct pawl *p;
};

static inline struct catalogue open_catalogue(void)
{
    return (struct catalogue){.s = fixture_store(), .p = open_pawl()};
}

static inline void close_catalogue(struct catalogue *c)
{
    verify_clean(c->s);
    pawl_close(c->p);
    store_close(&c->s);
}

static inline struct pawl_applied apply_yaml(struct catalogue *c, const char *yaml)
{
    struct pawl_applied a;

    OK(pawl_apply_text(c->p, yaml, "ada", &a, &api_err));
    return a;
}

/* A workflow of one task, whose command distinguishes its definitions. */
static inline struct pawl_applied apply_named(struct catalogue *c, const char *name,
                                              const char *command)
{
    char yaml[300];

    snprintf(yaml, sizeof(yaml), "name: %s\ntasks: {a: {run: %s}}\n", name, command);
    return apply_yaml(c, yaml);
}

static inline int keep_line(void *arg, const char *json)
{
    json_array_append_new(arg, json_loads(json, 0, NULL));
    return 0;
}

static inline json_t *list(struct catalogue *c, const struct pawl_applied_query *q, bool *more)
{
    json_t *all = json_array();

    OK(pawl_applied_list(c->p, q, keep_line, all, more, &api_err));
    return all;
}

static inline json_t *versions(struct catalogue *c, const char *name)
{
    json_t *all = json_array();

    OK(pawl_applied_versions(c->p, name, 0, 0, keep_line, all, NULL, &api_err));
    return all;
}

static inline json_t *show(struct catalogue *c, const char *name, const char *version)
{
    char *json = NULL;

    OK(pawl_applied_show(c->p, name, version, &json, &api_err));
    return json_parse_and_free(json);
}

static inline int try_show(struct catalogue *c, const char *name, const char *version)
{
    char *json = NULL;

    return pawl_applied_show(c->p, name, version, &json, &api_err);
}

static inline int64_t number_in(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

/* The texts of a field of all objects, each followed by a space. */
static inline const char *texts_of(const json_t *all, const char *key)
{
    static char out[500];
    const json_t *one;
    size_t i, at = 0;

    out[0] = 0;
    json_array_foreach(all, i, one) at +=
        (size_t)snprintf(out + at, sizeof(out) - at, "%s ", text_in(one, key));
    return out;
}

static inline void check_missing(int rc, const char *part)
{
    CHECK_EQ(rc, -PAWL_E_NOT_FOUND);
    if (!strstr(api_err.message, part))
        test_fail(__FILE__, __LINE__, "\"%s\" does not contain \"%s\"", api_err.message, part);
}

static inline int submit_applied(struct catalogue *c, const char *name)
{
    return pawl_submit(c->p, &(struct pawl_job){.applied = name}, 1, &api_err);
}

static inline void check_source(struct catalogue *c, const char *name, const char *source)
{
    json_t *o = show(c, name, NULL);

    CHECK_STR(text_in(o, "source"), source);
    json_decref(o);
}

#endif
