/* connect_wait.h - waits for a server that accepts no connection now (E_BUSY): all are in use, or
 * it is starting. A server that can't be reached (E_CONN_LOST) ends no wait, because it may be
 * restarting, but starts none: its URL may be wrong. */
#ifndef STORE_DRIVER_CONNECT_WAIT_H
#define STORE_DRIVER_CONNECT_WAIT_H

#include "store/driver/db.h"

struct connect_wait {
    int64_t since, pause; /* 0 before the first wait */
};

/* Sleeps before the next attempt, longer each time. Reports the error once. False, without a sleep,
 * if limit_us have passed since the first call or env->give_up ends the wait. */
bool connect_wait_again(struct connect_wait *w, const struct env *env, int64_t limit_us,
                        const struct err *err);
/* Reports the end of the wait if there was one. */
void connect_wait_end(const struct connect_wait *w, const struct env *env);

/* Whether an attempt to connect that returned rc is worth waiting for another one. */
bool connect_wait_helps(const struct connect_wait *w, int rc);
/* The error of the last attempt as the caller's: E_UNAVAILABLE for E_BUSY and E_CONN_LOST. */
MUST_USE int connect_wait_error(int rc, struct err *err);

/* db_open that waits up to limit_us for a connection; then E_UNAVAILABLE. If limit_us is 0, the
 * errors are those of db_open. */
MUST_USE int db_open_waiting(const struct db_url *url, struct env *env, int64_t limit_us,
                             struct db **out, struct err *err);

#endif
