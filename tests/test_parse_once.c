/* test_parse_once.c - how often a submission parses its workflow and checks its params. The test
 * replaces two functions of the shared libraries below with ones that count. */
#include "api_fixture.h"
#include "workflow_fixture.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <yaml.h>

#define PARAM "looked_up"

static atomic_int parsed, checked;

/* Every parse of YAML starts here. */
int yaml_parser_initialize(yaml_parser_t *p)
{
    int (*next)(yaml_parser_t *);

    *(void **)&next = dlsym(RTLD_NEXT, "yaml_parser_initialize");
    parsed++;
    return next(p);
}

/* A check of the given params looks up each param of the workflow by its name. */
json_t *json_object_get(const json_t *o, const char *key)
{
    json_t *(*next)(const json_t *, const char *);

    *(void **)&next = dlsym(RTLD_NEXT, "json_object_get");
    checked += !strcmp(key, PARAM);
    return next(o, key);
}

static const char yaml[] = "name: w\n"
                           "params: {" PARAM ": {type: string, required: true}}\n"
                           "tasks: {a: {run: x}}\n";
static const char *const params[] = {PARAM "=x", NULL};

static const char *write_file(void)
{
    static char path[512];
    FILE *f;

    snprintf(path, sizeof(path), "%s/w.flow.yaml", test_dir());
    f = fopen(path, "w");

    CHECK(f && fputs(yaml, f) >= 0 && !fclose(f));
    return path;
}

/* Opening a database parses the configuration, which does not count. */
static struct pawl *open_and_count(void)
{
    struct pawl *p = open_pawl();

    parsed = checked = 0;
    return p;
}

static void check_counts(int parses, int checks)
{
    CHECK_EQ(parsed, parses);
    CHECK_EQ(checked, checks);
    parsed = checked = 0;
}

static void close_all(struct pawl *p, struct store *s)
{
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

TEST(submit_of_a_file_or_text_parses_the_workflow_and_checks_its_params_once)
{
    struct store *s = fixture_store();
    struct pawl *p = open_and_count();
    struct pawl_job file = {.workflow = write_file(), .params = params},
                    text = {.yaml = yaml, .params = params};

    OK(pawl_submit(p, &file, 1, &api_err));
    check_counts(1, 1);
    OK(pawl_submit(p, &text, 1, &api_err));
    check_counts(1, 1);
    CHECK_STR(get(s, file.id).input, "{\"" PARAM "\":\"x\"}");
    CHECK_STR(tree_text(s, text.id), "a:ready");
    close_all(p, s);
}

TEST(loaded_workflow_is_not_parsed_again_when_it_is_applied_and_submitted)
{
    struct store *s = fixture_store();
    struct pawl *p = open_and_count();
    struct pawl_job job = {.params = params};
    struct pawl_definition d;

    OK(pawl_workflow_load(write_file(), NULL, NULL, &job.built, &api_err));
    check_counts(1, 0);
    OK(pawl_workflow_check(job.built, NULL, NULL, &d, &api_err));
    OK(pawl_apply_built(p, job.built, NULL, NULL, &api_err));
    OK(pawl_submit(p, &job, 1, &api_err));
    check_counts(0, 1);
    pawl_workflow_free(job.built);
    job = (struct pawl_job){.applied = "w", .params = params};
    OK(pawl_submit(p, &job, 1, &api_err));
    check_counts(0, 1);
    close_all(p, s);
}

TEST(apply_of_a_file_parses_the_file_once)
{
    struct store *s = fixture_store();
    struct pawl *p = open_and_count();

    OK(pawl_apply(p, write_file(), NULL, NULL, &api_err));
    check_counts(1, 0);
    close_all(p, s);
}

static void submitted(void *arg, const struct pawl_job *job, const struct pawl_error *err)
{
    CHECK(!err);
    *(int64_t *)arg = job->id;
}

TEST(foreground_run_of_a_loaded_file_parses_it_and_checks_its_params_once)
{
    struct store *s = fixture_store();
    struct pawl *p = open_and_count();
    struct pawl_job job = {.params = params};
    struct pawl_engine_options o = {.here = true, .state = test_dir()};
    struct pawl_engine *e;
    int64_t id = 0;

    OK(pawl_workflow_load(write_file(), NULL, NULL, &job.built, &api_err));
    setenv("PAWL_SHIM", "/bin/true", 1);
    OK(pawl_engine_open(p, &o, &e, &api_err));
    OK(pawl_engine_submit(e, &job, submitted, &id, &api_err));
    while (!id)
        OK(pawl_engine_step(e, 100, &api_err));
    check_counts(1, 1);
    CHECK_STR(get(s, id).input, "{\"" PARAM "\":\"x\"}");
    pawl_engine_close(e);
    pawl_workflow_free(job.built);
    close_all(p, s);
}

TEST(built_workflow_is_parsed_again_only_after_a_change)
{
    struct store *s = fixture_store();
    struct pawl *p = open_and_count();
    struct pawl_workflow *w = pawl_workflow_new(&(struct pawl_workflow_keys){.name = "w"});
    struct pawl_job job = {.built = w};

    pawl_workflow_task(w, "a", &(struct pawl_task_keys){.run = "x"});
    OK(pawl_workflow_check(w, NULL, NULL, NULL, &api_err));
    OK(pawl_submit(p, &job, 1, &api_err));
    check_counts(1, 0);
    pawl_workflow_task(w, "b", &(struct pawl_task_keys){.run = "x"});
    OK(pawl_submit(p, &job, 1, &api_err));
    check_counts(1, 0);
    CHECK_STR(tree_text(s, job.id), "a:ready b:ready");
    pawl_workflow_free(w);
    close_all(p, s);
}

TEST(task_added_to_a_loaded_workflow_is_refused)
{
    struct store *s = fixture_store();
    struct pawl *p = open_and_count();
    struct pawl_job job = {.params = params};

    OK(pawl_workflow_load(write_file(), NULL, NULL, &job.built, &api_err));
    CHECK(!pawl_workflow_text(job.built));
    pawl_workflow_task(job.built, "b", &(struct pawl_task_keys){.run = "x"});
    CHECK_EQ(pawl_submit(p, &job, 1, &api_err), -PAWL_E_INVALID);
    CHECK(strstr(api_err.message, "nothing can be added"));
    pawl_workflow_free(job.built);
    close_all(p, s);
}
