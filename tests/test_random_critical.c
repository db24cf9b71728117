/* test_random_critical.c - the critical paths of random workflows, as of moments while they ran and
 * at their end: each microsecond is counted exactly once. */
#include "base/text.h"
#include "fixture.h"
#include "pawl.h"
#include "random/play.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct pawl_error err;

static int64_t integer_in(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

static int64_t sum_of_parts(const json_t *o)
{
    static const char *const keys[] = {"wait_us", "held_us", "run_us", "retry_us"};
    int64_t sum = 0;
    size_t i;

    for (i = 0; i < 4; i++) {
        CHECK(integer_in(o, keys[i]) >= 0);
        sum += integer_in(o, keys[i]);
    }
    return sum;
}

static void check_path(struct pawl *p, int64_t id, const struct pawl_moment *at)
{
    const json_t *step;
    int64_t sum = 0, from, to;
    struct err e = ERR_INIT;
    char *text = NULL;
    json_t *path;
    size_t i;

    test_check_ok(__FILE__, __LINE__, "pawl_critical", pawl_critical(p, id, at, &text, &err),
                  err.message);
    CHECK((path = json_loads(text, 0, NULL)));
    json_array_foreach(json_object_get(path, "steps"), i, step) sum += sum_of_parts(step);
    CHECK_OK(text_parse_time(json_string_value(json_object_get(path, "from")), &from, &e));
    CHECK_OK(text_parse_time(json_string_value(json_object_get(path, "to")), &to, &e));
    CHECK_EQ(sum, to - from);
    CHECK_EQ(sum, integer_in(path, "total_us"));
    json_decref(path);
    free(text);
}

TEST(critical_path_of_random_workflows_counts_each_microsecond_once)
{
    struct pawl_options o = {.url = fixture_url(), .tenant = fixture_tenant()};
    uint64_t n = strcmp(test_db(), "sqlite") ? 5 : 40, seed;
    struct playground g;
    struct pawl *p = NULL;

    playground_open(&g);
    test_check_ok(__FILE__, __LINE__, "pawl_open", pawl_open(&o, &p, &err), err.message);
    for (seed = 1; seed <= (SANITIZED ? n / 5 : n); seed++) {
        struct plan *plan = plan_new(seed);
        struct played out;
        char sql[100];
        int64_t first, last, at;

        printf("seed %llu\n", (unsigned long long)seed);
        play(&g, plan, &out);
        CHECK_STR(buf_cstr(&out.wrong), "");
        snprintf(sql, sizeof(sql),
                 "SELECT min(sequence_num) FROM execution_events WHERE root = %lld",
                 (long long)out.root);
        first = sql_number(g.stores[0], sql);
        last = sql_number(g.stores[0], "SELECT max(sequence_num) FROM execution_events");
        for (at = first; at <= last; at += 1 + (last - first) / 7)
            check_path(p, out.root, &(struct pawl_moment){.event = at});
        check_path(p, out.root, NULL);
        played_release(&out);
        plan_free(plan);
    }
    pawl_close(p);
    verify_clean(g.stores[0]);
    playground_close(&g);
}
