/* built.c - a workflow that is put together in C, and run by the same program.
 *
 *   built DB NUMBER...       built sqlite:squares.db 3 4
 *
 * One task for each number, the functions of this program, several at once; then one that adds them
 * up. Named again with the same numbers it is the same execution, which has ended: the key says so.
 */
#include <pawl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct pawl_error e;

/* ---- the work: on threads of the engine's ---- */

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
    snprintf(result, sizeof(result), "%ld", n * n);
    return c->ops->set_output(c, "square", result);
}

/* What the items left: {"of":[{"status":"succeeded","outputs":{"square":9}},…]} -> their sum */
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
        .defaults = &(struct pawl_task_keys){.retries = 2},
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

static int show(struct pawl *p, int64_t id)
{
    char *json, *result;
    int rc = pawl_show(p, id, &json, &e);

    if (rc)
        return rc;
    result = strstr(json, "\"result\":");
    printf("%.*s\n", (int)strcspn(result, "}") + 1, result);
    free(json);
    return 0;
}

int main(int argc, char **argv)
{
    struct pawl_workflow *w = squares();
    char numbers[4000] = "", key[4020], input[4040];
    struct pawl_job job = {.built = w, .input = input, .key = key};
    struct pawl *p = NULL;
    int i, rc = 0;

    for (i = 2; i < argc && strlen(numbers) < 3900; i++)
        snprintf(numbers + strlen(numbers), 30, "%s%ld", i > 2 ? "," : "",
                 strtol(argv[i], NULL, 10));
    snprintf(key, sizeof(key), "squares %.200s", numbers);
    snprintf(input, sizeof(input), "{\"numbers\": [%s]}", numbers);
    if (argc < 3) {
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
