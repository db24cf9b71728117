/* test_catalogue.c - the catalogue of applied workflows: list, show, versions, source texts. */
#include "catalogue_fixture.h"

/* ---- list ---- */

TEST(catalogue_lists_each_applied_workflow_with_its_counts_and_its_newest_run)
{
    struct catalogue c = open_catalogue();
    struct pawl_job job = {.applied = "nightly", .params = PAWL_LIST("day=1")};
    struct pawl_applied a = apply_yaml(&c, NIGHTLY);
    json_t *all, *one;

    apply_named(&c, "idle", "x");
    OK(pawl_submit(c.p, &job, 1, &api_err));
    OK(pawl_submit(c.p, &job, 1, &api_err));
    all = list(&c, NULL, NULL);
    CHECK_STR(texts_of(all, "name"), "idle nightly ");
    one = json_array_get(all, 0);
    CHECK(json_is_null(json_object_get(one, "last_run")));
    CHECK(json_is_null(json_object_get(one, "last_status")));
    CHECK(json_is_null(json_object_get(one, "description")));
    one = json_array_get(all, 1);
    CHECK_STR(text_in(one, "description"), "Loads a day.");
    CHECK_STR(text_in(one, "definition"), a.definition.hash);
    CHECK_EQ(number_in(one, "task_count"), 3);
    CHECK_EQ(number_in(one, "param_count"), 2);
    CHECK_EQ(number_in(one, "schedule_count"), 1);
    CHECK_STR(text_in(one, "applied_by"), "ada");
    CHECK_EQ(number_in(one, "last_run"), job.id);
    CHECK_STR(text_in(one, "last_status"), "running");
    CHECK(json_is_string(json_object_get(one, "last_started_at")));
    CHECK(json_is_null(json_object_get(one, "last_finished_at")));
    json_decref(all);
    close_catalogue(&c);
}

TEST(newest_run_of_an_applied_workflow_is_the_newest_root_execution_with_its_name)
{
    struct catalogue c = open_catalogue();
    struct pawl_job job = {.applied = "w"};
    struct pawl_job child = {.yaml = "name: w\ntasks: {b: {run: x}}\n"};
    json_t *all;

    apply_named(&c, "w", "one");
    OK(pawl_submit(c.p, &job, 1, &api_err));
    apply_named(&c, "w", "two");
    child.parent = job.id; /* part of another tree */
    OK(pawl_submit(c.p, &child, 1, &api_err));
    all = list(&c, NULL, NULL);
    CHECK_EQ(number_in(json_array_get(all, 0), "last_run"), job.id);
    json_decref(all);
    close_catalogue(&c);
}

TEST(catalogue_is_listed_in_pages_by_name_and_filtered_by_a_glob)
{
    struct catalogue c = open_catalogue();
    struct pawl_applied_query q = {.limit = 2};
    bool more = false;
    json_t *all;

    apply_named(&c, "d_1", "x");
    apply_named(&c, "a", "x");
    apply_named(&c, "dx1", "x");
    apply_named(&c, "c", "x");
    all = list(&c, &q, &more);
    CHECK_STR(texts_of(all, "name"), "a c ");
    CHECK(more);
    json_decref(all);
    q.after = "c";
    all = list(&c, &q, &more);
    CHECK_EQ(json_array_size(all), 2);
    CHECK(!more);
    json_decref(all);
    all =
        list(&c, &(struct pawl_applied_query){.name = "d_*"}, &more); /* _ is an ordinary letter */
    CHECK_STR(texts_of(all, "name"), "d_1 ");
    json_decref(all);
    all = list(&c, &(struct pawl_applied_query){.name = "d?1", .limit = 1}, &more);
    CHECK_EQ(json_array_size(all), 1);
    CHECK(more);
    json_decref(all);
    close_catalogue(&c);
}

/* ---- show ---- */

TEST(applied_workflow_is_shown_with_params_tasks_schedules_document_and_source)
{
    struct catalogue c = open_catalogue();
    json_t *o, *one;

    apply_yaml(&c, NIGHTLY);
    o = show(&c, "nightly", NULL);
    CHECK(json_is_true(json_object_get(o, "current")));
    CHECK_STR(texts_of(json_object_get(o, "params"), "name"), "day n ");
    CHECK_STR(texts_of(json_object_get(o, "params"), "type"), "string integer ");
    one = json_array_get(json_object_get(o, "params"), 0);
    CHECK(json_is_true(json_object_get(one, "required")));
    CHECK(json_is_null(json_object_get(one, "default")));
    CHECK_STR(text_in(one, "description"), "the day");
    one = json_array_get(json_object_get(o, "params"), 1);
    CHECK(json_is_false(json_object_get(one, "required")));
    CHECK_EQ(number_in(one, "default"), 3);
    CHECK_STR(texts_of(json_object_get(o, "tasks"), "name"), "get each ask on_exit ");
    CHECK_STR(texts_of(json_object_get(o, "tasks"), "kind"), "command function command command ");
    one = json_array_get(json_object_get(o, "tasks"), 2);
    CHECK_EQ(json_array_size(json_object_get(one, "needs")), 2);
    CHECK_STR(json_string_value(json_array_get(json_object_get(one, "needs"), 1)), "each");
    CHECK(json_is_true(json_object_get(one, "approval")));
    CHECK_STR(text_in(one, "if"), "always()");
    CHECK_STR(text_in(one, "queue"), "q");
    CHECK_STR(texts_of(json_object_get(o, "schedules"), "schedule"), "nightly/1 ");
    CHECK_STR(text_in(json_object_get(o, "document"), "name"), "nightly");
    CHECK_STR(text_in(o, "source"), NIGHTLY);
    json_decref(o);
    close_catalogue(&c);
}

/* Writes a file into the folder of the test. */
static const char *write_text(const char *name, const char *text)
{
    static char path[4][600];
    static unsigned n;
    char *out = path[n++ % 4];
    FILE *f;

    snprintf(out, sizeof(path[0]), "%s/%s", test_dir(), name);
    CHECK((f = fopen(out, "w")));
    CHECK(fputs(text, f) >= 0);
    fclose(f);
    return out;
}

TEST(source_of_a_workflow_with_a_nested_file_is_the_text_of_the_outer_file)
{
    static const char outer[] =
        "name: outer # with a comment\ntasks: {a: {workflow: inner.yaml}}\n";
    struct catalogue c = open_catalogue();
    const char *file = write_text("outer.yaml", outer);
    struct pawl_workflow *w = NULL;
    json_t *o;

    write_text("inner.yaml", "name: inner\ntasks: {b: {run: x}}\n");
    OK(pawl_apply(c.p, file, NULL, NULL, &api_err));
    check_source(&c, "outer", outer);
    o = show(&c, "outer", NULL);
    CHECK_STR(texts_of(json_object_get(o, "tasks"), "workflow"), "inner ");
    json_decref(o);
    OK(pawl_applied_delete(c.p, "outer", NULL, NULL, NULL, NULL, &api_err));
    OK(pawl_workflow_load(file, NULL, NULL, &w, &api_err));
    OK(pawl_apply_built(c.p, w, NULL, NULL, &api_err));
    check_source(&c, "outer", outer);
    pawl_workflow_free(w);
    close_catalogue(&c);
}

TEST(source_of_a_built_workflow_is_its_text_as_a_file)
{
    struct pawl_workflow *w = pawl_workflow_new(&(struct pawl_workflow_keys){.name = "built"});
    struct catalogue c = open_catalogue();

    pawl_workflow_task(w, "a", &(struct pawl_task_keys){.run = "x"});
    OK(pawl_apply_built(c.p, w, NULL, NULL, &api_err));
    check_source(&c, "built", pawl_workflow_text(w));
    pawl_workflow_free(w);
    close_catalogue(&c);
}

TEST(source_is_replaced_if_only_a_comment_changes)
{
    struct catalogue c = open_catalogue();
    json_t *all;

    apply_named(&c, "w", "x");
    CHECK(apply_yaml(&c, "name: w\ntasks: {a: {run: x}}\n# better\n").unchanged);
    check_source(&c, "w", "name: w\ntasks: {a: {run: x}}\n# better\n");
    all = versions(&c, "w");
    CHECK_EQ(json_array_size(all), 1);
    json_decref(all);
    close_catalogue(&c);
}

/* ---- versions ---- */

TEST(version_is_added_only_if_the_definition_changes)
{
    struct catalogue c = open_catalogue();
    struct pawl_applied one = apply_named(&c, "w", "one"), two;
    json_t *all = NULL, *o;
    bool more;

    apply_named(&c, "other", "one");
    CHECK(apply_named(&c, "w", "one").unchanged);
    two = apply_named(&c, "w", "two");
    apply_named(&c, "w", "one");
    all = versions(&c, "w");
    CHECK_EQ(json_array_size(all), 3);
    for (size_t i = 0; i < 3; i++) {
        o = json_array_get(all, i);
        CHECK_EQ(number_in(o, "version"), 3 - (int64_t)i);
        CHECK_STR(text_in(o, "definition"), (i == 1 ? two : one).definition.hash);
        CHECK_EQ(json_is_true(json_object_get(o, "current")), i == 0);
        CHECK_EQ(number_in(o, "task_count"), 1);
        CHECK_STR(text_in(o, "applied_by"), "ada");
    }
    json_array_clear(all);
    OK(pawl_applied_versions(c.p, "w", 3, 1, keep_line, all, &more, &api_err));
    CHECK_EQ(json_array_size(all), 1);
    CHECK_EQ(number_in(json_array_get(all, 0), "version"), 2);
    CHECK(more);
    json_decref(all);
    close_catalogue(&c);
}

TEST(earlier_version_is_shown_with_its_own_text)
{
    struct catalogue c = open_catalogue();
    struct pawl_applied one = apply_named(&c, "w", "one");
    json_t *o;

    apply_yaml(&c, "name: w\ntasks: {a: {run: two}, b: {run: x}}\n");
    o = show(&c, "w", one.definition.hash);
    CHECK(json_is_false(json_object_get(o, "current")));
    CHECK_STR(text_in(o, "definition"), one.definition.hash);
    CHECK_EQ(number_in(o, "task_count"), 1);
    CHECK_STR(texts_of(json_object_get(o, "tasks"), "name"), "a ");
    CHECK_STR(text_in(o, "source"), "name: w\ntasks: {a: {run: one}}\n");
    json_decref(o);
    check_missing(try_show(&c, "w", "0123"), "has no version 0123");
    check_missing(try_show(&c, "ww", NULL), "did you mean w?");
    check_missing(try_show(&c, "nothing", one.definition.hash), "`pawl apply FILE` adds one");
    close_catalogue(&c);
}

TEST(version_is_removed_with_its_definition_by_retention)
{
    struct catalogue c = open_catalogue();
    json_t *all;

    apply_named(&c, "w", "one");
    apply_named(&c, "w", "two");
    apply_named(&c, "gone", "x");
    OK(pawl_applied_delete(c.p, "gone", NULL, NULL, NULL, NULL, &api_err));
    clock_advance(DAY);
    retain(c.s, 0);
    CHECK_EQ(sql_number(c.s, "SELECT count(*) FROM workflow_applications"), 3);
    clock_advance(2 * DAY);
    retain(c.s, 0);
    all = versions(&c, "w");
    CHECK_EQ(json_array_size(all), 1);
    CHECK_EQ(number_in(json_array_get(all, 0), "version"), 2);
    json_decref(all);
    CHECK_EQ(sql_number(c.s, "SELECT count(*) FROM workflow_applications"), 1);
    CHECK_EQ(sql_number(c.s, "SELECT count(*) FROM workflow_definitions"), 1);
    apply_named(&c, "w", "one"); /* stored anew, and numbered on */
    all = versions(&c, "w");
    CHECK_EQ(number_in(json_array_get(all, 0), "version"), 3);
    json_decref(all);
    close_catalogue(&c);
}
