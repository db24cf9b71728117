/* control.c - actions on executions: cancel, pause, resume, skip, approve, reject, rerun. Each
 * action answers with the execution as it is afterwards. */
#include "server/server.h"

#include <stdlib.h>
#include <string.h>

static void answer_shown(struct request *r, int64_t id)
{
    struct pawl_error err = {0};
    char *json;

    if (pawl_show(r->p, id, &json, &err)) {
        answer_error(r, &err);
        return;
    }
    answer_json(r, 200, json);
    free(json);
}

static bool begin(struct request *r, int64_t *id, struct values **v)
{
    size_t n;

    return path_id(r, id) && body_read(r, v, &n);
}

/* An action that needs only an id, the user who requests it, and a reason. */
typedef int action(struct pawl *p, int64_t id, const char *by, const char *reason,
                   struct pawl_error *err);

static void carry_out(struct request *r, action *act)
{
    struct pawl_error err = {0};
    struct values *v;
    int64_t id;

    if (!begin(r, &id, &v))
        return;
    if (act(r->p, id, r->by, value_text(v, "reason"), &err))
        answer_error(r, &err);
    else
        answer_shown(r, id);
}

static void pause_execution(struct request *r)
{
    carry_out(r, pawl_pause);
}

static void resume_execution(struct request *r)
{
    carry_out(r, pawl_resume);
}

static void skip(struct request *r)
{
    carry_out(r, pawl_skip);
}

static void approve(struct request *r)
{
    carry_out(r, pawl_approve);
}

static void reject(struct request *r)
{
    carry_out(r, pawl_reject);
}

static void cancel(struct request *r)
{
    struct pawl_cancelled out;
    struct pawl_error err = {0};
    struct values *v;
    int64_t id;
    int rc;

    if (!begin(r, &id, &v))
        return;
    rc = (value_bool(v, "let_finish") ? pawl_let_finish : pawl_cancel)(
        r->p, id, r->by, value_text(v, "reason"), &out, &err);
    if (rc) {
        answer_error(r, &err);
        return;
    }
    answer_header(r, "Pawl-Left", "%lld", (long long)out.left);
    answer_shown(r, id);
}

/* Another definition runs any program on the workers. */
static bool may_replace(struct request *r, const struct pawl_rerun *how)
{
    if (!how->document || (r->scopes & PAWL_SCOPE_ADMIN))
        return true;
    answer_problem(r, 403, "forbidden", "a rerun with another definition needs the scope admin");
    return false;
}

static void rerun(struct request *r)
{
    struct pawl_error err = {0};
    struct pawl_rerun how;
    struct values *v;
    char *json;
    int64_t id;

    if (!begin(r, &id, &v))
        return;
    how = (struct pawl_rerun){.failed = value_bool(v, "failed"),
                              .from = value_text(v, "from"),
                              .params = value_of(v, "params")->list,
                              .document = value_text(v, "document"),
                              .dry_run = value_bool(v, "dry_run"),
                              .by = r->by,
                              .reason = value_text(v, "reason")};
    if (!may_replace(r, &how))
        return;
    if (pawl_rerun(r->p, id, &how, &json, &err)) {
        answer_error(r, &err);
        return;
    }
    answer_json(r, 200, json);
    free(json);
}

#define MEMBER_REASON RULE("reason", TEXT, "recorded in the history", .min = 1, .max = 1000)
static const struct value_rule reason_only[] = {MEMBER_REASON, {0}};
static const struct value_rule cancel_members[] = {
    MEMBER_REASON, RULE("let_finish", BOOL, "running jobs may finish; no further jobs start"), {0}};
static const struct value_rule rerun_members[] = {
    MEMBER_REASON,
    RULE("failed", BOOL, "only what failed or was cancelled, and its followers"),
    RULE("from", TEXT, "only this task and its followers", .min = 1, .max = 200),
    RULE("params", TEXTS, "NAME=VALUE: other values, which makes a new execution"),
    RULE("document", OBJECT,
         "another definition, as `document` of a workflow in detail has it, which makes a new "
         "execution; needs the scope admin"),
    RULE("dry_run", BOOL, "report what would run, and change nothing"),
    {0}};

#define OPERATE PAWL_SCOPE_OPERATE, PLANE_CONTROL, NULL
const struct endpoint control_endpoints[] = {
    {"POST", "/v1/executions/{id}/cancel", "cancel",
     "Cancels an execution and its descendants. The header Pawl-Left counts those that still run and were asked to end.",
     OPERATE, cancel_members, .answer = "Execution", .status = 200, .run = cancel},
    {"POST", "/v1/executions/{id}/pause", "pause",
     "Keeps an execution and its descendants from starting.", OPERATE, reason_only,
     .answer = "Execution", .status = 200, .run = pause_execution},
    {"POST", "/v1/executions/{id}/resume", "resume", "Ends a pause.", OPERATE, reason_only,
     .answer = "Execution", .status = 200, .run = resume_execution},
    {"POST", "/v1/executions/{id}/skip", "skip", "Skips an execution that has not started.",
     OPERATE, reason_only, .answer = "Execution", .status = 200, .run = skip},
    {"POST", "/v1/executions/{id}/approve", "approve",
     "Approves the approval that a task waits for.", OPERATE, reason_only, .answer = "Execution",
     .status = 200, .run = approve},
    {"POST", "/v1/executions/{id}/reject", "reject",
     "Rejects the approval that a task waits for, which fails the task.", OPERATE, reason_only,
     .answer = "Execution", .status = 200, .run = reject},
    {"POST", "/v1/executions/{id}/rerun", "rerun", "Runs an ended execution again.", OPERATE,
     rerun_members, .answer = "Rerun", .status = 200, .run = rerun},
    {0},
};
