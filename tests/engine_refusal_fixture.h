/* engine_refusal_fixture.h - engines on a database that refuses to write some rows: their messages,
 * and how they end if too many rows are refused. */
#ifndef TESTS_ENGINE_REFUSAL_FIXTURE_H
#define TESTS_ENGINE_REFUSAL_FIXTURE_H

#include "engine_fixture.h"
#include "refusal_fixture.h"

static char message[4096]; /* the last message */

static inline void keep_message(void *arg, const char *sentence)
{
    (void)arg;
    snprintf(message, sizeof(message), "%s", sentence);
}

/* If none of many rows can be written, the worker must report this and end. Must be the last call
 * of a test. */
static inline void check_ends_refused(struct worker_kit *k, struct store *s)
{
    struct err err = ERR_INIT;
    int rc;

    while (!(rc = engine_step(k->engine, 20000, &err)))
        ;
    CHECK_EQ(rc, -E_INTERNAL);
    CHECK(strstr(err.msg, "not today"));
    allow_write(s, "executions");
    engine_close(&k->engine);
    verify_clean(s);
    store_close(&s);
}

#endif
