/* test_transitions_doc.c - prints docs/STATES.md from the table of legal moves and the vocabulary,
 * and compares it with the file, so that the page agrees with the code. PAWL_WRITE_DOCS=1
 * build/tests/test_transitions_doc writes the page instead. */
#include "page_fixture.h"

#include "core/transitions.h"
#include "core/vocab.h"

TEST_NO_DB;

#define FILE_NAME   "docs/STATES.md"
#define COUNT(list) (sizeof(list) / sizeof(*(list)))

/* ---- descriptions that the vocabulary does not contain ---- */

static const struct {
    const char *meaning, *where;
} status_notes[S_COUNT] = {
    [S_PENDING] = {"it waits for its needs", "nowhere else"},
    [S_READY] =
        {"it may run, unless it is held",
         "`task_outbox`, if and only if it is not held; `timers` or `limit_waits`, if held for that"},
    [S_RUNNING] =
        {"a job: a worker has its lease, or may adopt it; a workflow: a descendant has not ended",
         "a job: `leases`"},
    [S_SUCCEEDED] =
        {"it succeeded: its outcome is recorded, or the result of another execution was reused",
         "nowhere else"},
    [S_FAILED] = {"it failed, or it has no attempt left after a lost one", "nowhere else"},
    [S_TIMED_OUT] = {"it exceeded its time limit", "nowhere else"},
    [S_CANCELLED] = {"it was cancelled on request before it ended", "nowhere else"},
    [S_SKIPPED] = {"it did not have to run", "nowhere else"},
};

static const struct {
    int hold;
    const char *meaning, *ends;
} hold_notes[] = {
    {HELD_APPROVAL, "it waits for an approval", "approve, reject, or its timeout"},
    {HELD_PAUSED, "it or one of its ancestors is paused", "resume"},
    {HELD_DELAY, "its time has not been reached: a delayed start, a retry, a deferral",
     "the timer `delay` at the time given in the event"},
    {HELD_LIMIT, "a limit is reached; `held_key` names it: `queue:NAME` or `key:NAME`",
     "a permit, passed on by the transaction that frees it, by priority, then age"},
};

/* The fields of `data` are written by data_*() in src/store/door/event_data.c; they are listed
 * below. */
#define OUTCOME "outcome"
#define REQUEST "by, reason"
static const struct {
    const char *meaning, *data;
} event_notes[EV_COUNT] = {
    [EV_CREATED] = {"it was accepted", "run of a schedule: schedule, and due_at, or by, reason"},
    [EV_MARKED_READY] = {"its needs are met", ""},
    [EV_HELD] = {"it may not be claimed for now",
                 "why, until; an approval: message; by an operator: " REQUEST},
    [EV_UNHELD] = {"the reason no longer applies; another may follow at once",
                   "by an operator: " REQUEST},
    [EV_CLAIMED] = {"a worker claimed it: a new attempt, a new epoch, a lease", ""},
    [EV_STARTED] = {"a job: its process, container or function started; a workflow: it runs",
                    "a job: ago_us"},
    [EV_DEFERRED] = {"it asks to run again later; this does not use up an attempt", OUTCOME},
    [EV_RESUMED] = {"a job: a deferred job was claimed; a workflow: a pause ended",
                    "a workflow: " REQUEST},
    [EV_RELEASED] = {"returned before anything started; this does not use up an attempt", OUTCOME},
    [EV_RETRY_SCHEDULED] = {"the attempt failed and there will be another", OUTCOME},
    [EV_LEASE_EXPIRED] = {"its lease was not renewed, or a fence cleared it: it may be adopted",
                          "until; by a fence: generation"},
    [EV_ADOPTED] = {"another worker adopted the attempt: a new epoch", ""},
    [EV_CANCEL_REQUESTED] =
        {"its worker must end it; with let_finish the attempt continues, but is not "
         "retried",
         REQUEST ", let_finish"},
    [EV_COMPLETED] = {"it succeeded", OUTCOME},
    [EV_FAILED] = {"it failed", OUTCOME},
    [EV_TIMED_OUT] = {"it exceeded its time limit", OUTCOME},
    [EV_CANCELLED] = {"it was cancelled on request",
                      "if it ran: " OUTCOME "; otherwise: " REQUEST ", let_finish"},
    [EV_SKIPPED] = {"it does not have to run", REQUEST},
    [EV_ABANDONED] = {"the outcome of its last attempt is unknown, and no attempt is left",
                      OUTCOME},
    [EV_RERUN] = {"it will run again; this event has the old result and error", REQUEST},
    [EV_REUSED] = {"it reuses the result of another execution", ""},
    [EV_PAUSED] = {"none of its descendants becomes claimable until it is resumed", REQUEST},
};

static const struct {
    const char *fields, *meaning;
} field_notes[] = {
    {"why", "the hold: `approval`, `paused`, `delay`, `limit:queue:NAME` …"},
    {"message", "the text that is shown with the approval"},
    {"schedule, due_at", "the schedule that started it, and the due time"},
    {"until", "when the hold ends; in `lease_expired`: when the lease ended, or would have ended"},
    {"generation", "the generation that started with the fence, after a backup was restored"},
    {"ago_us", "how long before this event the attempt really started, in microseconds"},
    {"by, reason", "who requested it, and why; absent if not given"},
    {"let_finish", "true if the running attempt may finish, but nothing follows it"},
    {"outcome",
     "the fields `outcome` (its kind, below), and, if known: `exit_code`, `signal`, "
     "`duration_us`, `usage` (`cpu_us`, `peak_memory` in bytes), `error` (never empty unless it "
     "succeeded), `next_at` (when it may run again), `unstarted` (returned to its queue because its worker "
     "or its shim ended before it started: how often in a row)"},
};

static const char *const outcome_notes[] = {
    [OUTCOME_OK] = "it ended without an error",
    [OUTCOME_FAILED] = "it ended with an error",
    [OUTCOME_TIMED_OUT] = "it exceeded its time limit",
    [OUTCOME_CANCELLED] = "it was cancelled on request",
    [OUTCOME_LOST] = "it is unknown how it ended; never a success",
    [OUTCOME_DEFERRED] = "it asks to run again at a given time",
    [OUTCOME_REFUSED] = "it was returned before anything started",
};

/* ---- the page ---- */

static const char head[] =
    "# States and events\n"
    "\n"
    "Every execution has one status. It changes only through one door (`src/store/door/door.c`), which refuses\n"
    "every move that is not in the table of legal moves (`src/core/transitions.c`), and each change is written to the\n"
    "history (`execution_events`) in the same transaction. `pawl verify` reports events that are not in\n"
    "the table. What each event changes in an execution is in `src/core/event_effect.c`. This page is printed from the\n"
    "table of legal moves by `tests/test_transitions_doc.c`: do not edit it, run\n"
    "`PAWL_WRITE_DOCS=1 build/tests/test_transitions_doc`.\n"
    "\n"
    "A *job* is an execution that a worker runs (kinds task, exec). A *workflow* here is one that consists of others\n"
    "(kinds workflow, foreach); it has no worker and no lease.\n"
    "\n"
    "```\n"
    " pending ──> ready ──claimed, resumed──> running ──> succeeded | failed | timed_out | cancelled\n"
    "    │          ^  held, unheld: stay       │  started, adopted, lease_expired, cancel_requested: stay\n"
    "    │          └── retry_scheduled, deferred, released\n"
    "    └─> skipped | cancelled | failed | timed_out          terminal ──rerun──> pending | running\n"
    "```\n";

static void write_statuses(struct buf *b)
{
    int s;

    buf_addstr(b, "\n## Statuses\n\n| code | status | meaning | also stored in | terminal |\n"
                  "|---|---|---|---|---|\n");
    for (s = 1; s < S_COUNT; s++) {
        CHECK(status_notes[s].meaning);
        buf_addf(b, "| %d | `%s` | %s | %s | %s |\n", s, status_text(s), status_notes[s].meaning,
                 status_notes[s].where, status_is_terminal(s) ? "yes" : "");
    }
}

static void write_moves(struct buf *b)
{
    size_t i;

    buf_addstr(b, "\n## Moves\n\nMoves that are not listed are refused.\n\n"
                  "| event | from | to | jobs | workflows |\n|---|---|---|---|---|\n");
    for (i = 0; i < legal_move_count; i++) {
        const struct move *m = &legal_moves[i];

        buf_addf(b, "| `%s` | %s | %s | %s | %s |\n", action_text((int)m->action),
                 m->from ? status_text((int)m->from) : "(nothing)", status_text((int)m->to),
                 m->who & FOR_JOBS ? "yes" : "", m->who & FOR_WORKFLOWS ? "yes" : "");
    }
}

static unsigned kinds_with_action(int action)
{
    unsigned who = 0;
    size_t i;

    for (i = 0; i < legal_move_count; i++)
        if ((int)legal_moves[i].action == action)
            who |= legal_moves[i].who;
    return who;
}

/* The codes under which an event is stored: "5", "37" or "6, 38". */
static void write_codes(struct buf *b, int action)
{
    unsigned who = kinds_with_action(action);

    if (who & FOR_JOBS)
        buf_addf(b, "%d", action);
    buf_addstr(b, who == FOR_ALL ? ", " : "");
    if (who & FOR_WORKFLOWS)
        buf_addf(b, "%d", action + WORKFLOW_EVENT);
}

static void write_events(struct buf *b)
{
    int a;
    size_t i;

    buf_addf(
        b,
        "\n## Events\n\nA job's event is called `task.…`, a workflow's `workflow.…`, with %d added to its "
        "code. Every event carries from, to, seq (1, 2, … of its execution), the time, and worker, "
        "attempt and epoch if there is one. `data` is JSON or NULL.\n\n"
        "| code | event | meaning | data |\n|---|---|---|---|\n",
        WORKFLOW_EVENT);
    for (a = 1; a < EV_COUNT; a++) {
        CHECK(event_notes[a].meaning);
        CHECK(kinds_with_action(a));
        buf_addstr(b, "| ");
        write_codes(b, a);
        buf_addf(b, " | `%s` | %s | %s |\n", action_text(a), event_notes[a].meaning,
                 event_notes[a].data);
    }
    buf_addstr(b, "\nThe fields of `data`; times are RFC 3339 in UTC with microseconds:\n\n"
                  "| field | holds |\n|---|---|\n");
    for (i = 0; i < COUNT(field_notes); i++)
        buf_addf(b, "| %s | %s |\n", field_notes[i].fields, field_notes[i].meaning);
    buf_addstr(b, "\nKinds of outcome:\n\n| code | outcome | meaning |\n|---|---|---|\n");
    for (a = 1; a < (int)COUNT(outcome_notes); a++)
        buf_addf(b, "| %d | `%s` | %s |\n", a, outcome_text(a), outcome_notes[a]);
    CHECK_STR(outcome_text((int)COUNT(outcome_notes)), "?");
}

static void write_holds(struct buf *b)
{
    size_t i;

    buf_addstr(
        b,
        "\n## Holds\n\nA ready job that is held is not in the outbox, can't be claimed and has no "
        "permit of any limit. `held` is the first reason that applies; when it ends, the others are "
        "checked again.\n\n| code | hold | meaning | ended by |\n|---|---|---|---|\n");
    for (i = 0; i < COUNT(hold_notes); i++) {
        CHECK_EQ(hold_notes[i].hold, i + 1);
        buf_addf(b, "| %d | `%s` | %s | %s |\n", hold_notes[i].hold, hold_text(hold_notes[i].hold),
                 hold_notes[i].meaning, hold_notes[i].ends);
    }
    CHECK_STR(hold_text((int)COUNT(hold_notes) + 1), "?"); /* every hold is described */
    buf_addstr(b, "\nA workflow that is held stays pending.\n");
}

static void add_page(struct buf *b)
{
    buf_addstr(b, head);
    write_statuses(b);
    write_moves(b);
    write_events(b);
    write_holds(b);
}

TEST(states_page_matches_the_code)
{
    struct buf page = BUF_INIT;

    add_page(&page);
    check_page(FILE_NAME, buf_cstr(&page), "test_transitions_doc");
    buf_release(&page);
}
