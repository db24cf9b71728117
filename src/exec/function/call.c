/* call.c - the operations of a running function: query its deadline, set outputs, write the log,
 * and report a failure. All run on the function's thread. */
#include "exec/function/pool.h"

#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RESULT_MAX (1024 * 1024)

static struct function_job *job_of(struct function_call *c)
{
    return (struct function_job *)c;
}

static bool cancelled(const struct function_call *c)
{
    return atomic_load_explicit(&((const struct function_job *)c)->stop_flag, memory_order_relaxed);
}

static int64_t remaining(const struct function_call *c)
{
    const struct function_job *j = (const struct function_job *)c;
    int64_t left = j->deadline - clock_boot_us();

    return !j->deadline ? INT64_MAX : left > 0 ? left : 0;
}

static void fail(struct function_call *c, const char *message)
{
    struct function_job *j = job_of(c);

    if (!j->failure && message && *message)
        j->failure = mem_strdup(message);
    else if (!j->failure)
        j->failure = mem_printf("function %s failed", j->entry->name);
}

/* Fails the attempt of a function that misused its call, because a function may ignore the return
 * value. */
static int misused(struct function_call *c, const char *sentence)
{
    fail(c, sentence);
    return -E_INVALID;
}

/* ---- outputs ---- */

static bool is_wanted(const struct function_job *j, const char *key)
{
    char *const *w = j->wanted;

    while (w && *w && strcmp(*w, key))
        w++;
    return !w || *w;
}

static struct job_output *output_slot(struct function_job *j, const char *key)
{
    struct job_output *o;

    for (size_t i = 0; i < j->outputs.n; i++)
        if (!strcmp(j->outputs.at[i].key, key))
            return &j->outputs.at[i];
    o = vec_add(&j->outputs);
    *o = (struct job_output){.key = mem_strdup(key)};
    return o;
}

static int set_output(struct function_call *c, const char *key, const char *json)
{
    struct function_job *j = job_of(c);
    struct err err = ERR_INIT;
    struct job_output *o;
    char what[80];

    if (!key || !*key || !json)
        return misused(c, "an output was set without a name, or without a value");
    if (j->result)
        return misused(c, "an output was set after a whole result");
    snprintf(what, sizeof(what), "the output %.60s", key);
    if (json_check(json, strlen(json), RESULT_MAX, what, &err))
        return misused(c, err.msg);
    snprintf(what, sizeof(what), "the result with the output %.40s", key);
    if (json_check_depth(json_depth(json, strlen(json)) + 1, JSON_DEPTH_MAX, what, &err))
        return misused(c, err.msg);
    if (!is_wanted(j, key))
        return 0;
    o = output_slot(j, key);
    free(o->json);
    o->json = mem_strdup(json);
    return 0;
}

static int set_result(struct function_call *c, const char *json)
{
    struct function_job *j = job_of(c);
    struct err err = ERR_INIT;

    if (!json)
        return misused(c, "a result was set without a value");
    if (j->outputs.n)
        return misused(c, "a whole result was set after outputs");
    if (json_check(json, strlen(json), RESULT_MAX, "the result", &err))
        return misused(c, err.msg);
    free(j->result);
    j->result = mem_strdup(json);
    return 0;
}

const char *call_result(const struct function_job *j, struct buf *out)
{
    struct json_writer w = JSON_WRITER(out);

    if (j->result || !j->outputs.n)
        return j->result;
    json_write_begin(&w, '{');
    for (size_t i = 0; i < j->outputs.n; i++) {
        json_write_key(&w, j->outputs.at[i].key);
        json_write_raw(&w, j->outputs.at[i].json);
    }
    json_write_end(&w, '}');
    return buf_cstr(out);
}

/* ---- the log ---- */

static void add_log(struct function_call *c, const char *text)
{
    struct function_job *j = job_of(c);
    size_t n = text ? strlen(text) : 0;

    if (!n)
        return;
    pthread_mutex_lock(&j->f->lock);
    if (!j->log.due)
        wakeup_at(&j->f->wakeup, clock_boot_us() + LOG_EVERY);
    capped_log_add(&j->log, text, n);
    if (text[n - 1] != '\n')
        capped_log_add(&j->log, "\n", 1);
    pthread_mutex_unlock(&j->f->lock);
}

/* ---- defer, and the end of a call ---- */

static void defer(struct function_call *c, int64_t delay)
{
    job_of(c)->defer = delay > 0 ? delay : 0;
}

const struct function_call_ops function_call_ops = {
    .cancelled = cancelled,
    .remaining = remaining,
    .set_output = set_output,
    .set_result = set_result,
    .log = add_log,
    .fail = fail,
    .defer = defer,
};

void call_free(struct function_job *j)
{
    for (size_t i = 0; i < j->outputs.n; i++) {
        free(j->outputs.at[i].key);
        free(j->outputs.at[i].json);
    }
    vec_release(&j->outputs);
    free(j->result);
    free(j->failure);
    capped_log_release(&j->log);
}
