/* test_graph.c - the truth table of success(), failure(), cancelled() and always() against every
 * way in which a need can end, cell by cell; docs/WORKFLOWS.md must show the same table. */
#include "core/expr/expr.h"
#include "core/graph.h"
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST_NO_DB;

static const struct cell {
    const char *need;
    struct graph_need as;
    bool success, failure, cancelled;
    int end; /* status of a workflow with only this task */
} cells[] = {
    {"succeeded", {.status = S_SUCCEEDED}, true, false, false, S_SUCCEEDED},
    {"failed", {.status = S_FAILED}, false, true, false, S_FAILED},
    {"failed, `allow_failure`",
     {.status = S_FAILED, .allow_failure = true},
     true,
     false,
     false,
     S_SUCCEEDED},
    {"timed out", {.status = S_TIMED_OUT}, false, true, false, S_FAILED},
    {"timed out, `allow_failure`",
     {.status = S_TIMED_OUT, .allow_failure = true},
     true,
     false,
     false,
     S_SUCCEEDED},
    {"cancelled", {.status = S_CANCELLED}, false, false, true, S_CANCELLED},
    {"cancelled, `allow_failure`",
     {.status = S_CANCELLED, .allow_failure = true},
     false,
     false,
     true,
     S_CANCELLED},
    {"skipped by its `if`", {.status = S_SKIPPED}, false, false, false, S_SUCCEEDED},
    {"skipped because a need failed",
     {.status = S_SKIPPED, .skipped_by_failure = true},
     false,
     true,
     false,
     S_SUCCEEDED},
    {"skipped by an operator",
     {.status = S_SKIPPED, .by_operator = true},
     true,
     false,
     false,
     S_SUCCEEDED},
    {"skipped by an operator, after a need failed",
     {.status = S_SKIPPED, .by_operator = true, .skipped_by_failure = true},
     true,
     false,
     false,
     S_SUCCEEDED},
};
#define CELLS (sizeof(cells) / sizeof(*cells))

TEST(success_failure_and_cancelled_of_each_need_state_match_the_truth_table)
{
    size_t i;

    for (i = 0; i < CELLS; i++) {
        struct graph_facts f = graph_facts(&cells[i].as, 1);

        CHECK_EQ(f.success, cells[i].success);
        CHECK_EQ(f.failure, cells[i].failure);
        CHECK_EQ(f.cancelled, cells[i].cancelled);
        CHECK_EQ(graph_end(graph_flags_of(&cells[i].as), false), cells[i].end);
    }
}

static bool status_function(void *arg, enum expr_status which)
{
    const struct graph_facts *f = arg;

    return which == EXPR_SUCCESS     ? f->success
           : which == EXPR_FAILURE   ? f->failure
           : which == EXPR_CANCELLED ? f->cancelled
                                     : true;
}

/* "1 < 2" stands for any condition that calls no status function and is true. */
TEST(condition_without_a_status_function_is_true_only_after_success)
{
    struct expr_text text = {.at = "1 < 2", .len = 5};
    struct arena arena = ARENA_INIT;
    struct expr_fault fault;
    const struct expr *e;
    size_t i;

    CHECK_OK(expr_parse_condition(&text, &arena, &e, &fault));
    text.at = expr_complete_condition(e, &arena);
    text.len = strlen(text.at);
    CHECK_OK(expr_parse_condition(&text, &arena, &e, &fault));
    for (i = 0; i < CELLS; i++) {
        struct graph_facts f = graph_facts(&cells[i].as, 1);
        struct expr_scope scope = {.status = status_function, .arg = &f};
        bool yes;

        CHECK_OK(expr_eval_bool(e, &scope, &yes, &fault));
        CHECK_EQ(yes, cells[i].success);
    }
    arena_release(&arena);
}

TEST(success_holds_for_all_needs_and_failure_and_cancelled_for_any_need)
{
    size_t i, k;

    for (i = 0; i < CELLS; i++)
        for (k = 0; k < CELLS; k++) {
            struct graph_need two[] = {cells[i].as, cells[k].as};
            struct graph_facts f = graph_facts(two, 2);

            CHECK_EQ(f.success, cells[i].success && cells[k].success);
            CHECK_EQ(f.failure, cells[i].failure || cells[k].failure);
            CHECK_EQ(f.cancelled, cells[i].cancelled || cells[k].cancelled);
        }
    CHECK(graph_facts(NULL, 0).success);
    CHECK(!graph_facts(NULL, 0).failure && !graph_facts(NULL, 0).cancelled);
}

TEST(join_is_decided_when_enough_needs_succeeded_or_too_few_are_left)
{
    int join, left, succeeded;

    for (left = 0; left < 5; left++)
        for (succeeded = 0; succeeded < 5; succeeded++) {
            CHECK_EQ(graph_join(0, (size_t)left, (size_t)succeeded),
                     left ? GRAPH_WAIT : GRAPH_DECIDE);
            for (join = 1; join < 6; join++)
                CHECK_EQ(graph_join(join, (size_t)left, (size_t)succeeded),
                         succeeded >= join          ? GRAPH_DECIDE
                         : succeeded + left >= join ? GRAPH_WAIT
                                                    : GRAPH_SKIP);
        }
}

TEST(workflow_status_ranks_failure_above_cancel_and_cancel_above_success)
{
    CHECK_EQ(graph_end(0, false), S_SUCCEEDED);
    CHECK_EQ(graph_end(0, true), S_CANCELLED);
    CHECK_EQ(graph_end(FLAG_CANCELLED, false), S_CANCELLED);
    CHECK_EQ(graph_end(FLAG_FAILED | FLAG_CANCELLED, false), S_FAILED);
    CHECK_EQ(graph_end(FLAG_FAILED, true), S_FAILED);
}

TEST(workflows_page_lists_success_failure_and_cancelled_for_each_need_state)
{
    static char page[400000];
    FILE *f = fopen("docs/WORKFLOWS.md", "r");
    char line[300];
    size_t i;

    CHECK(f);
    page[fread(page, 1, sizeof(page) - 1, f)] = 0;
    fclose(f);
    for (i = 0; i < CELLS; i++) {
        snprintf(line, sizeof(line), "\n| %s | %s | %s | %s | yes | %s |\n", cells[i].need,
                 cells[i].success ? "yes" : "", cells[i].failure ? "yes" : "",
                 cells[i].cancelled ? "yes" : "", cells[i].success ? "is evaluated" : "is false");
        if (!strstr(page, line))
            test_fail(__FILE__, __LINE__, "docs/WORKFLOWS.md has no line %s", line);
    }
}
