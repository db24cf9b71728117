/* process_start.c - begins an attempt: a folder, a request to the helper. Until the request is sent
 * nothing has begun; from then on only a look under the attempt's lock tells. */
#include "exec/process_internal.h"
#include "exec/process_request.h"

#include "base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void make_key(char out[ATTEMPT_KEY_SIZE])
{
    unsigned char bytes[16];

    env_random(bytes, sizeof(bytes));
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

static void fill(const struct process *p, const struct task *t, struct request *r)
{
    const struct spec *s = t->spec;

    r->execution = t->execution;
    r->attempt = t->attempt;
    r->epoch = t->epoch;
    r->until = t->lease_until;
    r->fence = p->fence && t->lease_until ? p->fence : -1;
    r->timeout = s->timeout;
    r->grace = s->grace > 0 ? s->grace : p->grace;
    r->head = p->log_head;
    r->tail = p->log_tail;
    r->memory = s->limits.memory;
    r->cpu = s->limits.cpu;
    r->files = s->limits.files;
    r->pids = s->limits.pids;
    r->cwd = s->cwd;
    r->user = s->user;
    r->input = s->input;
}

static int make_request(struct process *p, const struct task *t, struct buf *out, struct err *err)
{
    char key[ATTEMPT_KEY_SIZE], name[ATTEMPT_NAME_SIZE];
    const char *shell[] = {"/bin/sh", "-c", t->spec->run, NULL};
    struct variables v = {0};
    struct request r = {.key = key};
    char *output;
    int rc;

    make_key(key);
    output = mem_printf("%s/%s/%s", p->dir_path, attempt_name(t->execution, t->attempt, name),
                        ATTEMPT_OUTPUT);
    rc = process_variables(p, t, key, output, &v, err);
    if (!rc) {
        fill(p, t, &r);
        r.output = output;
        r.argv = t->spec->run ? shell : (const char **)(uintptr_t)t->spec->argv;
        r.env = (const char **)(uintptr_t)v.all.at;
        r.secrets = (const char **)(uintptr_t)v.secrets.at;
        request_write(&r, out);
    }
    process_variables_release(&v);
    free(output);
    return rc;
}

static int check(const struct process *p, const struct task *t, struct err *err)
{
    if (p->closed)
        return err_set(err, E_REFUSED, "this worker takes nothing more");
    if (!t->spec->run && (!t->spec->argv || !t->spec->argv[0]))
        return err_set(err, E_INVALID, "there is no command: say `run` or `argv`");
    if (t->lease_until && t->lease_until - clock_boot_us() < p->lease / 2)
        return err_set(err, E_REFUSED, "less than half of its lease is left");
    return 0;
}

static int make_folder(struct process *p, const struct task *t, struct err *err)
{
    int at;

    env_point(p->x.env, "process:before-folder");
    at = attempt_make(p->dir, t->execution, t->attempt);
    if (at >= 0) {
        env_point(p->x.env, "process:folder");
        return at;
    }
    /* The next attempt has another name: given back, it gets one that is free. */
    if (errno == EEXIST)
        return err_set(err, E_REFUSED, "attempt %d of execution %lld has a folder already",
                       t->attempt, (long long)t->execution);
    return err_set(err, E_REFUSED, "no folder can be made in %s: %s", p->dir_path, strerror(errno));
}

int process_start(struct executor *x, const struct task *t, struct err *err)
{
    struct process *p = (struct process *)x;
    struct buf request = BUF_INIT;
    char name[ATTEMPT_NAME_SIZE];
    struct watch *w;
    int rc, at;

    if ((rc = check(p, t, err)) || (rc = process_helper_start(p, err)) ||
        (rc = make_request(p, t, &request, err)))
        goto done;
    at = make_folder(p, t, err);
    if (at < 0) {
        rc = at;
        goto done;
    }
    w = watch_new(p, t, at);
    env_point(p->x.env, "process:before-request");
    rc = process_helper_ask(p, w, &request, err);
    if (rc) {
        watch_drop(p, w);
        attempt_remove(p->dir, attempt_name(t->execution, t->attempt, name));
        goto done;
    }
    w->look_at = clock_boot_us() + p->lease;
    process_wake_at(p, w->look_at);
    env_point(p->x.env, "process:asked");
done:
    if (request.ptr)
        explicit_bzero(request.ptr, request.cap);
    buf_release(&request);
    return rc;
}
