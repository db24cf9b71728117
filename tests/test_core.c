/* test_core.c - the vocabulary of the domain and the table of legal moves. The expected values are
 * repeated here, so that every change must be made in two places. */
#include "harness.h"

#include "core/transitions.h"
#include "core/vocab.h"

#include <string.h>

TEST_NO_DB;

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

/* ---- codes: they are stored, so none may ever change ---- */

struct word {
    int code;
    const char *text;
};

static const struct word kinds[] = {{1, "task"}, {2, "exec"}, {3, "workflow"}, {4, "foreach"}};
static const struct word statuses[] = {{1, "pending"},   {2, "ready"},  {3, "running"},
                                       {4, "succeeded"}, {5, "failed"}, {6, "timed_out"},
                                       {7, "cancelled"}, {8, "skipped"}};
static const struct word holds[] = {
    {0, ""}, {1, "approval"}, {2, "paused"}, {3, "delay"}, {4, "limit"}};
static const struct word timers[] = {
    {1, "delay"}, {2, "handover"}, {3, "continue"}, {4, "timeout"}};
static const struct word outcomes[] = {{1, "ok"},        {2, "failed"}, {3, "timed_out"},
                                       {4, "cancelled"}, {5, "lost"},   {6, "deferred"},
                                       {7, "refused"}};
static const struct word actions[] = {
    {1, "created"},           {2, "marked_ready"},     {3, "held"},           {4, "unheld"},
    {5, "claimed"},           {6, "started"},          {7, "deferred"},       {8, "resumed"},
    {9, "released"},          {10, "retry_scheduled"}, {11, "lease_expired"}, {12, "adopted"},
    {13, "cancel_requested"}, {14, "completed"},       {15, "failed"},        {16, "timed_out"},
    {17, "cancelled"},        {18, "skipped"},         {19, "abandoned"},     {20, "rerun"},
    {21, "reused"},           {22, "paused"}};

/* Checks that every listed code has its text, and that no other code has a text. */
static void check_words(const char *(*text)(int), const struct word *list, size_t n)
{
    size_t i;
    int code;

    for (i = 0; i < n; i++)
        CHECK_STR(text(list[i].code), list[i].text);
    for (code = -300; code < 300; code++) {
        for (i = 0; i < n && list[i].code != code; i++)
            ;
        if (i == n)
            CHECK_STR(text(code), "?");
    }
}

TEST(codes_and_words_of_statuses_and_events_equal_those_that_databases_store)
{
    check_words(kind_text, kinds, COUNT(kinds));
    check_words(status_text, statuses, COUNT(statuses));
    check_words(hold_text, holds, COUNT(holds));
    check_words(timer_text, timers, COUNT(timers));
    check_words(outcome_text, outcomes, COUNT(outcomes));
    check_words(action_text, actions, COUNT(actions));
    CHECK_EQ(EV_COUNT - 1, COUNT(actions));
    CHECK_EQ(S_COUNT - 1, COUNT(statuses));
}

TEST(words_of_kinds_and_statuses_are_parsed_to_their_codes)
{
    size_t i;

    for (i = 0; i < COUNT(kinds); i++)
        CHECK_EQ(kind_from_text(kinds[i].text), kinds[i].code);
    for (i = 0; i < COUNT(statuses); i++)
        CHECK_EQ(status_from_text(statuses[i].text), statuses[i].code);
    CHECK_EQ(kind_from_text(""), 0);
    CHECK_EQ(kind_from_text("Task"), 0);
    CHECK_EQ(status_from_text("?"), 0);
    CHECK_EQ(status_from_text("queued"), 0);
    CHECK_EQ(status_from_text("ready "), 0);
}

TEST(events_of_jobs_and_workflows_have_distinct_names)
{
    size_t i;
    int k;

    for (i = 0; i < COUNT(actions); i++)
        for (k = 1; k <= 4; k++) {
            int type = event_type(k, (enum event_action)actions[i].code);
            const char *text = event_text(type), *dot = strchr(text, '.');

            CHECK_EQ(type, actions[i].code + (k <= 2 ? 0 : 32));
            CHECK_STR(dot + 1, actions[i].text);
            CHECK(!strncmp(text, k <= 2 ? "task." : "workflow.", (size_t)(dot - text + 1)));
            CHECK_EQ(event_from_text(text), type);
        }
    CHECK_STR(event_text(0), "?");
    CHECK_STR(event_text(-1), "?");
    CHECK_STR(event_text(23), "?");
    CHECK_STR(event_text(32), "?");
    CHECK_STR(event_text(55), "?");
    CHECK_STR(event_text(100000), "?");
    CHECK_EQ(event_from_text("claimed"), 0);
    CHECK_EQ(event_from_text("task."), 0);
    CHECK_EQ(event_from_text("job.claimed"), 0);
    CHECK_EQ(event_from_text(""), 0);
}

TEST(job_kinds_and_terminal_statuses_are_recognized)
{
    CHECK(kind_is_job(KIND_TASK) && kind_is_job(KIND_EXEC));
    CHECK(!kind_is_job(KIND_WORKFLOW) && !kind_is_job(KIND_FOREACH) && !kind_is_job(0));
    CHECK(!status_is_terminal(S_NONE) && !status_is_terminal(S_PENDING) &&
          !status_is_terminal(S_READY) && !status_is_terminal(S_RUNNING));
    CHECK(status_is_terminal(S_SUCCEEDED) && status_is_terminal(S_FAILED) &&
          status_is_terminal(S_TIMED_OUT) && status_is_terminal(S_CANCELLED) &&
          status_is_terminal(S_SKIPPED));
}

/* ---- moves ---- */

/* All legal moves, also shown in docs/STATES.md; "-" means that the execution does not exist. */
static const struct expected {
    const char *action, *from, *to;
    bool jobs, workflows;
} expected[] = {
    {"created", "-", "pending", true, true},
    {"marked_ready", "pending", "ready", true, false},
    {"held", "ready", "ready", true, false},
    {"unheld", "ready", "ready", true, false},
    {"claimed", "ready", "running", true, false},
    {"resumed", "ready", "running", true, false},
    {"started", "running", "running", true, false},
    {"lease_expired", "running", "running", true, false},
    {"adopted", "running", "running", true, false},
    {"deferred", "running", "ready", true, false},
    {"released", "running", "ready", true, false},
    {"retry_scheduled", "running", "ready", true, false},
    {"abandoned", "running", "failed", true, false},

    {"held", "pending", "pending", true, true},
    {"unheld", "pending", "pending", true, true},
    {"started", "pending", "running", false, true},
    {"paused", "pending", "pending", false, true},
    {"paused", "running", "running", false, true},
    {"resumed", "pending", "pending", false, true},
    {"resumed", "running", "running", false, true},

    {"cancel_requested", "running", "running", true, true},
    {"completed", "running", "succeeded", true, true},
    {"failed", "running", "failed", true, true},
    {"timed_out", "running", "timed_out", true, true},
    {"cancelled", "running", "cancelled", true, true},

    {"failed", "pending", "failed", true, true},
    {"failed", "ready", "failed", true, false},
    {"timed_out", "pending", "timed_out", true, true},
    {"timed_out", "ready", "timed_out", true, false},
    {"cancelled", "pending", "cancelled", true, true},
    {"cancelled", "ready", "cancelled", true, false},
    {"skipped", "pending", "skipped", true, true},
    {"skipped", "ready", "skipped", true, false},
    {"reused", "pending", "succeeded", true, true},

    {"rerun", "succeeded", "pending", true, true},
    {"rerun", "failed", "pending", true, true},
    {"rerun", "timed_out", "pending", true, true},
    {"rerun", "cancelled", "pending", true, true},
    {"rerun", "skipped", "pending", true, true},
    {"rerun", "succeeded", "running", false, true},
    {"rerun", "failed", "running", false, true},
    {"rerun", "timed_out", "running", false, true},
    {"rerun", "cancelled", "running", false, true},
    {"rerun", "skipped", "running", false, true},
};

static const char *name_of(int status)
{
    return status ? status_text(status) : "-";
}

static bool is_expected(bool job, const char *action, const char *from, const char *to)
{
    size_t i;

    for (i = 0; i < COUNT(expected); i++) {
        const struct expected *e = &expected[i];

        if (!strcmp(e->action, action) && !strcmp(e->from, from) && !strcmp(e->to, to))
            return job ? e->jobs : e->workflows;
    }
    return false;
}

TEST(status_change_is_legal_if_and_only_if_this_test_lists_it)
{
    int kind, action, from, to, legal = 0;

    for (kind = 1; kind <= 4; kind++)
        for (action = 0; action <= 40; action++)
            for (from = -1; from <= 10; from++)
                for (to = -1; to <= 10; to++) {
                    bool want = is_expected(kind <= 2, action_text(action), name_of(from),
                                            to ? status_text(to) : "-");
                    bool is = move_is_legal(kind, (enum event_action)action, from, to);

                    if (want != is)
                        test_fail(__FILE__, __LINE__, "%s: %s from %s to %s is %s", kind_text(kind),
                                  action_text(action), name_of(from), name_of(to),
                                  is ? "legal" : "refused");
                    legal += is;
                }
    /* 34 moves for each of the two kinds of jobs, 28 for each of the two other kinds */
    CHECK_EQ(legal, 2 * 34 + 2 * 28);
}

TEST(table_of_legal_status_changes_has_no_duplicates)
{
    size_t i, k;

    for (i = 0; i < legal_move_count; i++)
        for (k = 0; k < i; k++) {
            const struct move *a = &legal_moves[i], *b = &legal_moves[k];

            CHECK(a->action != b->action || a->from != b->from || a->to != b->to ||
                  !(a->who & b->who));
        }
}

/* Invariants that follow from the table and that the rest of the code relies on. */
TEST(only_rerun_leaves_a_terminal_status_and_only_created_is_a_first_event)
{
    size_t i;

    for (i = 0; i < legal_move_count; i++) {
        const struct move *m = &legal_moves[i];

        CHECK(!status_is_terminal((int)m->from) || m->action == EV_RERUN);
        CHECK((m->from == S_NONE) == (m->action == EV_CREATED));
        CHECK(m->to != S_NONE);
        CHECK(m->who & FOR_ALL);
        /* only a recorded outcome or the result of another execution is a success */
        CHECK(m->to != S_SUCCEEDED || m->action == EV_COMPLETED || m->action == EV_REUSED);
        /* a job starts to run only by a claim, so every run has an attempt and a lease */
        CHECK(!(m->who & FOR_JOBS) || m->to != S_RUNNING || m->from == S_RUNNING ||
              m->action == EV_CLAIMED || m->action == EV_RESUMED);
    }
}
