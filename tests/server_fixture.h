/* server_fixture.h - the URL of the tests' private PostgreSQL server. */
#ifndef TESTS_SERVER_FIXTURE_H
#define TESTS_SERVER_FIXTURE_H

#include "harness.h"

#include <stdlib.h>
#include <string.h>

/* The URL; skips the test if it runs on SQLite. */
static inline const char *server_url(void)
{
    const char *url = getenv("PAWL_TEST_PG_URL");

    if (strcmp(test_db(), "postgres") != 0)
        SKIP("for PostgreSQL only");
    CHECK(url && *url);
    return url;
}

static inline int server_port(void)
{
    return (int)strtol(strrchr(server_url(), ':') + 1, NULL, 10);
}

#endif
