/* test_custom_executor_workflow.c - tasks of a workflow that have no command, only a custom
 * executor: their typed input, what else the executor is told, and their outputs. */
#include "custom_executor_fixture.h"

TEST_THREADED;

#define SEEN_MAX 16

/* A copy of what the executor got, because its strings end with the call. */
static struct seen {
    struct pawl_task t;
    char input[300], item[100], workflow_name[50], task_name[50], queue[50], name[100], tenant[50],
        secrets[100];
    bool has_item, has_workflow_name, has_task_name, has_input;
} seen[SEEN_MAX];
static int nseen;

static bool copy(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from ? from : "");
    return from;
}

static void note_task(const struct pawl_task *t)
{
    struct seen *s = &seen[nseen++];

    CHECK(nseen < SEEN_MAX);
    *s = (struct seen){.t = *t};
    s->has_input = copy(s->input, sizeof(s->input), t->input);
    s->has_item = copy(s->item, sizeof(s->item), t->item);
    s->has_workflow_name = copy(s->workflow_name, sizeof(s->workflow_name), t->workflow_name);
    s->has_task_name = copy(s->task_name, sizeof(s->task_name), t->task_name);
    copy(s->queue, sizeof(s->queue), t->queue);
    copy(s->name, sizeof(s->name), t->name);
    copy(s->tenant, sizeof(s->tenant), t->tenant);
    for (size_t i = 0; t->command.secrets && t->command.secrets[i]; i++)
        copy(s->secrets + strlen(s->secrets), 50, t->command.secrets[i]);
}

static int64_t submit_yaml(struct engine_run *w, struct pawl_job job)
{
    OK(pawl_submit(w->p, &job, 1, &err));
    return job.id;
}

#define FOUR_SLOTS                             \
    "executors: {process: {enabled: false}}\n" \
    "worker: {slots: 4, queues: [default, graphics]}\n"

TEST(task_without_a_command_passes_its_values_with_their_types_to_its_executor)
{
    struct recorder recorder = {.on_start = note_task};
    struct pawl_executor x = recorder_executor(&recorder);
    struct engine_run w = open_run(&x, FOUR_SLOTS);
    int64_t id = submit_yaml(
        &w, (struct pawl_job){.yaml = "name: night\n"
                                      "params: {day: {type: string, required: true}, n: 3}\n"
                                      "secrets: [TOKEN]\n"
                                      "tasks:\n"
                                      "  train:\n"
                                      "    executor: lab\n"
                                      "    with: {model: x, n: '${{ params.n }}', deep: {list: [1, "
                                      "2.5, null, true]}, day: '${{ params.day }}'}\n"
                                      "    queue: graphics\n"
                                      "    priority: 7\n"
                                      "    timeout: 1h\n"
                                      "    retry: 2\n"
                                      "    limits: {memory: 1GB}\n"
                                      "  bare: {executor: lab, needs: train}\n",
                              .input = "{\"day\":\"2026-01-31\"}"});
    const struct seen *s = &seen[0];
    int64_t now;

    UNTIL(&w, recorder.nbegun == 1);
    now = clock_boot_us();
    CHECK_STR(s->input, "{\"model\":\"x\",\"n\":3,\"deep\":{\"list\":[1,2.5,null,true]},\"day\":"
                        "\"2026-01-31\"}");
    CHECK_STR(s->name, "night::train");
    CHECK_STR(s->workflow_name, "night");
    CHECK_STR(s->task_name, "train");
    CHECK_STR(s->queue, "graphics");
    CHECK_STR(s->tenant, fixture_tenant() ? fixture_tenant() : "");
    CHECK_EQ(s->t.root, id);
    CHECK_EQ(s->t.parent, id);
    CHECK_EQ(s->t.workflow, id);
    CHECK_EQ(s->t.index, -1);
    CHECK(!s->has_item);
    CHECK_EQ(s->t.priority, 7);
    CHECK_EQ(s->t.id.attempt, 1);
    CHECK_EQ(s->t.max_attempts, 3);
    CHECK(s->t.epoch > 0);
    CHECK(s->t.deadline > now && s->t.deadline <= now + 3600 * SECOND);
    CHECK(!s->t.command.run && !s->t.command.argv);
    CHECK_EQ(s->t.command.memory, 1000000000);
    CHECK_STR(s->secrets, "TOKEN");
    done(recorder.begun[0], "{\"loss\":0.25,\"tags\":[\"a\"]}");
    UNTIL(&w, recorder.nbegun == 2);
    CHECK_STR(seen[1].input, "{\"day\":\"2026-01-31\",\"n\":3}"); /* without `with`: the params */
    CHECK_EQ(seen[1].t.deadline, 0);
    done(recorder.begun[1], NULL);
    UNTIL(&w, status_of(w.s, id) == S_SUCCEEDED);
    close_run(&w);
}

TEST(outputs_of_a_task_without_a_command_keep_their_types_and_only_the_named_ones_are_kept)
{
    struct recorder recorder = {.on_start = note_task};
    struct pawl_executor x = recorder_executor(&recorder);
    struct engine_run w = open_run(&x, FOUR_SLOTS);
    int64_t id = submit_yaml(
        &w,
        (struct pawl_job){
            .yaml = "name: w\n"
                    "tasks:\n"
                    "  a: {executor: lab, with: {n: 1}, outputs: [loss, tags]}\n"
                    "  b: {executor: lab, needs: a, with: {loss: '${{ tasks.a.outputs.loss }}', "
                    "first: '${{ tasks.a.outputs.tags[0] }}'}}\n"
                    "outputs: {all: '${{ tasks.a.outputs }}'}\n"});

    UNTIL(&w, recorder.nbegun == 1);
    done(recorder.begun[0], "{\"loss\":0.25,\"other\":1,\"tags\":[\"a\"]}");
    UNTIL(&w, recorder.nbegun == 2);
    CHECK_STR(seen[1].input, "{\"loss\":0.25,\"first\":\"a\"}");
    done(recorder.begun[1], "[1]");
    UNTIL(&w, status_of(w.s, id) == S_SUCCEEDED);
    CHECK_STR(get(w.s, id).result, "{\"all\":{\"loss\":0.25,\"tags\":[\"a\"]}}");
    close_run(&w);
}

TEST(result_and_item_with_a_nul_character_are_read_like_any_other)
{
    struct recorder recorder = {.on_start = note_task};
    struct pawl_executor x = recorder_executor(&recorder);
    struct engine_run w = open_run(&x, FOUR_SLOTS);
    int64_t id =
        submit_yaml(&w, (struct pawl_job){.yaml = "name: w\n"
                                                  "tasks:\n"
                                                  "  a: {executor: lab, outputs: [kept, list]}\n"
                                                  "  b: {executor: lab, needs: a, foreach: '${{ "
                                                  "tasks.a.outputs.list }}'}\n"});

    UNTIL(&w, recorder.nbegun == 1);
    done(recorder.begun[0], "{\"kept\":1,\"other\":\"\\u0000\",\"list\":[\"a\\u0000b\"]}");
    UNTIL(&w, recorder.nbegun == 2);
    CHECK_STR(get(w.s, recorder.begun[0].execution).result,
              "{\"kept\":1,\"list\":[\"a\\u0000b\"]}");
    CHECK_STR(seen[1].item, "\"a\\u0000b\"");
    done(recorder.begun[1], NULL);
    UNTIL(&w, status_of(w.s, id) == S_SUCCEEDED);
    close_run(&w);
}

TEST(item_of_a_fan_out_reaches_the_executor_with_its_index)
{
    struct recorder recorder = {.on_start = note_task};
    struct pawl_executor x = recorder_executor(&recorder);
    struct engine_run w = open_run(&x, FOUR_SLOTS);
    int64_t id = submit_yaml(&w, (struct pawl_job){.yaml = "name: w\n"
                                                           "tasks:\n"
                                                           "  a:\n"
                                                           "    foreach: [{k: 1}, two]\n"
                                                           "    max_parallel: 1\n"
                                                           "    executor: lab\n"
                                                           "    with: {n: '${{ index + 1 }}'}\n"});

    UNTIL(&w, recorder.nbegun == 1);
    CHECK_STR(seen[0].input, "{\"n\":1,\"item\":{\"k\":1},\"index\":0}");
    CHECK_STR(seen[0].item, "{\"k\":1}");
    CHECK_EQ(seen[0].t.index, 0);
    CHECK_EQ(seen[0].t.workflow, id);
    CHECK(seen[0].t.parent != id); /* the fan-out */
    CHECK_STR(seen[0].name, "w::a[0]");
    CHECK_STR(seen[0].task_name, "a");
    done(recorder.begun[0], "1");
    UNTIL(&w, recorder.nbegun == 2);
    CHECK_STR(seen[1].item, "\"two\"");
    CHECK_EQ(seen[1].t.index, 1);
    done(recorder.begun[1], "2");
    UNTIL(&w, status_of(w.s, id) == S_SUCCEEDED);
    close_run(&w);
}

TEST(item_or_index_given_by_the_key_with_replaces_only_the_value_of_that_name)
{
    struct recorder recorder = {.on_start = note_task};
    struct pawl_executor x = recorder_executor(&recorder);
    struct engine_run w = open_run(&x, FOUR_SLOTS);
    int64_t id = submit_yaml(
        &w,
        (struct pawl_job){
            .yaml = "name: w\n"
                    "tasks:\n"
                    "  a: {executor: lab, foreach: [x], with: {index: 7}}\n"
                    "  b: {executor: lab, needs: a, foreach: [y], with: {item: null}}\n"
                    "  c: {executor: lab, needs: b, foreach: [z], with: {index: 7, item: 8}}\n"});

    UNTIL(&w, recorder.nbegun == 1);
    CHECK_STR(seen[0].input, "{\"index\":7,\"item\":\"x\"}");
    CHECK_EQ(seen[0].t.index, 0); /* the position of the item, whatever the input says */
    done(recorder.begun[0], NULL);
    UNTIL(&w, recorder.nbegun == 2);
    CHECK_STR(seen[1].input, "{\"item\":null,\"index\":0}");
    done(recorder.begun[1], NULL);
    UNTIL(&w, recorder.nbegun == 3);
    CHECK_STR(seen[2].input, "{\"index\":7,\"item\":8}");
    done(recorder.begun[2], NULL);
    UNTIL(&w, status_of(w.s, id) == S_SUCCEEDED);
    close_run(&w);
}

TEST(task_without_a_command_is_retried_timed_out_and_cancelled)
{
    struct recorder recorder = {.on_start = note_task, .obeys = true};
    struct pawl_executor x = recorder_executor(&recorder);
    struct engine_run w = open_run(&x, FOUR_SLOTS);
    int64_t id = submit_yaml(
        &w,
        (struct pawl_job){
            .yaml = "name: w\n"
                    "tasks:\n"
                    "  again: {executor: lab, retry: {max: 1, delay: 1ms}}\n"
                    "  late: {executor: lab, timeout: 50ms, needs: again, allow_failure: true}\n"
                    "  never: {executor: lab, needs: late, if: always()}\n"
                    "on_exit: {executor: lab, with: {why: '${{ workflow.status }}'}}\n"});

    UNTIL(&w, recorder.nbegun == 1);
    pawl_report_ended(recorder.begun[0],
                      &(struct pawl_end){.outcome = PAWL_FAILED, .error = "busy"});
    UNTIL(&w, recorder.nbegun == 2);
    CHECK_EQ(seen[1].t.id.attempt, 2);
    CHECK(seen[1].t.epoch > seen[0].t.epoch);
    done(recorder.begun[1], NULL);
    UNTIL(&w, recorder.nbegun == 4);
    CHECK_EQ(status_of(w.s, recorder.begun[2].execution), S_TIMED_OUT);
    OK(pawl_cancel(w.p, id, NULL, NULL, NULL, &err));
    UNTIL(&w, recorder.nbegun == 5); /* on_exit runs after a cancel, too */
    CHECK_EQ(status_of(w.s, recorder.begun[3].execution), S_CANCELLED);
    CHECK_STR(seen[4].task_name, "on_exit");
    CHECK_STR(seen[4].input, "{\"why\":\"cancelled\"}");
    done(recorder.begun[4], NULL);
    UNTIL(&w, status_of(w.s, id) == S_CANCELLED);
    close_run(&w);
}

TEST(adopted_task_without_a_command_keeps_its_input_its_workflow_and_its_name)
{
    struct recorder recorder = {.on_start = note_task};
    struct pawl_executor x = recorder_executor(&recorder);
    struct engine_run w;
    int64_t id;

    x.outlives_worker = true;
    x.find = recorder_reattach;
    w = open_run(&x, FOUR_SLOTS);
    id = submit_yaml(&w, (struct pawl_job){.yaml = "name: w\n"
                                                   "tasks: {a: {executor: lab, with: {n: 1}}}\n"});
    UNTIL(&w, recorder.nbegun == 1);
    pawl_engine_close(w.e);
    open_engine(&w, &x);
    UNTIL(&w, recorder.nfound == 1);
    CHECK_EQ(nseen, 2);
    CHECK_STR(seen[1].input, "{\"n\":1}");
    CHECK_EQ(seen[1].t.workflow, id);
    CHECK_STR(seen[1].task_name, "a");
    CHECK_EQ(seen[1].t.id.attempt, 1);
    CHECK(seen[1].t.epoch > seen[0].t.epoch);
    done(recorder.found[0], "{\"n\":2}");
    UNTIL(&w, status_of(w.s, id) == S_SUCCEEDED);
    close_run(&w);
}

TEST(task_with_a_command_for_a_custom_executor_has_no_json_input_and_keeps_all_outputs)
{
    struct recorder recorder = {.on_start = note_task};
    struct pawl_executor x = recorder_executor(&recorder);
    struct engine_run w = open_run(&x, FOUR_SLOTS);
    int64_t id = submit_yaml(
        &w, (struct pawl_job){.yaml = "name: w\n"
                                      "tasks: {a: {run: echo, executor: lab, foreach: [x], with: "
                                      "{n: 1}, outputs: [k]}}\n"});

    UNTIL(&w, recorder.nbegun == 1);
    CHECK(!seen[0].has_input);
    CHECK(!seen[0].has_item);
    CHECK_EQ(seen[0].t.index, 0);
    done(recorder.begun[0], "{\"k\":1,\"other\":2}"); /* its executor decides about outputs */
    UNTIL(&w, status_of(w.s, id) == S_SUCCEEDED);
    CHECK_STR(get(w.s, recorder.begun[0].execution).result, "{\"k\":1,\"other\":2}");
    close_run(&w);
}

TEST(single_job_of_a_custom_executor_has_no_workflow)
{
    struct recorder recorder = {.on_start = note_task};
    struct pawl_executor x = recorder_executor(&recorder);
    struct engine_run w = open_run(&x, NULL);

    put(&w, (struct pawl_job){.input = "[1]", .priority = -2});
    UNTIL(&w, recorder.nbegun == 1);
    CHECK_STR(seen[0].input, "[1]");
    CHECK_EQ(seen[0].t.parent, 0);
    CHECK_EQ(seen[0].t.workflow, 0);
    CHECK_EQ(seen[0].t.index, -1);
    CHECK_EQ(seen[0].t.priority, -2);
    CHECK_STR(seen[0].queue, "default");
    CHECK(!seen[0].has_workflow_name);
    CHECK(!seen[0].has_task_name);
    done(recorder.begun[0], NULL);
    UNTIL(&w, recorder.settled == 1);
    close_run(&w);
}
