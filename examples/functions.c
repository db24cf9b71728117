/* functions.c - a program that embeds Pawl: it is the worker, and its jobs are C functions.
 *
 *   functions DB [NAME INPUT...]     functions sqlite:jobs.db primes 1000 1000000
 *
 * NAME is "primes" (counts the primes below INPUT), or a function of a plugin in pawl.yaml.
 * The jobs are durable: kill the program, start it again, and it runs the remaining jobs. */
#include <pawl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const struct pawl_error *e)
{
    fprintf(stderr, "functions: %s\n", e->message);
    return pawl_exit_code(e->code);
}

static bool is_prime(long n)
{
    long d;

    for (d = 2; d * d <= n; d++)
        if (n % d == 0)
            return false;
    return n > 1;
}

/* Runs on a thread of the engine. Its input and its result are numbers. */
static int primes(struct pawl_call *c, void *arg)
{
    char *end, text[24];
    long limit = strtol(c->input, &end, 10), n, found = 0;

    (void)arg;
    if (*end || limit < 0) {
        c->ops->fail(c, "the limit should be a whole number");
        return 2;
    }
    for (n = 2; n < limit && !c->ops->cancelled(c); n++)
        found += is_prime(n);
    snprintf(text, sizeof(text), "%ld", found);
    return c->ops->set_result(c, text) || c->ops->cancelled(c);
}

static int submit(struct pawl *p, const char *function, const char *input, struct pawl_error *e)
{
    char name[200], lane[200];
    struct pawl_job job = {.name = name, .lane = lane, .input = input, .max_attempts = 3};

    snprintf(name, sizeof(name), "exec::%s", function);
    snprintf(lane, sizeof(lane), "function:%s", function);
    return pawl_submit(p, &job, 1, e);
}

/* An attempt has ended, and its outcome is stored: print the execution if it is terminal. */
static void on_status(void *arg, int64_t execution, const char *status)
{
    struct pawl_error e;
    char *json;

    if (!status || !strcmp(status, "ready"))
        return; /* more output, or it will be retried */
    if (pawl_show(arg, execution, &json, &e)) {
        fail(&e);
        return;
    }
    puts(json);
    fflush(stdout);
    free(json);
}

static int work(struct pawl *p, struct pawl_error *e)
{
    struct pawl_engine *engine;
    bool drained = false;
    int rc = pawl_engine_open(p, NULL, &engine, e);

    if (rc)
        return rc;
    pawl_engine_watch(engine, on_status, p);
    rc = pawl_engine_register(engine, "primes", primes, NULL, e);
    while (!rc && !drained)
        if (!(rc = pawl_engine_step(engine, 1000, e)))
            rc = pawl_engine_drained(engine, &drained, e);
    pawl_engine_close(engine);
    return rc;
}

int main(int argc, char **argv)
{
    struct pawl_options options = {.url = argc > 1 ? argv[1] : NULL};
    struct pawl_error e;
    struct pawl *p;
    int rc = 0, i;

    if (argc < 2) {
        fprintf(stderr, "usage: functions DB [NAME INPUT...]\n");
        return 2;
    }
    if (pawl_open(&options, &p, &e))
        return fail(&e);
    for (i = 3; !rc && i < argc; i++)
        rc = submit(p, argv[2], argv[i], &e);
    rc = rc || work(p, &e) ? fail(&e) : 0;
    pawl_close(p);
    return rc;
}
