/* test_json_doc.c - docs/JSON.md and the comment in pawl.h list the fields of the objects that the
 * library writes: both are compared with real objects, field by field and in order. The tables of
 * the page are generated from the nouns (api/noun.h); its prose is not.
 *
 *   PAWL_WRITE_DOCS=1 build/tests/test_json_doc     writes the tables into the page */
#include "api/noun.h"
#include "api_fixture.h"
#include "sql_submission_fixture.h"

#define PAGE   "docs/JSON.md"
#define HEADER "include/pawl.h"

static const char *const yaml = "name: flow\n"
                                "params: {day: {type: string, default: monday}}\n"
                                "vars: {two: 2}\n"
                                "tasks:\n"
                                "  first: {run: ':', retry: 2}\n"
                                "  each: {needs: first, foreach: [a, b], run: ':'}\n"
                                "  bad: {needs: first, run: ':'}\n"
                                "  never: {needs: bad, run: ':'}\n"
                                "  last: {needs: each, run: ':'}\n";

/* ---- fields in the documentation ---- */

static char *read_text(const char *path)
{
    struct buf b = BUF_INIT;
    char bytes[4096];
    FILE *f = fopen(path, "r");
    size_t n;

    if (!f)
        test_fail(__FILE__, __LINE__, "%s can't be read", path);
    while ((n = fread(bytes, 1, sizeof(bytes), f)) > 0)
        buf_add(&b, bytes, n);
    fclose(f);
    return b.ptr;
}

/* The fields of the first table below a heading, each with a space before it. */
static void page_fields(const char *heading, struct buf *out)
{
    char *text = read_text(PAGE), *at = strstr(text, heading), *line, *rest;

    if (!at || !(at = strstr(at, "\n| `")))
        test_fail(__FILE__, __LINE__, "%s has no table below \"%s\"", PAGE, heading);
    for (rest = at + 1; (line = strsep(&rest, "\n")) && !strncmp(line, "| `", 3);) {
        line[3 + strcspn(line + 3, "`")] = 0;
        buf_addf(out, " %s", line + 3);
    }
    free(text);
}

/* The words of an entry of the table in the comment, without those in parentheses. */
static void header_fields(const char *entry, struct buf *out)
{
    char *text = read_text(HEADER), *begin = mem_printf("\n * %s", entry), *word, *rest;
    char *at = strstr(text, begin);
    int depth = 0;

    if (!at)
        test_fail(__FILE__, __LINE__, "%s has no entry \"%s\"", HEADER, entry);
    rest = at + strlen(begin);
    free(begin);
    rest[strcspn(rest, "/")] = 0;
    /* the entry ends where a line starts with a word instead of blanks */
    for (at = rest; (at = strchr(at, '\n')); at++)
        if (strncmp(at + 1, " *                  ", 20)) {
            *at = 0;
            break;
        }
    while ((word = strsep(&rest, " \n*"))) {
        if (*word == '(')
            depth++;
        if (*word && !depth)
            buf_addf(out, " %s", word);
        if (strchr(word, ')'))
            depth--;
    }
    free(text);
}

static void check_fields(const char *heading, const char *entry, const json_t *o)
{
    struct buf page = BUF_INIT, header = BUF_INIT, real = BUF_INIT;
    const char *key;
    json_t *value;

    CHECK(json_is_object(o));
    json_object_foreach((json_t *)o, key, value) buf_addf(&real, " %s", key);
    page_fields(heading, &page);
    CHECK_STR(buf_cstr(&page), buf_cstr(&real));
    if (entry) {
        header_fields(entry, &header);
        CHECK_STR(buf_cstr(&header), buf_cstr(&real));
    }
    buf_release(&page);
    buf_release(&header);
    buf_release(&real);
}

/* ---- objects ---- */

static int keep_last(void *arg, const char *json)
{
    json_t **last = arg;

    json_decref(*last);
    CHECK((*last = json_loads(json, 0, NULL)));
    return 0;
}

static json_t *show(struct pawl *p, int64_t id)
{
    char *json = NULL;

    OK(pawl_show(p, id, &json, &api_err));
    return json_parse_and_free(json);
}

static const char *task_names(const json_t *o, const char *key)
{
    static char text[200];
    const json_t *list = json_object_get(json_object_get(o, "workflow_execution"), key);
    size_t i, used = 0;

    CHECK(json_is_array(list));
    text[0] = 0;
    for (i = 0; i < json_array_size(list) && i < 20; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i ? " " : "",
                                 json_string_value(json_array_get(list, i)));
    return text;
}

/* ---- tests ---- */

/* Adds the page up to the table of a noun, then the table as the noun has it. Returns the rest. */
static const char *add_table(struct buf *b, const struct noun *noun, const char *page)
{
    char *line = mem_printf("\n%s\n", noun->heading);
    const char *at = strstr(page, line);
    size_t i;

    if (!at || !(at = strstr(at, "\n| `")))
        test_fail(__FILE__, __LINE__,
                  "%s has no table below \"%s\", or not in the order of the code", PAGE,
                  noun->heading);
    buf_add(b, page, (size_t)(at + 1 - page));
    for (i = 0; i < noun->n; i++) {
        const struct column *c = &noun->columns[i];

        CHECK(!c->text || !strchr(c->text, '|'));
        buf_addf(b, "| `%s` | %s |%s%s |\n", c->name, c->of_type, c->text ? " " : "",
                 c->text ? c->text : "");
    }
    for (at++; !strncmp(at, "| `", 3); at = strchr(at, '\n') + 1)
        ;
    free(line);
    return at;
}

TEST(tables_on_the_json_page_match_the_code)
{
    struct buf should = BUF_INIT;
    char *page = read_text(PAGE);
    const char *rest = page;
    size_t i;

    for (i = 0; nouns[i]; i++)
        rest = add_table(&should, nouns[i], rest);
    buf_addstr(&should, rest);
    if (getenv("PAWL_WRITE_DOCS")) {
        FILE *f = fopen(PAGE, "w");

        CHECK(f && fputs(buf_cstr(&should), f) >= 0);
        CHECK_EQ(fclose(f), 0);
    } else if (strcmp(page, buf_cstr(&should))) {
        test_fail(__FILE__, __LINE__,
                  "the tables of %s differ from the code: run PAWL_WRITE_DOCS=1 "
                  "build/tests/test_json_doc",
                  PAGE);
    }
    buf_release(&should);
    free(page);
}

static void check_catalogue(struct store *s, struct pawl *p, int64_t workflow)
{
    json_t *last = NULL;
    char *json = NULL;

    apply(s, yaml);
    OK(pawl_applied_list(p, &(struct pawl_applied_query){.name = "flow"}, keep_last, &last, NULL,
                         &api_err));
    check_fields("## An applied workflow", "an applied workflow ", last);
    OK(pawl_applied_show(p, "flow", NULL, &json, &api_err));
    keep_last(&last, json);
    free(json);
    check_fields("## An applied workflow in detail", NULL, last);
    check_fields("### A param of an applied workflow", "  params ",
                 json_array_get(json_object_get(last, "params"), 0));
    check_fields("### A task of an applied workflow", "  tasks ",
                 json_array_get(json_object_get(last, "tasks"), 0));
    OK(pawl_applied_versions(p, "flow", 0, 0, keep_last, &last, NULL, &api_err));
    check_fields("## A workflow version", "a version ", last);
    OK(pawl_definition_of(p, workflow, &json, &api_err));
    keep_last(&last, json);
    free(json);
    check_fields("## A definition", "a definition ", last);
    json_decref(last);
}

TEST(json_page_and_pawl_h_list_every_field_of_the_json_output)
{
    struct store *s = fixture_store();
    int64_t workflow = submit_workflow(s, yaml, NULL);
    struct pawl *p = open_pawl();
    struct pawl_worker_options o = {.folder = "here"};
    struct pawl_worker *w = NULL;
    struct pawl_event_query q = {.execution = workflow};
    json_t *last = NULL, *tree;
    char *json = NULL;

    OK(pawl_tree(p, workflow, &json, &api_err));
    CHECK((tree = json_loads(json, 0, NULL)));
    free(json);
    check_fields("## An execution", "an execution ", tree);
    check_fields("### workflow_execution", "workflow_execution  ",
                 json_object_get(tree, "workflow_execution"));
    check_fields(
        "### workflow_task", "workflow_task ",
        json_object_get(json_array_get(json_object_get(tree, "children"), 0), "workflow_task"));
    json_decref(tree);
    run_workflows(s, " bad ");
    OK(pawl_outline(p, task_of(s, workflow, "each"), keep_last, &last, NULL, &api_err));
    check_fields("## A line of an outline", "a line of an outline ", last);
    check_fields("### items", "  items ", json_object_get(last, "items"));
    OK(pawl_graph_of(p, workflow, "json", 0, &json, &api_err));
    keep_last(&last, json);
    free(json);
    check_fields("## A graph", "a graph ", last);
    check_fields("### A node", "  a node ", json_array_get(json_object_get(last, "nodes"), 0));
    check_fields("### An edge", "  an edge ", json_array_get(json_object_get(last, "edges"), 0));
    OK(pawl_critical(p, workflow, NULL, &json, &api_err));
    keep_last(&last, json);
    free(json);
    check_fields("## A critical path", "a critical path ", last);
    check_fields("### A step", "a step ", json_array_get(json_object_get(last, "steps"), 0));
    OK(pawl_diff(p, workflow, workflow, &json, NULL, &api_err));
    keep_last(&last, json);
    free(json);
    check_fields("## A difference", "a difference ", last);
    check_fields("### A task of both executions", "a task of both ",
                 json_array_get(json_object_get(last, "tasks"), 0));
    OK(pawl_events(p, &q, keep_last, &last, &api_err));
    check_fields("## An event", "an event ", last);
    OK(pawl_queue_limit(p, "default", 1, NULL, NULL, NULL, &api_err));
    OK(pawl_queues(p, keep_last, &last, &api_err));
    check_fields("## A queue", "a queue ", last);
    check_fields("### limit", "  limit ", json_object_get(last, "limit"));
    check_fields("### last_order", "  last_order ", json_object_get(last, "last_order"));
    OK(pawl_queue_pause(p, "default", NULL, "for a test", &api_err));
    OK(pawl_queues(p, keep_last, &last, &api_err));
    check_fields("### paused", "  paused ", json_object_get(last, "paused"));
    apply_schedules(s, "'@daily'");
    OK(pawl_schedule_next(p, "w", 1, keep_last, &last, &api_err));
    check_fields("## A due time", "a due time ", last);
    OK(pawl_schedule_pause(p, "w", NULL, "for a test", &api_err));
    OK(pawl_schedules(p, NULL, keep_last, &last, &api_err));
    check_fields("## A schedule", "a schedule ", last);
    check_fields("### The pause of a schedule", NULL, json_object_get(last, "paused"));
    check_catalogue(s, p, workflow);
    sql_submit(s, (struct sql_call){0});
    OK(pawl_submissions(p, NULL, keep_last, &last, NULL, &api_err));
    check_fields("## A submission", "a submission ", last);
    OK(pawl_token_create(p, &(struct pawl_token){.name = "ci", .scopes = PAWL_SCOPE_READ}, NULL,
                         NULL, &json, &api_err));
    free(json);
    OK(pawl_tokens(p, keep_last, &last, &api_err));
    check_fields("## A token", "a token ", last);
    OK(pawl_hook_create(p, &(struct pawl_hook){.name = "push"}, NULL, NULL, &json, &api_err));
    free(json);
    OK(pawl_hooks(p, keep_last, &last, &api_err));
    check_fields("## A webhook", "a webhook ", last);
    OK(pawl_worker_open(p, &o, &w, &api_err));
    OK(pawl_tick(w, NULL, &api_err));
    OK(pawl_workers(p, keep_last, &last, &api_err));
    check_fields("## A worker", "a worker ", last);
    OK(pawl_queue_resume(p, "default", NULL, NULL, &api_err));
    submit(s, "exec::x");
    claim_job(s, 1);
    OK(pawl_overview(p, NULL, &json, &api_err));
    keep_last(&last, json);
    free(json);
    check_fields("## An overview", "an overview ", last);
    check_fields("### running", "  running ", json_array_get(json_object_get(last, "running"), 0));
    OK(pawl_why(p, workflow, &json, &api_err));
    keep_last(&last, json);
    free(json);
    check_fields("## Why", NULL, last);
    OK(pawl_bulk(p,
                 &(struct pawl_bulk){.action = "rerun",
                                     .filter = &(struct pawl_list_query){.workflow = "flow"},
                                     .dry_run = true},
                 keep_last, &last, NULL, &api_err));
    check_fields("## A bulk action", "a line of a bulk action ", last);
    OK(pawl_counts(p, &(struct pawl_list_query){0}, &json, &api_err));
    keep_last(&last, json);
    free(json);
    check_fields("## Counts", "counts ", last);
    json_decref(last);
    pawl_worker_close(w);
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

TEST(workflow_shows_its_definition_and_variables_and_lists_a_fan_out_as_one_task)
{
    struct store *s = fixture_store();
    int64_t workflow = submit_workflow(s, yaml, "{\"day\": \"friday\"}");
    struct pawl *p = open_pawl();
    const json_t *state, *task;
    json_t *o = show(p, workflow);

    CHECK_STR(task_names(o, "current_tasks"), "first");
    CHECK_STR(task_names(o, "completed_tasks"), "");
    json_decref(o);
    run_workflows(s, " bad ");
    o = show(p, workflow);
    state = json_object_get(o, "workflow_execution");
    CHECK_EQ(strlen(json_string_value(json_object_get(state, "definition"))), 32);
    CHECK_STR(json_string_value(json_object_get(
                  json_object_get(json_object_get(state, "variables"), "params"), "day")),
              "friday");
    CHECK_STR(task_names(o, "current_tasks"), "");
    CHECK_STR(task_names(o, "completed_tasks"), "first each last");
    CHECK_STR(task_names(o, "failed_tasks"), "bad");
    CHECK_STR(task_names(o, "skipped_tasks"), "never");
    CHECK(json_is_false(json_object_get(state, "paused")));
    CHECK(json_is_null(json_object_get(state, "pause_reason")));
    CHECK_STR(json_string_value(json_object_get(state, "error")),
              json_string_value(json_object_get(o, "error")));
    json_decref(o);

    o = show(p, task_of(s, workflow, "each[1]"));
    task = json_object_get(o, "workflow_task");
    CHECK_EQ(json_integer_value(json_object_get(task, "workflow_execution")), workflow);
    CHECK_STR(json_string_value(json_object_get(task, "task_name")), "each");
    CHECK_EQ(json_integer_value(json_object_get(task, "task_index")), 1);
    CHECK(json_is_null(json_object_get(o, "workflow_execution")));
    json_decref(o);
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

/* The lists are the same whether the workflow is read alone or in a tree. */
TEST(list_of_more_than_a_thousand_tasks_is_cut_and_marked_as_incomplete)
{
    struct store *s = fixture_store();
    struct buf big = BUF_INIT;
    struct pawl *p;
    int64_t workflow;
    const json_t *list;
    json_t *o = NULL, *tree;
    char *json = NULL;
    int i;

    buf_addstr(&big, "name: big\ntasks:\n");
    for (i = 0; i < 1200; i++)
        buf_addf(&big, "  t%d: {run: ':'}\n", i);
    workflow = submit_workflow(s, buf_cstr(&big), NULL);
    while (run_timers(s)) /* tasks are created in slices */
        ;
    p = open_pawl();
    o = show(p, workflow);
    list = json_object_get(json_object_get(o, "workflow_execution"), "current_tasks");
    CHECK_EQ(json_array_size(list), 1001);
    CHECK_STR(json_string_value(json_array_get(list, 999)), "t999");
    CHECK_STR(json_string_value(json_array_get(list, 1000)), "…");
    OK(pawl_tree(p, workflow, &json, &api_err));
    CHECK((tree = json_loads(json, 0, NULL)));
    CHECK(json_equal(
        list, json_object_get(json_object_get(tree, "workflow_execution"), "current_tasks")));
    CHECK_EQ(json_array_size(json_object_get(tree, "children")), 1200);
    json_decref(tree);
    free(json);
    json_decref(o);
    buf_release(&big);
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

static int add_name(void *arg, const char *json)
{
    json_t *o = json_loads(json, 0, NULL);

    buf_addf(arg, "%s ", json_string_value(json_object_get(o, "name")));
    json_decref(o);
    return 0;
}

TEST(parent_children_tasks_and_workflow_are_read_with_one_call_each)
{
    struct store *s = fixture_store();
    int64_t workflow = submit_workflow(s, yaml, NULL), item, fan;
    struct buf names = BUF_INIT;
    struct pawl *p;
    char *json = NULL;

    run_workflows(s, " bad ");
    item = task_of(s, workflow, "each[0]");
    fan = task_of(s, workflow, "each");
    p = open_pawl();
    OK(pawl_parent(p, item, &json, &api_err));
    CHECK(strstr(json, "\"name\":\"flow::each\""));
    free(json);
    OK(pawl_workflow(p, item, &json, &api_err));
    CHECK(strstr(json, "\"name\":\"flow\""));
    CHECK(strstr(json, "\"failed_tasks\":[\"bad\"]"));
    free(json);
    CHECK_EQ(pawl_parent(p, workflow, &json, &api_err), -PAWL_E_NOT_FOUND);
    CHECK(strstr(api_err.message, "has no parent"));
    CHECK_EQ(pawl_workflow(p, workflow, &json, &api_err), -PAWL_E_NOT_FOUND);
    CHECK_EQ(pawl_parent(p, 999999, &json, &api_err), -PAWL_E_NOT_FOUND);
    CHECK(strstr(api_err.message, "there is no execution 999999"));

    OK(pawl_children(p, fan, add_name, &names, &api_err));
    CHECK_STR(buf_cstr(&names), "flow::each[0] flow::each[1] ");
    buf_reset(&names);
    OK(pawl_tasks(p, workflow, add_name, &names, &api_err));
    CHECK_STR(buf_cstr(&names), "flow::first flow::each flow::bad flow::never flow::last "
                                "flow::each[0] flow::each[1] ");
    CHECK_EQ(pawl_tasks(p, item, add_name, &names, &api_err), -PAWL_E_INVALID);
    CHECK_EQ(pawl_children(p, 999999, add_name, &names, &api_err), -PAWL_E_NOT_FOUND);
    buf_release(&names);
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}
