/* connect_wait.h - waits while a server is not accepting connections (-E_BUSY), because all of them
 * are in use or it is starting. If the server can't be reached at all (-E_CONN_LOST), a wait that
 * has begun continues, because the server may be restarting, but no wait begins, because the URL
 * may be wrong. */
#ifndef STORE_DRIVER_CONNECT_WAIT_H
#define STORE_DRIVER_CONNECT_WAIT_H

#include "store/driver/db.h"

struct connect_wait {
    int64_t since, pause; /* time of the first wait, and the last pause; 0 before the first wait */
};

/* Sleeps before the next attempt to connect, longer each time. Reports the error once. Returns
 * false, without sleeping, if limit_us have passed since the first call, or if env->give_up ends
 * the wait. */
bool connect_wait_again(struct connect_wait *w, const struct env *env, int64_t limit_us,
                        const struct err *err);
/* Reports to the operator that the wait is over, if there was one. */
void connect_wait_end(const struct connect_wait *w, const struct env *env);

/* Whether to wait and try again after an attempt to connect that returned rc. */
bool connect_wait_helps(const struct connect_wait *w, int rc);
/* Converts the error of the last attempt to the error for the caller: -E_BUSY and -E_CONN_LOST
 * become -E_UNAVAILABLE. */
MUST_USE int connect_wait_error(int rc, struct err *err);

/* Like db_open, but waits up to limit_us for a connection, and then returns -E_UNAVAILABLE. If
 * limit_us is 0, returns the errors of db_open. */
MUST_USE int db_open_waiting(const struct db_url *url, struct env *env, int64_t limit_us,
                             struct db **out, struct err *err);

#endif
