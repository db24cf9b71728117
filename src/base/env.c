/* env.c - notes to the embedder's program, clocks and random bytes; see env.h. */
#include "base/env.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

void env_note(const struct env *env, const char *fmt, ...)
{
    char *text = NULL;
    va_list args;

    if (!env || !env->note)
        return;
    va_start(args, fmt);
    if (vasprintf(&text, fmt, args) >= 0)
        env->note(env->arg, text);
    va_end(args);
    free(text);
}

void env_random(void *p, size_t len)
{
    char *at = p;

    while (len) {
        ssize_t n = getrandom(at, len, 0);

        if (n < 0 && errno != EINTR) {
            fprintf(stderr, "pawl: can't get random bytes from the kernel\n");
            abort();
        }
        if (n > 0) {
            at += n;
            len -= (size_t)n;
        }
    }
}

int64_t env_random_id(void)
{
    int64_t id = 0;

    while (!id) {
        env_random(&id, sizeof(id));
        id &= INT64_MAX;
    }
    return id;
}

static int64_t clock_us(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

int64_t clock_wall_us(void)
{
    return clock_us(CLOCK_REALTIME);
}

int64_t clock_boot_us(void)
{
    return clock_us(CLOCK_BOOTTIME);
}

void clock_sleep_us(int64_t us)
{
    struct timespec ts = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};

    while (nanosleep(&ts, &ts) && errno == EINTR)
        ;
}
