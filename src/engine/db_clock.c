/* db_clock.c - detects that the database's clock was set.
 *
 * Leases are stored in the database's time, which is the same for all workers. But a server's clock
 * can be set forward, and then every lease seems to have run out long ago. The clock of the
 * worker's host, CLOCK_BOOTTIME, can't be set. So each heartbeat compares the two clocks. A worker
 * that finds that the server's clock was set reaps nothing until all living workers have renewed
 * their leases under the new time, and does not count the skipped time towards host_grace. */
#include "base/text.h"
#include "engine/engine_internal.h"

#include <stdio.h>

/* Returns the least time that is left on a lease that is renewed on time. */
static int64_t renewal_slack(const struct engine *e)
{
    return e->o.lease / 3;
}

static void note_clock_set(const struct engine *e, const char *direction, int64_t by)
{
    char span[DURATION_TEXT_SIZE], text[120];

    snprintf(text, sizeof(text), "the database's clock was set %s by %s", direction,
             text_duration(by / 1000000 * 1000000, span));
    engine_note(e, text);
}

/* Whether leases written before the clock was set may still matter: they must first run out, and
 * then host_grace must pass, both by this host's clock. */
static bool was_set_recently(const struct engine *e, int64_t now)
{
    return e->db_clock.set && now - e->db_clock.set_at < e->o.lease + e->o.host_grace;
}

void db_clock_observe(struct engine *e, int64_t db_now, int64_t from, int64_t to)
{
    struct db_clock *c = &e->db_clock, was = *c;
    int64_t now = engine_now(e), max_set;

    c->ahead_min = db_now - to;
    c->ahead_max = db_now - from;
    if (!was.ahead_min && !was.ahead_max)
        return; /* the first heartbeat: there is no earlier difference to compare with */
    /* A slow answer can't be distinguished from a clock that was set, and so prevents reaping,
     * too. */
    max_set = c->ahead_max - was.ahead_min;
    if (max_set > renewal_slack(e)) {
        c->set = (was_set_recently(e, now) ? c->set : 0) + max_set;
        c->set_at = e->healthy_since = now;
    }
    if (c->ahead_min - was.ahead_max > renewal_slack(e))
        note_clock_set(e, "forward", c->ahead_min - was.ahead_max);
    else if (was.ahead_min - c->ahead_max > renewal_slack(e))
        note_clock_set(e, "back", was.ahead_min - c->ahead_max);
}

int64_t db_clock_latest(const struct engine *e)
{
    int64_t now = engine_now(e);

    return now + e->db_clock.ahead_min - (was_set_recently(e, now) ? e->db_clock.set : 0);
}

bool db_clock_was_set(const struct engine *e, int64_t db_now)
{
    return db_now - engine_now(e) - e->db_clock.ahead_max > renewal_slack(e);
}
