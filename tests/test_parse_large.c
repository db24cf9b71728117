/* test_parse_large.c - workflow files at their size limits and above: valid ones take little
 * time and memory, invalid ones are refused quickly. */
#include "parse_fixture.h"

#include <time.h>

TEST_NO_DB;

/* Processor time, because other processes may use the machine, too. */
static double cpu_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- valid files ---- */

/* A ladder: each task needs the two before it. */
static void add_ladder(struct buf *b, int n)
{
    int i;

    buf_addstr(b, "defaults: {retry: 2, timeout: 10m}\ntasks:\n");
    for (i = 0; i < n; i++)
        if (i < 2)
            buf_addf(b, "  t%d: x\n", i);
        else
            buf_addf(b, "  t%d: {run: x, needs: [t%d, t%d]}\n", i, i - 1, i - 2);
}

/* Parses, checks, writes and reads back a ladder. Returns the seconds of processor time. */
static double time_ladder(int n)
{
    struct buf yaml = BUF_INIT;
    double from, took;
    struct fixture f;

    add_ladder(&yaml, n);
    from = cpu_seconds();
    f = parse_bytes(yaml.ptr, yaml.len);
    check_inverse(f.w);
    took = cpu_seconds() - from;
    CHECK_EQ(f.w->ntasks, n);
    CHECK_EQ(f.w->tasks[n / 2].nfollowers, 2);
    CHECK_EQ(f.w->tasks[n / 2].followers[1], n / 2 + 2);
    done(&f);
    buf_release(&yaml);
    return took;
}

TEST_SLOW(hundred_thousand_tasks_parse_in_linear_time, 600)
{
    int n = SANITIZED ? WORKFLOW_MAX_TASKS / 5 : WORKFLOW_MAX_TASKS;
    double few = time_ladder(n / 8), many = time_ladder(n);

    if (many > 4 * 8 * few)
        test_fail(__FILE__, __LINE__, "%d tasks take %.3f s, %d take %.3f s", n / 8, few, n, many);
}

static long high_water(void)
{
    FILE *f = fopen("/proc/self/status", "re");
    char line[256];
    long kb = -1;

    CHECK(f);
    while (fgets(line, sizeof(line), f))
        if (!strncmp(line, "VmHWM:", 6))
            kb = strtol(line + 6, NULL, 10);
    fclose(f);
    return kb;
}

TEST_SLOW(hundred_thousand_tasks_parse_in_bounded_memory, 600)
{
#ifdef __SANITIZE_ADDRESS__
    SKIP("the sanitizer's own memory would be counted");
#else
    struct buf yaml = BUF_INIT;
    struct arena arena = ARENA_INIT;
    const struct workflow *w;
    struct err err = ERR_INIT;
    struct fixture f;
    char *text;

    add_ladder(&yaml, WORKFLOW_MAX_TASKS);
    f = parse_bytes(yaml.ptr, yaml.len);
    text = text_of(f.w);
    done(&f);
    CHECK_OK_ERR(workflow_read(text, strlen(text), &arena, &w, &err), &err);
    free(text);
    arena_release(&arena);
    buf_release(&yaml);
    CHECK(high_water() < 300 * 1024);
#endif
}

/* ---- invalid files ---- */

/* Invalid files are refused within this time, however large they are. */
#define LONGEST (SANITIZED ? 60 : 10) /* seconds */

static char *diagnose_quickly(const struct buf *text)
{
    double from = cpu_seconds();
    char *errors = diagnostics_of(text->ptr, text->len);

    CHECK(cpu_seconds() - from < LONGEST);
    return errors;
}

/* Checks that the text is refused with an error that contains `part`. Releases the text. */
static void check_refused(struct buf *text, const char *part)
{
    char *errors = diagnose_quickly(text);

    if (!strstr(errors, part))
        test_fail(__FILE__, __LINE__, "\"%s\" is not in: %.500s", part, errors);
    free(errors);
    buf_release(text);
}

TEST(workflow_with_one_task_over_the_limit_is_refused)
{
    struct buf b = BUF_INIT;
    char *errors;
    int i;

    buf_addstr(&b, "tasks:\n");
    for (i = 0; i <= WORKFLOW_MAX_TASKS; i++)
        buf_addf(&b, "  t%d: x\n", i);
    errors = diagnose_quickly(&b);
    CHECK_STR(errors, "2:3: tasks: the workflow has 100001 tasks; at most 100000 are allowed");
    free(errors);
    buf_release(&b);
}

TEST(cycle_of_a_hundred_thousand_tasks_is_reported_with_an_abbreviated_path)
{
    struct buf b = BUF_INIT;
    char *errors;
    int i;

    buf_addstr(&b, "tasks:\n");
    for (i = 0; i < WORKFLOW_MAX_TASKS; i++)
        buf_addf(&b, "  t%d: {run: x, needs: t%d}\n", i, (i + 1) % WORKFLOW_MAX_TASKS);
    errors = diagnose_quickly(&b);
    CHECK(strstr(errors, "2:3: tasks need each other in a cycle: t0 -> t1 -> "));
    CHECK(strstr(errors, " -> … 99981 more … -> t99990 -> "));
    CHECK(!strcmp(errors + strlen(errors) - 12, "t99999 -> t0"));
    free(errors);
    buf_release(&b);
}

TEST(references_to_distant_upstream_tasks_are_checked_quickly)
{
    struct buf b = BUF_INIT;
    char *errors;
    int i;

    /* Two chains; each task refers to one far before it, the last one to a task of the other. */
    buf_addstr(&b, "tasks:\n  a0: x\n  b0: x\n");
    for (i = 1; i < 30000; i++)
        buf_addf(&b,
                 "  a%d: {run: x, needs: a%d, if: tasks.a%d.status != ''}\n"
                 "  b%d: {run: x, needs: b%d, if: tasks.%s%d.status != ''}\n",
                 i, i - 1, i > 20 ? i / 2 : 0, i, i - 1, i == 29999 ? "a" : "b",
                 i > 20 ? i - 20 : 0);
    errors = diagnose_quickly(&b);
    CHECK_STR(errors,
              "60001:39: tasks.b29999.if refers to the task \"a29979\", which \"b29999\" does "
              "not need: add it to needs");
    free(errors);
    buf_release(&b);
}

TEST(aliases_that_expand_to_too_much_text_are_refused)
{
    struct buf b = BUF_INIT;
    int i;

    buf_addstr(&b, "vars:\n  a: &a '");
    for (i = 0; i < 500000; i++)
        buf_addch(&b, 'x');
    buf_addstr(&b, "'\n  b: &b [");
    for (i = 0; i < 1000; i++)
        buf_addstr(&b, "*a,");
    buf_addstr(&b, "]\n  c: [");
    for (i = 0; i < 1000; i++)
        buf_addstr(&b, "*b,");
    buf_addstr(&b, "]\ntasks: [x]\n");
    check_refused(&b, "exceeds the limit of 32 MB");
}

TEST(defaults_that_expand_to_too_much_text_are_refused)
{
    struct buf b = BUF_INIT;
    int i;

    buf_addstr(&b, "defaults: {container: {options: [");
    for (i = 0; i < 1000; i++)
        buf_addf(&b, "--very-long-option=%d,", i);
    buf_addstr(&b, "]}}\ntasks:\n");
    for (i = 0; i < 50000; i++)
        buf_addf(&b, "  t%d: x\n", i);
    check_refused(&b, "exceeds the limit of 32 MB");
}

TEST(file_with_an_error_on_every_line_is_refused_quickly)
{
    struct buf b = BUF_INIT;
    int i;

    buf_addstr(&b, "tasks:\n");
    for (i = 0; i < WORKFLOW_MAX_TASKS; i++)
        buf_addf(&b, "  t%d: {rnu: x, needs: tt%d, env: {A: '${{ params.x }}'}}\n", i, i);
    check_refused(&b, "2:8: there is no key \"rnu\" in tasks.t0; did you mean \"run\"?");
}
