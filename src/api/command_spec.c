/* command_spec.c - writes a command as the JSON of pawl_job.spec. It includes the defaults of the
 * submitter's configuration, so that the job runs in the same way on every worker. */
#include "api/api.h"

#include "core/spec.h"

#include <string.h>

size_t api_count(const char *const *list)
{
    size_t n = 0;

    while (list && list[n])
        n++;
    return n;
}

static int read_variables(const char *const *list, const struct spec_pair **out, size_t *n,
                          struct arena *arena, struct err *err)
{
    struct spec_pair *pairs = arena_zalloc(arena, (api_count(list) + 1) * sizeof(*pairs));

    *n = api_count(list);
    *out = pairs;
    for (size_t i = 0; i < *n; i++) {
        const char *equals = strchr(list[i], '=');

        if (!equals)
            return err_set(err, E_INVALID,
                           "the environment entry '%s' has no '=': write NAME=VALUE", list[i]);
        pairs[i] = (struct spec_pair){
            .key = arena_memdup0(arena, list[i], (size_t)(equals - list[i])), .value = equals + 1};
    }
    return 0;
}

static void set_retry(const struct config *c, const struct pawl_retry *r, struct retry_policy *to)
{
    *to = c->retry;
    if (!r)
        return;
    if (r->delay)
        to->delay = r->delay;
    if (r->backoff != 0)
        to->backoff = r->backoff;
    if (r->max_delay)
        to->max_delay = r->max_delay;
    if (r->jitter != 0)
        to->jitter = r->jitter < 0 ? 0 : r->jitter;
    if (to->max_delay < to->delay)
        to->max_delay = to->delay;
    if (r->codes) {
        to->codes = r->codes;
        to->ncodes = r->ncodes;
    }
}

static int set_command(const struct pawl_command *c, struct spec *s, struct arena *arena,
                       struct err *err)
{
    if (!c->run == !c->argv)
        return err_set(err, E_INVALID, "the command has %s: give one of them",
                       c->run ? "both run and argv" : "neither run nor argv");
    s->run = c->run;
    s->shell = c->shell;
    s->nshell = api_count(c->shell);
    s->argv = c->argv;
    s->argc = api_count(c->argv);
    s->cwd = c->cwd;
    s->input = c->input;
    s->user = c->user;
    s->secrets = c->secrets;
    s->nsecrets = api_count(c->secrets);
    s->outputs = c->outputs;
    s->noutputs = api_count(c->outputs);
    s->timeout = c->timeout ? c->timeout : s->timeout;
    s->grace = c->grace;
    s->limits.memory = c->memory;
    s->limits.cpu = c->cpu;
    s->limits.files = c->files;
    s->limits.pids = c->pids;
    TRY(read_variables(c->input_files, &s->files, &s->nfiles, arena, err));
    return read_variables(c->env, &s->env, &s->nenv, arena, err);
}

int pawl_command_spec(struct pawl *p, const struct pawl_command *command,
                      const struct pawl_retry *retry, char **out, struct pawl_error *e)
{
    struct spec s = {.timeout = p->config->timeout}, checked;
    AUTO_ARENA arena = ARENA_INIT;
    AUTO_BUF b = BUF_INIT;
    API_ERR(e);

    set_retry(p->config, retry, &s.retry);
    if (command)
        TRY(set_command(command, &s, &arena, err));
    spec_write(&s, &b);
    TRY(spec_parse(buf_cstr(&b), &arena, &checked, err));
    *out = mem_strdup(buf_cstr(&b));
    return 0;
}

int pawl_default_attempts(struct pawl *p)
{
    return p->config->retry.max + 1;
}
