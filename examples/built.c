/* built.c - builds a workflow in C and runs it in the same program.
 *
 *   built DB NUMBER...       built sqlite:squares.db 3 4
 *
 * One task squares each number, by a function of this program, several at once; another one adds
 * the squares up. A second call with the same numbers finds the first execution by its key, and
 * prints its result.
 */
#include <pawl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct pawl_error e;

/* ---- the functions, which run on threads of the engine ---- */

#define LARGEST 3037000499 /* the largest number whose square fits into a long */

/* {"n":3} -> 9 */
static int square(struct pawl_call *c, void *arg)
{
    char result[24];
    long n = 0;

    (void)arg;
    if (sscanf(c->input, "{\"n\":%ld}", &n) != 1) {
        c->ops->fail(c, "the input should be {\"n\": NUMBER}");
        return 2;
    }
    if (n < -LARGEST || n > LARGEST) {
        c->ops->fail(c, "its square needs more than 64 bits");
        return 2;
    }
    snprintf(result, sizeof(result), "%ld", n * n);
    return c->ops->set_output(c, "square", result);
}

/* Sums the outputs of the items: {"of":[{"status":"succeeded","outputs":{"square":9}},…]} */
static int sum(struct pawl_call *c, void *arg)
{
    const char *at = c->input;
    char result[24];
    long total = 0;

    (void)arg;
    while ((at = strstr(at, "\"square\":")))
        total += strtol(at += strlen("\"square\":"), NULL, 10);
    snprintf(result, sizeof(result), "%ld", total);
    return c->ops->set_output(c, "sum", result);
}

/* ---- the workflow ---- */

static struct pawl_workflow *squares(void)
{
    struct pawl_workflow *w = pawl_workflow_new(&(struct pawl_workflow_keys){
        .name = "squares",
        .timeout = 60 * 1000000LL,
        .defaults = &(struct pawl_task_keys){.retries = 2, .retry = {.delay = 100000}},
        .outputs = "{\"sum\": \"${{ tasks.sum.outputs.sum }}\"}",
    });

    pawl_workflow_param(w, "numbers", &(struct pawl_param_keys){.type = "list", .required = true});
    pawl_workflow_task(w, "square",
                       &(struct pawl_task_keys){
                           .function = "square",
                           .foreach = "${{ params.numbers }}",
                           .with = "{\"n\": \"${{ item }}\"}",
                       });
    pawl_workflow_task(w, "sum",
                       &(struct pawl_task_keys){
                           .function = "sum",
                           .needs = PAWL_LIST("square"),
                           .with = "{\"of\": \"${{ tasks.square.outputs }}\"}",
                       });
    return w;
}

/* ---- the program ---- */

static int run(struct pawl *p)
{
    struct pawl_engine *engine;
    bool drained = false;
    int rc;

    if ((rc = pawl_engine_open(p, NULL, &engine, &e)))
        return rc;
    if (!(rc = pawl_engine_register(engine, "square", square, NULL, &e)))
        rc = pawl_engine_register(engine, "sum", sum, NULL, &e);
    while (!rc && !drained)
        if (!(rc = pawl_engine_step(engine, 1000, &e)))
            rc = pawl_engine_drained(engine, &drained, &e);
    pawl_engine_close(engine);
    return rc;
}

/* Only a succeeded execution has a result. */
static int show(struct pawl *p, int64_t id)
{
    const char *status;
    char *json, *result;
    int rc = pawl_status(p, id, &status, &e);

    if (!rc && strcmp(status, "succeeded") != 0) {
        e.code = PAWL_E_INTERNAL;
        snprintf(e.message, sizeof(e.message), "execution %lld is %s: `pawl why %lld` explains it",
                 (long long)id, status, (long long)id);
        return -e.code;
    }
    if (rc || (rc = pawl_show(p, id, &json, &e)))
        return rc;
    result = strstr(json, "\"result\":");
    printf("%.*s\n", (int)strcspn(result, "}") + 1, result);
    free(json);
    return 0;
}

/* Formats the numbers as JSON: 3,4. Fails if there is none or one is not a number. */
static bool read_numbers(char **words, char *to, size_t size)
{
    char *end = "", *at = to;

    for (; *words && !*end && size - (size_t)(at - to) > 30; words++) {
        at += snprintf(at, 30, "%s%ld", at > to ? "," : "", strtol(*words, &end, 10));
        if (end == *words)
            return false;
    }
    return at > to && !*words && !*end;
}

int main(int argc, char **argv)
{
    struct pawl_workflow *w = squares();
    char numbers[4000] = "", key[4020], input[4040];
    struct pawl_job job = {.built = w, .input = input, .key = key};
    bool wrong = argc < 3 || !read_numbers(argv + 2, numbers, sizeof(numbers));
    struct pawl *p = NULL;
    int rc = 0;

    snprintf(key, sizeof(key), "squares %.200s", numbers);
    snprintf(input, sizeof(input), "{\"numbers\": [%s]}", numbers);
    if (wrong) {
        fprintf(stderr, "usage: built DB NUMBER...\n");
        rc = 2;
    } else if (pawl_open(&(struct pawl_options){.url = argv[1]}, &p, &e) ||
               pawl_submit(p, &job, 1, &e) || run(p) || show(p, job.id)) {
        fprintf(stderr, "built: %s\n", e.message);
        rc = pawl_exit_code(e.code);
    }
    pawl_workflow_free(w);
    pawl_close(p);
    return rc;
}
