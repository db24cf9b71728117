/* db_clock.c - the database's clock, as this host sees it.
 *
 * Leases are kept in the database's time, so that all see them alike. But a server's clock can be
 * set: forward, and every lease has run out at once, long ago. Our own (CLOCK_BOOTTIME) only
 * counts. So each heartbeat compares the two, and whoever finds that the server's was set judges
 * nobody until all who live have renewed their leases under the new time, and counts host_grace
 * without what was skipped. */
#include "base/text.h"
#include "engine/engine_internal.h"

#include <stdio.h>

/* A lease that is renewed in time has more than this left. */
static int64_t renewal_slack(const struct engine *e)
{
    return e->o.lease / 3;
}

static void note_clock_set(const struct engine *e, const char *where, int64_t by)
{
    char span[DURATION_TEXT_SIZE], text[120];

    snprintf(text, sizeof(text), "the database's clock was set %s by %s", where,
             text_duration(by / 1000000 * 1000000, span));
    engine_note(e, text);
}

/* Leases of before have to run out, and to wait for all of host_grace, by our own clock; after that
 * they have. */
static bool is_set_recent(const struct engine *e, int64_t now)
{
    return e->db_clock.set && now - e->db_clock.set_at < e->o.lease + e->o.host_grace;
}

void db_clock_observe(struct engine *e, int64_t db_now, int64_t from, int64_t to)
{
    struct db_clock *c = &e->db_clock, was = *c;
    int64_t now = engine_now(e), perhaps;

    c->ahead_min = db_now - to;
    c->most = db_now - from;
    if (!was.ahead_min && !was.most)
        return; /* the first word of it */
    /* If it was the answer that took so long, nobody is to be judged either. */
    perhaps = c->most - was.ahead_min;
    if (perhaps > renewal_slack(e)) {
        c->set = (is_set_recent(e, now) ? c->set : 0) + perhaps;
        c->set_at = e->healthy_since = now;
    }
    if (c->ahead_min - was.most > renewal_slack(e))
        note_clock_set(e, "forward", c->ahead_min - was.most);
    else if (was.ahead_min - c->most > renewal_slack(e))
        note_clock_set(e, "back", was.ahead_min - c->most);
}

int64_t db_clock_latest(const struct engine *e)
{
    int64_t now = engine_now(e);

    return now + e->db_clock.ahead_min - (is_set_recent(e, now) ? e->db_clock.set : 0);
}

bool db_clock_was_set(const struct engine *e, int64_t db_now)
{
    return db_now - engine_now(e) - e->db_clock.most > renewal_slack(e);
}
