/* schedules.c - endpoints of schedules: lists, due times, pause, resume, run now. */
#include "server/server.h"

#include <stdio.h>
#include <stdlib.h>

static void list(struct request *r)
{
    struct pawl_error err = {0};
    struct page page = {0};
    int rc = pawl_schedules(r->p, value_text(&r->args, "name"), page_line, &page, &err);

    answer_lines(r, rc, &page, &err);
}

static void next(struct request *r)
{
    const struct value *n = value_of(&r->args, "limit");
    struct pawl_error err = {0};
    struct page page = {0};
    int rc = pawl_schedule_next(r->p, value_text(&r->args, "name"), n->given ? (size_t)n->n : 20,
                                page_line, &page, &err);

    answer_lines(r, rc, &page, &err);
}

typedef int action(struct pawl *p, const char *name, const char *by, const char *reason,
                   struct pawl_error *err);

/* Carries out the action, and answers with the schedules that it changed. */
static void carry_out(struct request *r, action *act)
{
    struct pawl_error err = {0};
    struct page page = {0};
    struct values *v;
    size_t n;
    int rc;

    if (!body_read(r, &v, &n))
        return;
    rc = act(r->p, r->path_args[0], r->by, value_text(v, "reason"), &err);
    if (!rc)
        rc = pawl_schedules(r->p, r->path_args[0], page_line, &page, &err);
    answer_lines(r, rc, &page, &err);
}

static void pause_schedule(struct request *r)
{
    carry_out(r, pawl_schedule_pause);
}

static void resume_schedule(struct request *r)
{
    carry_out(r, pawl_schedule_resume);
}

static void run(struct request *r)
{
    struct pawl_error err = {0};
    struct values *v;
    char text[64];
    int64_t id;
    size_t n;

    if (!body_read(r, &v, &n))
        return;
    if (pawl_schedule_run(r->p, r->path_args[0], r->by, value_text(v, "reason"), &id, &err)) {
        answer_error(r, &err);
        return;
    }
    snprintf(text, sizeof(text), "{\"id\":%lld,\"existed\":false}", (long long)id);
    answer_header(r, "Location", "/v1/executions/%lld", (long long)id);
    answer_json(r, 201, text);
}

#define ARG_NAME RULE("name", TEXT, "only those of this workflow, or this schedule", .max = 400)
static const struct value_rule name_only[] = {ARG_NAME, {0}};
static const struct value_rule next_args[] = {
    ARG_NAME,
    RULE("limit", INT, "how many due times; 20 if not given", .min = 0, .max = 10000),
    {0}};
static const struct value_rule reason_only[] = {
    RULE("reason", TEXT, "recorded with the action", .min = 1, .max = 1000), {0}};

#define READ    PAWL_SCOPE_READ, PLANE_READ
#define OPERATE PAWL_SCOPE_OPERATE, PLANE_CONTROL
const struct endpoint schedule_endpoints[] = {
    {"GET", "/v1/schedules", "listSchedules", "Lists schedules by name.", READ, name_only,
     .answer = "Schedule", .page = true, .status = 200, .run = list},
    {"GET", "/v1/schedules/next", "listDueTimes", "Lists the next due times, earliest first.", READ,
     next_args, .answer = "DueTime", .page = true, .status = 200, .run = next},
    {"POST", "/v1/schedules/{name}/pause", "pauseSchedule",
     "Pauses a schedule: WORKFLOW/NAME, or all of a WORKFLOW.", OPERATE, .body = reason_only,
     .answer = "Schedule", .page = true, .status = 200, .run = pause_schedule},
    {"POST", "/v1/schedules/{name}/resume", "resumeSchedule",
     "Continues a schedule with due times from now on.", OPERATE, .body = reason_only,
     .answer = "Schedule", .page = true, .status = 200, .run = resume_schedule},
    {"POST", "/v1/schedules/{name}/run", "runSchedule",
     "Starts a run now with the values of a schedule.", OPERATE, .body = reason_only,
     .answer = "Receipt", .status = 201, .run = run},
    {0},
};
