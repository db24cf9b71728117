/* queues.c - endpoints of queues, workers and SQL submissions, and the overview. */
#include "server/server.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 100 /* lines, unless the request says otherwise */

static void queues(struct request *r)
{
    struct pawl_error err = {0};
    struct page page = {0};
    int rc = pawl_queues(r->p, page_line, &page, &err);

    answer_lines(r, rc, &page, &err);
}

static void workers(struct request *r)
{
    struct pawl_error err = {0};
    struct page page = {0};
    int rc = pawl_workers(r->p, page_line, &page, &err);

    answer_lines(r, rc, &page, &err);
}

static void submissions(struct request *r)
{
    int64_t n = value_int(&r->args, "limit");
    struct pawl_submission_query q = {.status = value_text(&r->args, "status"),
                                      .limit = n ? n : PAGE,
                                      .cursor = value_text(&r->args, "cursor")};
    struct pawl_error err = {0};
    struct page page = {0};
    char *next;

    if (pawl_submissions(r->p, &q, page_line, &page, &next, &err)) {
        buf_release(&page.out);
        if (err.code == PAWL_E_INVALID)
            answer_problem(r, 400, "invalid", "%s", err.message);
        else
            answer_error(r, &err);
        return;
    }
    answer_page(r, &page, next);
    free(next);
}

static void overview(struct request *r)
{
    struct pawl_overview_query q = {.part = value_text(&r->args, "part"),
                                    .limit = value_int(&r->args, "limit")};
    struct pawl_error err = {0};
    char *json;

    if (pawl_overview(r->p, &q, &json, &err)) {
        answer_error(r, &err);
        return;
    }
    answer_json(r, 200, json);
    free(json);
}

/* After a change, answers with the queues. */
static void answer_changed(struct request *r, int rc, const struct pawl_error *err)
{
    if (rc)
        answer_error(r, err);
    else
        queues(r);
}

static void set_limit(struct request *r)
{
    struct pawl_error err = {0};
    struct values *v;
    size_t n;

    if (body_read(r, &v, &n)) {
        int max = value_of(v, "max")->given ? (int)value_int(v, "max") : -1;
        int rc = pawl_queue_limit(r->p, r->path_args[0], max, r->by, value_text(v, "reason"), NULL,
                                  &err);

        answer_changed(r, rc, &err);
    }
}

static void pause_queue(struct request *r)
{
    struct pawl_error err = {0};
    struct values *v;
    size_t n;

    if (body_read(r, &v, &n)) {
        int rc = pawl_queue_pause(r->p, r->path_args[0], r->by, value_text(v, "reason"), &err);

        answer_changed(r, rc, &err);
    }
}

static void resume_queue(struct request *r)
{
    struct pawl_error err = {0};
    struct values *v;
    size_t n;

    if (body_read(r, &v, &n)) {
        int rc = pawl_queue_resume(r->p, r->path_args[0], r->by, value_text(v, "reason"), &err);

        answer_changed(r, rc, &err);
    }
}

/* Answers with the workers. */
static void drain_worker(struct request *r)
{
    struct pawl_error err = {0};
    struct values *v;
    size_t n;

    if (!body_read(r, &v, &n))
        return;
    if (pawl_worker_drain(r->p, r->path_args[0], r->by, value_text(v, "reason"), &err))
        answer_error(r, &err);
    else
        workers(r);
}

#define MEMBER_REASON RULE("reason", TEXT, "recorded with the action", .min = 1, .max = 1000)
static const struct value_rule reason_only[] = {MEMBER_REASON, {0}};
static const struct value_rule limit_members[] = {
    RULE("max", INT, "how many jobs may run at once; null or not given: no limit", .nullable = true,
         .min = 0, .max = INT_MAX - 1),
    MEMBER_REASON,
    {0}};
static const struct value_rule submission_args[] = {
    RULE("status", WORD, "only with this status", .words = "waiting|taken|refused"),
    RULE("cursor", TEXT, "the cursor of the page, as `next` of the page before has it", .max = 60),
    RULE("limit", INT, "the size of a page; 100 if not given", .min = 1, .max = LIST_MAX),
    {0}};
static const struct value_rule overview_args[] = {
    RULE("part", TEXT, "only running jobs whose name or queue has this part", .max = 200),
    RULE("limit", INT, "how many running jobs; 100 if not given", .min = 1, .max = LIST_MAX),
    {0}};

#define READ    PAWL_SCOPE_READ, PLANE_READ
#define OPERATE PAWL_SCOPE_OPERATE, PLANE_CONTROL
const struct endpoint queue_endpoints[] = {
    {"GET", "/v1/queues", "listQueues", "Lists queues with what waits and runs in them.", READ,
     .answer = "Queue", .page = true, .status = 200, .run = queues},
    {"PUT", "/v1/queues/{name}/limit", "limitQueue", "Limits how many jobs of a queue run at once.",
     OPERATE, .body = limit_members, .answer = "Queue", .page = true, .status = 200,
     .run = set_limit},
    {"POST", "/v1/queues/{name}/pause", "pauseQueue",
     "Keeps jobs of a queue from being claimed; running jobs continue.", OPERATE,
     .body = reason_only, .answer = "Queue", .page = true, .status = 200, .run = pause_queue},
    {"POST", "/v1/queues/{name}/resume", "resumeQueue", "Ends the pause of a queue.", OPERATE,
     .body = reason_only, .answer = "Queue", .page = true, .status = 200, .run = resume_queue},
    {"GET", "/v1/workers", "listWorkers", "Lists workers.", READ, .answer = "Worker", .page = true,
     .status = 200, .run = workers},
    {"POST", "/v1/workers/{worker}/drain", "drainWorker",
     "Asks a worker to claim nothing more, to finish what it runs, commands too, and to exit. A worker "
     "in a server claims nothing more; the server goes on serving. It can't be undone.",
     OPERATE, .body = reason_only, .answer = "Worker", .page = true, .status = 200,
     .run = drain_worker},
    {"GET", "/v1/submissions", "listSubmissions",
     "Lists SQL submissions, newest first, or if they wait, oldest first.", READ, submission_args,
     .answer = "Submission", .page = true, .status = 200, .run = submissions},
    {"GET", "/v1/overview", "getOverview", "Shows queues, workers and running jobs at once.", READ,
     overview_args, .answer = "Overview", .status = 200, .run = overview},
    {0},
};
