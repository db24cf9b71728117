/* test_build.c - workflows built in C: every key of the format can be built, with the same result
 * as in a file. */
#include "api/build_keys.h"
#include "api_fixture.h"
#include "workflow_fixture.h"

#define HOUR (3600 * SECOND)

static void close_all(struct pawl *p, struct store *s)
{
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

/* ---- every key ---- */

/* Keys named in `but` have their own builder function. */
static void check_keys_can_be_built(const struct keys *keys, const char *but)
{
    const struct key *k;

    KEYS_EACH(keys, k)
    if (!strstr(but, k->name) != build_has(keys, k))
        test_fail(__FILE__, __LINE__, "%s: %s can't be built", keys->title, k->name);
}

TEST(every_key_in_the_key_tables_can_be_set_by_the_c_builder)
{
    check_keys_can_be_built(&keys_workflow, "params on tasks");
    check_keys_can_be_built(&keys_task, "");
    check_keys_can_be_built(&keys_param, "");
    check_keys_can_be_built(&keys_schedule, "");
    check_keys_can_be_built(&keys_webhook, "");
    check_keys_can_be_built(&keys_follow, "");
    check_keys_can_be_built(&keys_retry, "");
    check_keys_can_be_built(&keys_limits, "");
    check_keys_can_be_built(&keys_concurrency, "");
    check_keys_can_be_built(&keys_approval, "");
    check_keys_can_be_built(&keys_container, "");
}

/* The workflow built below, as a file, line by line. Each param, schedule and task has the same
 * line number as in the built text, because errors name locations and so locations are part of the
 * hash. */
static const char whole_yaml[] =
    "# a file\n"
    "name: whole\n"
    "description: 'all of it: \"quoted\", #1'\n"
    "vars: {region: \"${{ params.day }}-eu\", list: [1, 2.5, null, {a: true}]}\n"
    "env: {A: '1', B: x=y, C: ''}\n"
    "timeout: 2h\n"
    "queue: night\n"
    "priority: 7\n"
    "shell: dash -e\n"
    "concurrency: {key: \"k-${{ params.day }}\", max: 3}\n"
    "secrets: [TOKEN, PASSWORD]\n"
    "defaults: {env: {D: d}, cwd: /tmp, user: nobody, limits: {memory: 64MB, files: 100}, container: "
    "alpine, retry: 2, timeout: 10m, queue: early, priority: -3, executor: box}\n"
    "outputs: {total: \"${{ tasks.each.outputs }}\"}\n"
    "on_failure:  {function: page, description: tells}\n"
    "on_exit:  ./clean.sh\n"
    "params:\n"
    "  day: {type: string, required: true, description: which}\n"
    "  n: 3\n"
    "  list: {default: [1, \"two\"]}\n"
    "on: {schedule: [\n"
    "  {name: nightly, cron: '0 2 * * *', tz: Europe/Berlin, catchup: 6h, overlap: queue, jitter: "
    "90s, start: 2026-01-31, end: 2027-01-31T14:00:00Z, with: {day: x}},\n"
    "  {cron: '@daily', catchup: last, with: {day: y}}],\n"
    " webhook: [\n"
    "  {name: push, with: {day: \"${{ trigger.body.day }}\"}}],\n"
    " workflow: [\n"
    "  {name: early, status: failed, with: {day: \"${{ trigger.status }}\"}}]}\n"
    "tasks:\n"
    "  first: {run: \"./a.sh \\\"$day\\\"\\n# two\\n\", shell: [bash, -e -u], outputs: [files, n], retry: {max: 5, delay: "
    "1500ms, backoff: 1.5, max_delay: 1h, jitter: 0.25, codes: [75, 111]}, limits: {memory: 2000000, "
    "cpu: 30s, files: 64, pids: 10}, secrets: OTHER, user: '1000', cwd: /var, stdin: \"${{ "
    "params.day }}\", env: {X: y}, queue: q, executor: slow, timeout: 250ms}\n"
    "  each: {needs: first, if: \"success() || failure()\", foreach: \"${{ "
    "tasks.first.outputs.files }}\", max_parallel: 4, fail_fast: true, allow_failure: true, argv: "
    "[/bin/echo, \"${{ item }}\"], container: {image: debian, pull: never, network: none, volumes: "
    "['/a:/b:ro'], options: [--init]}, priority: 0, concurrency: each, delay: 5s}\n"
    "  three: {foreach: 3, function: f, with: {i: \"${{ index }}\", deep: {a: [1, {b: null}]}}, retry: "
    "0, description: ''}\n"
    "  listed: {foreach: [1, two], run: x, container: {}}\n"
    "  ask: {needs: [first, each, three], join: any, approval: {message: 'go?', timeout: 1d}, run: x}\n"
    "  wait: {needs: [first, each], join: 2, approval: true, run: x, concurrency: {key: k, max: 2}}\n"
    "  below: {needs: ask, workflow: %s/child.flow.yaml, with: {a: 1}, timeout: 1h}\n";

static struct pawl_workflow *whole_keys(void)
{
    struct pawl_task_keys defaults = {.env = PAWL_LIST("D=d"),
                                      .cwd = "/tmp",
                                      .user = "nobody",
                                      .memory = 64000000,
                                      .files = 100,
                                      .container = &(struct pawl_container_keys){.image = "alpine"},
                                      .retries = 2,
                                      .timeout = 600 * SECOND,
                                      .queue = "early",
                                      .priority = -3,
                                      .executor = "box"};

    return pawl_workflow_new(&(struct pawl_workflow_keys){
        .name = "whole",
        .description = "all of it: \"quoted\", #1",
        .vars = "{\"region\": \"${{ params.day }}-eu\",\n \"list\": [1, 2.5, null, {\"a\": true}]}",
        .env = PAWL_LIST("A=1", "B=x=y", "C="),
        .timeout = 2 * HOUR,
        .queue = "night",
        .priority = 7,
        .shell = PAWL_LIST("dash", "-e"),
        .concurrency = "k-${{ params.day }}",
        .concurrency_max = 3,
        .secrets = PAWL_LIST("TOKEN", "PASSWORD"),
        .defaults = &defaults,
        .outputs = "{\"total\": \"${{ tasks.each.outputs }}\"}",
        .on_failure = &(struct pawl_task_keys){.function = "page", .description = "tells"},
        .on_exit = &(struct pawl_task_keys){.run = "./clean.sh"},
    });
}

static void whole_lists(struct pawl_workflow *w)
{
    pawl_workflow_param(
        w, "day",
        &(struct pawl_param_keys){.type = "string", .required = true, .description = "which"});
    pawl_workflow_param(w, "n", &(struct pawl_param_keys){.value = "3"});
    pawl_workflow_param(w, "list", &(struct pawl_param_keys){.value = "[1, \"two\"]"});
    pawl_workflow_schedule(w, &(struct pawl_schedule_keys){.name = "nightly",
                                                           .cron = "0 2 * * *",
                                                           .tz = "Europe/Berlin",
                                                           .catchup = 6 * HOUR,
                                                           .overlap = "queue",
                                                           .jitter = 90 * SECOND,
                                                           .start = 1769817600 * SECOND,
                                                           .end = 1801404000 * SECOND,
                                                           .with = "{\"day\": \"x\"}"});
    pawl_workflow_schedule(w, &(struct pawl_schedule_keys){
                                  .cron = "@daily", .catchup = -1, .with = "{\"day\": \"y\"}"});
    pawl_workflow_webhook(w, &(struct pawl_webhook_keys){
                                 .name = "push", .with = "{\"day\": \"${{ trigger.body.day }}\"}"});
    pawl_workflow_follow(
        w, &(struct pawl_follow_keys){.name = "early",
                                      .status = "failed",
                                      .with = "{\"day\": \"${{ trigger.status }}\"}"});
}

static void whole_commands(struct pawl_workflow *w)
{
    static const int codes[] = {75, 111};
    struct pawl_container_keys box = {.image = "debian",
                                      .pull = "never",
                                      .network = "none",
                                      .volumes = PAWL_LIST("/a:/b:ro"),
                                      .options = PAWL_LIST("--init")};
    struct pawl_task_keys first = {.run = "./a.sh \"$day\"\n# two\n",
                                   .shell = PAWL_LIST("bash", "-e -u"),
                                   .outputs = PAWL_LIST("files", "n"),
                                   .retries = 5,
                                   .retry = {.delay = 1500000,
                                             .backoff = 1.5,
                                             .max_delay = HOUR,
                                             .jitter = 0.25,
                                             .codes = codes,
                                             .ncodes = 2},
                                   .memory = 2000000,
                                   .cpu = 30 * SECOND,
                                   .files = 64,
                                   .pids = 10,
                                   .secrets = PAWL_LIST("OTHER"),
                                   .user = "1000",
                                   .cwd = "/var",
                                   .input = "${{ params.day }}",
                                   .env = PAWL_LIST("X=y"),
                                   .queue = "q",
                                   .executor = "slow",
                                   .timeout = 250000};
    struct pawl_task_keys each = {.needs = PAWL_LIST("first"),
                                  .condition = "success() || failure()",
                                  .foreach = "${{ tasks.first.outputs.files }}",
                                  .max_parallel = 4,
                                  .fail_fast = true,
                                  .allow_failure = true,
                                  .argv = PAWL_LIST("/bin/echo", "${{ item }}"),
                                  .container = &box,
                                  .has_priority = true,
                                  .concurrency = "each",
                                  .delay = 5 * SECOND};

    pawl_workflow_task(w, "first", &first);
    pawl_workflow_task(w, "each", &each);
}

static void whole_others(struct pawl_workflow *w, const char *child)
{
    struct pawl_task_keys three = {
        .foreach = "3",
        .function = "f",
        .with = "{\"i\": \"${{ index }}\", \"deep\": {\"a\": [1, {\"b\": null}]}}",
        .retries = -1,
        .description = ""};
    struct pawl_task_keys listed = {
        .foreach = "[1, \"two\"]", .run = "x", .container = &(struct pawl_container_keys){0}};
    struct pawl_task_keys ask = {
        .needs = PAWL_LIST("first", "each", "three"),
        .join = 1,
        .approval = &(struct pawl_approval_keys){.message = "go?", .timeout = 24 * HOUR},
        .run = "x"};
    struct pawl_task_keys wait = {.needs = PAWL_LIST("first", "each"),
                                  .join = 2,
                                  .approval = &(struct pawl_approval_keys){0},
                                  .run = "x",
                                  .concurrency = "k",
                                  .concurrency_max = 2};

    pawl_workflow_task(w, "three", &three);
    pawl_workflow_task(w, "listed", &listed);
    pawl_workflow_task(w, "ask", &ask);
    pawl_workflow_task(w, "wait", &wait);
    pawl_workflow_task(
        w, "below",
        &(struct pawl_task_keys){
            .needs = PAWL_LIST("ask"), .workflow = child, .with = "{\"a\": 1}", .timeout = HOUR});
}

/* Builds the workflow and stores its file form in *yaml; the caller frees both. */
static struct pawl_workflow *whole(char **yaml)
{
    char child[4096];
    struct pawl_workflow *w = whole_keys();
    FILE *f;

    snprintf(child, sizeof(child), "%s/child.flow.yaml", test_dir());
    f = fopen(child, "we");
    CHECK(f);
    fputs("name: child\nparams: {a: 0}\ntasks: {x: 'true'}\n", f);
    CHECK_EQ(fclose(f), 0);
    whole_lists(w);
    whole_commands(w);
    whole_others(w, child);
    CHECK(asprintf(yaml, whole_yaml, test_dir()) > 0);
    return w;
}

TEST(workflow_built_in_c_equals_the_same_workflow_read_from_a_file)
{
    char *yaml, *built, *written;
    struct pawl_workflow *w = whole(&yaml);
    struct pawl_definition d = {0}, again = {0};

    built = (char *)workflow_text(pawl_workflow_text(w));
    written = (char *)workflow_text(yaml);
    CHECK_STR(built, written);
    OK(pawl_workflow_check(w, NULL, NULL, &d, &api_err));
    CHECK_EQ(d.tasks, 7);
    CHECK_EQ(d.nested, 1);
    CHECK_EQ(d.schedules, 2);
    pawl_workflow_free(w);
    free(yaml);
    w = whole(&yaml);
    OK(pawl_workflow_check(w, NULL, NULL, &again, &api_err));
    CHECK_STR(again.hash, d.hash);
    pawl_workflow_free(w);
    free(yaml);
    free(built);
    free(written);
}

TEST(workflow_applied_as_text_and_built_in_c_is_stored_as_one_definition)
{
    static const char yaml[] = "# a file\n"
                               "name: w\n"
                               "params:\n"
                               "  n: 3\n"
                               "on: {schedule: [\n"
                               "  '@daily']}\n"
                               "tasks:\n"
                               "  a: ./a.sh\n"
                               "  b: {needs: a, function: f, with: {n: \"${{ params.n }}\"}}\n";
    struct pawl_workflow *w = pawl_workflow_new(&(struct pawl_workflow_keys){.name = "w"});
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    struct pawl_applied a = {0}, b = {0};
    struct pawl_job job = {.applied = "w"};

    pawl_workflow_param(w, "n", &(struct pawl_param_keys){.value = "3"});
    pawl_workflow_schedule(w, &(struct pawl_schedule_keys){.cron = "@daily"});
    pawl_workflow_task(w, "a", &(struct pawl_task_keys){.run = "./a.sh"});
    pawl_workflow_task(w, "b",
                       &(struct pawl_task_keys){.needs = PAWL_LIST("a"),
                                                .function = "f",
                                                .with = "{\"n\": \"${{ params.n }}\"}"});
    OK(pawl_apply_text(p, yaml, "me", &a, &api_err));
    OK(pawl_apply_built(p, w, "me", &b, &api_err));
    CHECK_STR(b.definition.hash, a.definition.hash);
    CHECK(b.unchanged);
    CHECK_EQ(b.kept, 1);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM workflow_definitions"), 1);
    OK(pawl_submit(p, &job, 1, &api_err));
    CHECK_STR(tree_text(s, job.id), "a:ready b:pending");
    pawl_workflow_free(w);
    close_all(p, s);
}

/* ---- texts ---- */

TEST(text_in_a_built_workflow_is_preserved_exactly)
{
    static const char *const texts[] = {"",
                                        " ",
                                        "no",
                                        "~",
                                        "17",
                                        "1e3",
                                        "- a",
                                        "a: b",
                                        "# x",
                                        "\"q\"",
                                        "'",
                                        "\\n\\u",
                                        "two\nlines\n",
                                        "\ttab\r\n",
                                        "\x01\x1b\x7f",
                                        "\xC2\x85n",
                                        "\xE2\x80\xA8",
                                        "\xEF\xBB\xBF",
                                        "\xEF\xBF\xBE",
                                        "\xF0\x9F\x98\x80 ü",
                                        "$${{ x",
                                        "*a &b !c",
                                        "{[,]}",
                                        "%YAML",
                                        "---",
                                        "@`|>",
                                        "<<"};
    struct diagnostics diagnostics = DIAGNOSTICS_INIT;
    struct arena arena = ARENA_INIT;
    const struct workflow *read;
    struct err err;
    size_t i;

    for (i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct pawl_workflow *w = pawl_workflow_new(&(struct pawl_workflow_keys){.name = "w"});
        struct pawl_task_keys t = {.argv = PAWL_LIST("x", texts[i]), .input = texts[i]};
        const char *text;

        pawl_workflow_task(w, "t", &t);
        text = pawl_workflow_text(w);
        CHECK_OK_ERR(workflow_parse(diagnostics_take(&diagnostics, "w", text, strlen(text)), NULL,
                                    &diagnostics, &arena, &read, &err),
                     &err);
        CHECK_STR(read->tasks[0].command.argv[1], texts[i]);
        CHECK_STR(read->tasks[0].command.input, texts[i]);
        pawl_workflow_free(w);
    }
    diagnostics_release(&diagnostics);
    arena_release(&arena);
}

TEST(json_in_a_built_workflow_is_written_on_one_line)
{
    struct pawl_workflow *w = pawl_workflow_new(&(struct pawl_workflow_keys){
        .name = "w", .vars = "{\"a\":\n\"\\ud83d\\ude00 \\/ \\u2028\", \"b\": 1.25}"});

    char *text;

    pawl_workflow_task(w, "t", &(struct pawl_task_keys){.run = "x"});
    text = (char *)workflow_text(pawl_workflow_text(w));
    CHECK(strstr(text, "\"a\":\"\xF0\x9F\x98\x80 / \xE2\x80\xA8\",\"b\":1.25"));
    free(text);
    pawl_workflow_free(w);
}

TEST(text_of_a_built_workflow_has_one_task_per_line)
{
    struct pawl_workflow *w = pawl_workflow_new(&(struct pawl_workflow_keys){.name = "w"});

    pawl_workflow_param(w, "n", &(struct pawl_param_keys){.value = "1"});
    pawl_workflow_task(w, "a", &(struct pawl_task_keys){.run = "x"});
    pawl_workflow_task(w, "b", &(struct pawl_task_keys){.run = "y", .needs = PAWL_LIST("a")});
    CHECK_STR(pawl_workflow_text(w), "{\n\"name\":\"w\",\n\"params\":{\n  \"n\":{\"default\":1}},\n"
                                     "\"tasks\":{\n  \"a\":{\"run\":\"x\"},\n"
                                     "  \"b\":{\"run\":\"y\",\"needs\":[\"a\"]}}\n}\n");
    pawl_workflow_free(w);
}

/* ---- submitting ---- */

static int submit_in(struct pawl_tx *tx, void *arg)
{
    return pawl_tx_submit(tx, arg, 1, &api_err);
}

TEST(built_workflow_submitted_twice_with_one_idempotency_key_creates_one_execution)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    struct pawl_workflow *w = pawl_workflow_new(&(struct pawl_workflow_keys){.name = "w"});
    struct pawl_job job = {.built = w, .key = "k", .params = PAWL_LIST("n=7")}, again = job,
                    other = {.built = w};

    pawl_workflow_param(w, "n", &(struct pawl_param_keys){.type = "integer"});
    pawl_workflow_task(w, "a", &(struct pawl_task_keys){.run = "x"});
    pawl_workflow_task(w, "b", &(struct pawl_task_keys){.run = "y", .needs = PAWL_LIST("a")});
    OK(pawl_submit(p, &job, 1, &api_err));
    OK(pawl_submit(p, &again, 1, &api_err));
    CHECK(again.existed);
    CHECK_EQ(again.id, job.id);
    CHECK_STR(get(s, job.id).input, "{\"n\":7}");
    if (!strcmp(test_db(), "sqlite"))
        OK(pawl_transaction(p, submit_in, &other, &api_err));
    else
        OK(pawl_submit(p, &other, 1, &api_err));
    pawl_workflow_free(w);
    run_workflows(s, " a ");
    CHECK_STR(tree_text(s, job.id), "a:failed b:skipped");
    CHECK_EQ(status_of(s, other.id), S_FAILED);
    close_all(p, s);
}
