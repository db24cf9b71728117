/* connections.c - opens the connections of an engine. On PostgreSQL there are: one for turns and
 * reads on the engine's thread, which may be the handle's own connection; one for heartbeats and
 * wake-ups; and one for each further loop. A worker needs all of them. While the server refuses
 * one, the worker also closes the rest: workers that each held only some of their connections would
 * wait for each other forever. */
#include "engine/engine_internal.h"

#include "store/driver/connect_wait.h"

#define FOREGROUND_WAIT 30000000LL /* µs; short, because a user waits */

static int connect_all(struct engine *e, struct err *err)
{
    struct db *db = store_db(e->store);
    bool scarce;

    if (e->server)
        TRY(db->driver->check_scarcity(db, 1, &scarce, err)); /* called for its side effect: it
                                                                 reopens a closed connection */
    TRY(wakes_open(e, err));
    return loops_connect(e, err);
}

static void disconnect_all(struct engine *e)
{
    struct db *db = store_db(e->store);

    wakes_close(e);
    loops_disconnect(e);
    if (db->driver->disconnect)
        db->driver->disconnect(db);
}

int connections_open(struct engine *e, struct err *err)
{
    int64_t limit = e->o.foreground ? FOREGROUND_WAIT : INT64_MAX;
    struct connect_wait wait = {0};
    int rc;

    while (connect_wait_helps(&wait, rc = connect_all(e, err))) {
        disconnect_all(e);
        if (!connect_wait_again(&wait, e->env, limit, err))
            break;
    }
    if (!rc)
        connect_wait_end(&wait, e->env);
    return connect_wait_error(rc, err);
}
