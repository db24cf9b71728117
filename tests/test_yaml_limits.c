/* test_yaml_limits.c - the YAML reader: neither large nor malicious files take much time or memory.
 */
#include "yaml_fixture.h"

#include <malloc.h>
#include <stdio.h>
#include <time.h>

TEST_LONG;
TEST_NO_DB;

/* CPU time in µs, which does not depend on the load of the machine. */
static int64_t cpu_time(void)
{
    struct timespec t;

    CHECK_OK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t));
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static double seconds_since(int64_t from)
{
    return (double)(cpu_time() - from) / 1e6;
}

TEST(alias_bomb_is_refused_quickly)
{
    struct buf text = BUF_INIT;
    struct reading *r;
    int64_t from = cpu_time();
    int i, k;

    buf_addstr(&text, "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for (i = 1; i < 30; i++) {
        buf_addf(&text, "a%d: &a%d [", i, i);
        for (k = 0; k < 10; k++)
            buf_addf(&text, "%s*a%d", k ? ", " : "", i - 1);
        buf_addstr(&text, "]\n");
    }
    r = read_text(text.ptr);
    CHECK_EQ(r->rc, -E_INVALID);
    CHECK(strstr(diagnostics_text(r),
                 "with its aliases expanded, the document has more than 2000000 values"));
    CHECK(seconds_since(from) < 5); /* expanded copies would never end */
    buf_release(&text);
    done(r);
}

static struct reading *nested(int depth, const char *open, const char *close)
{
    struct buf text = BUF_INIT;
    struct reading *r;
    int i;

    for (i = 0; i < depth; i++)
        buf_addstr(&text, open);
    for (i = 0; i < depth; i++)
        buf_addstr(&text, close);
    r = read_text(text.ptr);
    buf_release(&text);
    return r;
}

TEST(nesting_beyond_64_levels_is_refused_even_through_aliases)
{
    struct buf text = BUF_INIT;
    struct reading *r = nested(YAML_MAX_DEPTH, "[", "]");
    int i;

    CHECK_OK(r->rc);
    done(r);
    r = nested(YAML_MAX_DEPTH + 1, "[", "]");
    CHECK_STR(diagnostics_text(r),
              "1:65: lists and mappings are nested more than 64 levels deep here");
    done(r);
    r = nested(1000000, "[", "");
    CHECK_STR(diagnostics_text(r),
              "1:65: lists and mappings are nested more than 64 levels deep here");
    done(r);
    r = nested(1000000, "{a: ", "}");
    CHECK(strstr(diagnostics_text(r), "nested more than 64 levels deep"));
    done(r);
    r = nested(100000, "- ", "");
    CHECK(strstr(diagnostics_text(r), "nested more than 64 levels deep"));
    done(r);
    buf_addstr(&text, "- &a0 []\n");
    for (i = 1; i < 100; i++)
        buf_addf(&text, "- &a%d [*a%d]\n", i, i - 1);
    r = read_text(text.ptr);
    CHECK_STR(diagnostics_text(r),
              "64:9: lists and mappings are nested more than 64 levels deep here");
    buf_release(&text);
    done(r);
}

TEST(too_many_nodes_or_bytes_are_refused)
{
    struct buf text = BUF_INIT;
    struct reading *r;
    size_t i;

    buf_addch(&text, '[');
    for (i = 0; i < YAML_MAX_NODES + 10; i++)
        buf_addstr(&text, "a,");
    buf_addch(&text, ']');
    r = read_text(text.ptr);
    CHECK(strstr(diagnostics_text(r), "more than 2000000 values"));
    done(r);
    while (text.len <= SOURCE_MAX)
        buf_addstr(&text, "# and on it goes, and on and on and on\n");
    r = read_text(text.ptr);
    CHECK_STR(diagnostics_text(r), "1:1: the text is longer than 8 MB");
    buf_release(&text);
    done(r);
}

/* Reads a mapping of n keys and looks up each of them; returns the seconds it took. */
static double time_map(int n)
{
    struct buf text = BUF_INIT;
    struct reading *r;
    int64_t from;
    double took;
    char key[32];
    int i;

    for (i = 0; i < n; i++)
        buf_addf(&text, "task-%d: {run: ./do %d, needs: task-%d}\n", i * 7919 % n, i, i);
    from = cpu_time();
    r = read_good(text.ptr);
    CHECK_EQ(r->doc.root.n, n);
    for (i = 0; i < n; i++) {
        snprintf(key, sizeof(key), "task-%d", i);
        CHECK(yaml_get(yaml_get(&r->doc.root, key), "run"));
    }
    CHECK(!yaml_get(&r->doc.root, "task") && !yaml_get(&r->doc.root, "tasks"));
    took = seconds_since(from);
    buf_release(&text);
    done(r);
    return took;
}

TEST(mapping_with_100000_keys_is_read_in_linear_time)
{
    double small = time_map(10000), large = time_map(100000);

    /* quadratic time would be 100 times as long; the margin is for a busy machine */
    if (large > small * 40 && large > 5)
        test_fail(__FILE__, __LINE__, "10,000 keys took %.3f s, 100,000 %.3f s", small, large);
}

/* Bytes allocated by malloc, without those of the sanitizers. */
static size_t bytes_in_use(void)
{
    struct mallinfo2 m = mallinfo2();

    return m.uordblks + m.hblkhd;
}

TEST(yaml_tree_takes_little_more_memory_than_its_nodes)
{
    struct buf text = BUF_INIT;
    struct reading *r;
    size_t before, used;
    int i;

    for (i = 0; i < 20000; i++)
        buf_addf(&text, "task-%d: {run: ./do %d, needs: [a, b]}\n", i, i);
    before = bytes_in_use();
    r = read_good(text.ptr);
    used = bytes_in_use() - before;
    CHECK(sizeof(struct yaml) <= 24);
    /* per line: the source, 9 nodes, the heads of the mappings, an index, the texts */
    CHECK(used < text.len + 20000 * (9 * sizeof(struct yaml) + 120));
    buf_release(&text);
    done(r);
}

TEST(many_anchors_and_duplicates_do_not_take_quadratic_time)
{
    struct buf text = BUF_INIT;
    struct reading *r;
    int64_t from;
    int i;

    for (i = 0; i < 100000; i++)
        buf_addf(&text, "- &anchor%d x\n- *anchor%d\n- {a: 1, a: 2}\n", i, i / 2);
    from = cpu_time();
    r = read_text(text.ptr);
    CHECK_EQ(r->diagnostics.count, 100000);
    CHECK(seconds_since(from) < 30);
    buf_release(&text);
    done(r);
}
