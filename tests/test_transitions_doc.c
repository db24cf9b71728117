/* test_transitions_doc.c - prints docs/STATES.md from the table of legal moves and the vocabulary,
 * and compares it with the file: the page can't say other than the code does.
 *
 *   PAWL_WRITE_DOCS=1 build/tests/test_transitions_doc     writes the page instead */
#include "harness.h"

#include "base/buf.h"
#include "core/transitions.h"
#include "core/vocab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST_NO_DB;

#define FILE_NAME   "docs/STATES.md"
#define COUNT(list) (sizeof(list) / sizeof(*(list)))

/* ---- what the vocabulary does not say itself ---- */

static const struct {
    const char *meaning, *where;
} status_notes[S_COUNT] = {
    [S_PENDING] = {"it waits for what it needs", "nowhere else"},
    [S_READY] = {"it may run, unless it is held",
                 "`task_outbox`, iff it is not held; `timers` or `limit_waits`, if held for that"},
    [S_RUNNING] = {"a job: a worker holds it, or may adopt it; a flow: something below it is open",
                   "a job: `leases`"},
    [S_SUCCEEDED] = {"it ended well: a recorded clean outcome, or the reused result of another",
                     "nowhere else"},
    [S_FAILED] = {"it ended badly, or no attempt is left after a lost one", "nowhere else"},
    [S_TIMED_OUT] = {"its time was over", "nowhere else"},
    [S_CANCELLED] = {"somebody asked for its end before it came", "nowhere else"},
    [S_SKIPPED] = {"it was decided that it need not run", "nowhere else"},
};

static const struct {
    int hold;
    const char *meaning, *ends;
} hold_notes[] = {
    {HELD_APPROVAL, "somebody has to approve it", "approve, reject, or its time-out"},
    {HELD_PAUSED, "it, or something above it, is paused", "resume"},
    {HELD_DELAY, "its time has not come: a delayed start, a retry, a deferral",
     "the timer `delay` at the time that the event says"},
    {HELD_LIMIT, "a limit has no room; `held_key` names it: `queue:NAME` or `key:NAME`",
     "a permit, handed over by whoever frees it, by priority, then age"},
};

/* `{…}` is what data_*() in src/store/door/event_data.c writes; see the list of fields below. */
#define OUTCOME "outcome"
#define REQUEST "by, reason"
static const struct {
    const char *meaning, *data;
} event_notes[EV_COUNT] = {
    [EV_CREATED] = {"it was accepted", "of a schedule's run: schedule, and due_at, or by, reason"},
    [EV_MARKED_READY] = {"its needs are met", ""},
    [EV_HELD] = {"it may not be claimed for now",
                 "why, until; an approval: message; by an operator: " REQUEST},
    [EV_UNHELD] = {"that reason is over; another may follow at once", "by an operator: " REQUEST},
    [EV_CLAIMED] = {"a worker took it: a new attempt, a new epoch, a lease", ""},
    [EV_STARTED] = {"a job: its work began; a flow: it runs", "a job: ago_us"},
    [EV_DEFERRED] = {"it asks to be run again later; no try is used up", OUTCOME},
    [EV_RESUMED] = {"a job: the claim of a deferred one; a flow: the end of a pause",
                    "a flow: " REQUEST},
    [EV_RELEASED] = {"given back before anything started; no try is used up", OUTCOME},
    [EV_RETRY_SCHEDULED] = {"the attempt failed and there will be another", OUTCOME},
    [EV_LEASE_EXPIRED] = {"nobody renewed its lease, or a fence took it: it may be adopted",
                          "until; by a fence: generation"},
    [EV_ADOPTED] = {"another worker took over the same attempt: a new epoch", ""},
    [EV_CANCEL_REQUESTED] = {"its holder is to end it; with let_finish a job goes on, but is not "
                             "tried again",
                             REQUEST ", let_finish"},
    [EV_COMPLETED] = {"it ended well", OUTCOME},
    [EV_FAILED] = {"it ended badly", OUTCOME},
    [EV_TIMED_OUT] = {"its time was over", OUTCOME},
    [EV_CANCELLED] = {"it was ended on request",
                      "of what ran: " OUTCOME "; else: " REQUEST ", let_finish"},
    [EV_SKIPPED] = {"it need not run", REQUEST},
    [EV_ABANDONED] = {"nobody knows how its last attempt ended, and no try is left", OUTCOME},
    [EV_RERUN] = {"it is to run again; the old result and error are in this event", REQUEST},
    [EV_REUSED] = {"it took over the result of another execution", ""},
    [EV_PAUSED] = {"nothing below it becomes claimable until it is resumed", REQUEST},
};

static const struct {
    const char *fields, *meaning;
} field_notes[] = {
    {"why", "the hold: `approval`, `paused`, `delay`, `limit:queue:NAME` …"},
    {"message", "what the approval is asked with"},
    {"schedule, due_at", "the schedule that began it, and the due time for which it did"},
    {"until", "when that ends; of `lease_expired`: when the lease had ended, or would have"},
    {"generation", "the one that began with the fence, after a backup was restored"},
    {"ago_us", "how long before this event the work really began, in microseconds"},
    {"by, reason", "who asked for it, and why; absent where nobody said"},
    {"let_finish", "true: what runs may finish, but nothing comes after it"},
    {"outcome",
     "the fields `outcome` (its kind, below), and where there is one: `exit_code`, `signal`, "
     "`duration_us`, `usage` (`cpu_us`, `peak_memory` in bytes), `error` (never empty unless it "
     "ended well), `next_at` (when it may run again)"},
};

static const char *const outcome_notes[] = {
    [OUTCOME_OK] = "a clean end",
    [OUTCOME_FAILED] = "an end with an error",
    [OUTCOME_TIMED_OUT] = "ended by its time limit",
    [OUTCOME_CANCELLED] = "ended on request",
    [OUTCOME_LOST] = "nobody knows how it ended; never a success",
    [OUTCOME_DEFERRED] = "it asks to be run again at a time",
    [OUTCOME_REFUSED] = "given back before anything started",
};

/* ---- the page ---- */

static const char head[] =
    "# States and events\n"
    "\n"
    "Every execution has one status. It changes only through one door (`src/store/door/door.c`), which refuses\n"
    "whatever is not in the table of legal moves (`src/core/transitions.c`), and each change is written to the\n"
    "history (`execution_events`) in the same transaction. `pawl verify` looks for events that are not in\n"
    "the table. This page is printed from that table by `tests/test_transitions_doc.c`: do not edit it, run\n"
    "`PAWL_WRITE_DOCS=1 build/tests/test_transitions_doc`.\n"
    "\n"
    "A *job* is an execution that a worker runs (kinds task, exec). A *flow* is one that others make up\n"
    "(kinds workflow, foreach); it has no worker and no lease.\n"
    "\n"
    "```\n"
    " pending ──> ready ──claimed, resumed──> running ──> succeeded | failed | timed_out | cancelled\n"
    "    │          ^  held, unheld: stay       │  started, adopted, lease_expired, cancel_requested: stay\n"
    "    │          └── retry_scheduled, deferred, released\n"
    "    └─> skipped | cancelled | failed | timed_out          terminal ──rerun──> pending | running\n"
    "```\n";

static void statuses(struct buf *b)
{
    int s;

    buf_addstr(
        b,
        "\n## Statuses\n\n| code | status | meaning | besides `executions` it is in | terminal |\n"
        "|---|---|---|---|---|\n");
    for (s = 1; s < S_COUNT; s++) {
        CHECK(status_notes[s].meaning);
        buf_addf(b, "| %d | `%s` | %s | %s | %s |\n", s, status_text(s), status_notes[s].meaning,
                 status_notes[s].where, status_is_terminal(s) ? "yes" : "");
    }
}

static void moves(struct buf *b)
{
    size_t i;

    buf_addstr(b, "\n## Moves\n\nWhat is not listed is refused.\n\n"
                  "| event | from | to | jobs | flows |\n|---|---|---|---|---|\n");
    for (i = 0; i < legal_move_count; i++) {
        const struct move *m = &legal_moves[i];

        buf_addf(b, "| `%s` | %s | %s | %s | %s |\n", action_text((int)m->action),
                 m->from ? status_text((int)m->from) : "(nothing)", status_text((int)m->to),
                 m->who & FOR_JOBS ? "yes" : "", m->who & FOR_WORKFLOWS ? "yes" : "");
    }
}

static unsigned who_has(int action)
{
    unsigned who = 0;
    size_t i;

    for (i = 0; i < legal_move_count; i++)
        if ((int)legal_moves[i].action == action)
            who |= legal_moves[i].who;
    return who;
}

/* "5", "37" or "6, 38": the codes under which an event is stored. */
static void codes(struct buf *b, int action)
{
    unsigned who = who_has(action);

    if (who & FOR_JOBS)
        buf_addf(b, "%d", action);
    buf_addstr(b, who == FOR_ALL ? ", " : "");
    if (who & FOR_WORKFLOWS)
        buf_addf(b, "%d", action + WORKFLOW_EVENT);
}

static void events(struct buf *b)
{
    int a;
    size_t i;

    buf_addf(
        b,
        "\n## Events\n\nA job's event is called `task.…`, a flow's `workflow.…`, with %d added to its "
        "code. Every event carries from, to, seq (1, 2, … of its execution), the time, and worker, "
        "attempt and epoch where there is one. `data` is JSON, or nothing.\n\n"
        "| code | event | meaning | data |\n|---|---|---|---|\n",
        WORKFLOW_EVENT);
    for (a = 1; a < EV_COUNT; a++) {
        CHECK(event_notes[a].meaning);
        CHECK(who_has(a));
        buf_addstr(b, "| ");
        codes(b, a);
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

static void holds(struct buf *b)
{
    size_t i;

    buf_addstr(
        b,
        "\n## Holds\n\nA ready job that is held is not in the outbox, can't be claimed and has no "
        "permit of any limit. `held` is the first reason that applies; when it ends, the others are "
        "looked at again.\n\n| code | hold | meaning | ended by |\n|---|---|---|---|\n");
    for (i = 0; i < COUNT(hold_notes); i++) {
        CHECK_EQ(hold_notes[i].hold, i + 1);
        buf_addf(b, "| %d | `%s` | %s | %s |\n", hold_notes[i].hold, hold_text(hold_notes[i].hold),
                 hold_notes[i].meaning, hold_notes[i].ends);
    }
    CHECK_STR(hold_text((int)COUNT(hold_notes) + 1), "?"); /* none is missing */
    buf_addstr(b, "\nA flow that is held stays pending.\n");
}

static void page(struct buf *b)
{
    buf_addstr(b, head);
    statuses(b);
    moves(b);
    events(b);
    holds(b);
}

static void read_file(const char *path, struct buf *b)
{
    FILE *f = fopen(path, "re");
    char chunk[4096];
    size_t n;

    if (!f)
        test_fail(__FILE__, __LINE__, "can't read %s: run this in the project's folder", path);
    while ((n = fread(chunk, 1, sizeof(chunk), f)) > 0)
        buf_add(b, chunk, n);
    fclose(f);
}

static void write_file(const char *path, const struct buf *b)
{
    FILE *f = fopen(path, "we");

    CHECK(f);
    CHECK_EQ(fwrite(b->ptr, 1, b->len, f), b->len);
    CHECK_EQ(fclose(f), 0);
}

/* The first line in which they differ. */
static void compare(const char *is, const char *should)
{
    int line = 1;

    while (*is && *is == *should) {
        line += *is == '\n';
        is++;
        should++;
    }
    if (*is != *should)
        test_fail(
            __FILE__, __LINE__,
            "%s differs from the code at line %d: run PAWL_WRITE_DOCS=1 build/tests/test_transitions_doc\n"
            "    file: %.60s\n    code: %.60s",
            FILE_NAME, line, is, should);
}

TEST(the_page_about_states_says_what_the_code_says)
{
    struct buf should = BUF_INIT, is = BUF_INIT;

    page(&should);
    if (getenv("PAWL_WRITE_DOCS"))
        write_file(FILE_NAME, &should);
    read_file(FILE_NAME, &is);
    compare(buf_cstr(&is), buf_cstr(&should));
    buf_release(&is);
    buf_release(&should);
}
