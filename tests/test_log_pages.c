/* test_log_pages.c - reading the output of attempts through pawl.h, in pages, during and after the
 * attempt. */
#include "control_fixture.h"

struct log_write {
    int64_t worker;
    struct log_chunk chunk;
};

static int log_body(struct turn *t, void *arg, struct err *e)
{
    struct log_write *g = arg;

    return op_store_logs(t, g->worker, &g->chunk, 1, e);
}

static void write_log(struct store *s, struct held_job j, int64_t offset, int64_t dropped,
                      const char *bytes)
{
    struct log_write g = {j.worker,
                          {.lease = {.execution = j.id, .root = j.root, .epoch = j.epoch},
                           .attempt = j.attempt,
                           .bytes = bytes,
                           .len = strlen(bytes),
                           .offset = offset,
                           .dropped = dropped}};
    struct err e = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, log_body, &g, &e), &e);
    CHECK_EQ(g.chunk.lease.rc, 0);
}

static struct pawl_log_page read_log(struct pawl *p, int64_t id, int attempt, int64_t from,
                                     char out[16])
{
    struct pawl_log_page page;

    memset(out, 0, 16);
    OK(pawl_log(p, &(struct pawl_log_place){id, attempt, from}, out, 15, &page, &api_err));
    CHECK(page.len <= 15);
    return page;
}

TEST(output_of_an_attempt_is_read_in_pages_during_and_after_the_attempt)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t id = submit_with(s, (struct submission){.name = "a", .max_attempts = 2});
    struct pawl_log_page page;
    struct held_job j;
    char out[16];

    page = read_log(p, id, 0, 0, out);
    CHECK(!page.attempt && !page.len && !page.ended && !page.more);
    j = claim_job(s, 1);
    write_log(s, j, 0, 0, "one two three four\n");
    page = read_log(p, id, 0, 0, out);
    CHECK_STR(out, "one two three f");
    CHECK(page.more && !page.ended && page.attempt == 1);
    page = read_log(p, id, 0, page.next, out);
    CHECK_STR(out, "our\n");
    CHECK(!page.more && !page.ended);
    write_log(s, j, 19, 1000, "tail");
    page = read_log(p, id, 1, page.next, out);
    CHECK_STR(out, "tail");
    CHECK_EQ(page.dropped, 1000);
    CHECK_EQ(settle_as(s, j, OUTCOME_FAILED, 0), 0);
    CHECK(read_log(p, id, 0, page.next, out)
              .ended); /* 0 is the last attempt, which is also the first */
    j = claim_job(s, 1);
    page = read_log(p, id, 0, 0, out);
    CHECK(page.attempt == 2 && !page.len && !page.ended);
    CHECK(read_log(p, id, 1, 0, out).ended);
    CHECK_EQ(settle_ok(s, j), 0);
    CHECK(read_log(p, id, 2, 0, out).ended);
    FAILS(pawl_log(p, &(struct pawl_log_place){id, 3, 0}, out, 15, &page, &api_err),
          PAWL_E_NOT_FOUND);
    FAILS(pawl_log(p, &(struct pawl_log_place){777, 0, 0}, out, 15, &page, &api_err),
          PAWL_E_NOT_FOUND);
    close_both(p, s);
}

TEST(job_cancelled_before_it_started_has_no_output_to_wait_for)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t id = submit(s, "a");
    char out[16];

    CHECK_EQ(cancel(s, id), 0);
    CHECK(read_log(p, id, 0, 0, out).ended);
    close_both(p, s);
}
