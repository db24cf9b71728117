/* config_fixture.h - configuration files in the test's folder, on a host whose only folder it is.
 */
#ifndef TESTS_CONFIG_FIXTURE_H
#define TESTS_CONFIG_FIXTURE_H

#include "harness.h"
#include "parse/config/config.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static inline struct config_host host(void)
{
    return (struct config_host){.folder = test_dir(), .home = test_dir(), .processors = 3};
}

/* A path in the folder of the test; valid until the fourth call after this one. */
static inline const char *in_dir(const char *name)
{
    static char paths[4][512];
    static int next;

    next = (next + 1) % 4;
    snprintf(paths[next], sizeof(paths[next]), "%s/%s", test_dir(), name);
    return paths[next];
}

static inline void write_file(const char *name, const char *text)
{
    int fd = open(in_dir(name), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);

    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
}

#endif
