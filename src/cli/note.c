/* note.c - what happens beside a command, on standard error. The same again is said once a minute:
 * who waits for a database that is away meets the same error many times a second. */
#include "cli/cli.h"

#include "base/env.h"

#include <pthread.h>
#include <string.h>

#define KINDS  4 /* several threads may each meet an error of their own, in turn */
#define MINUTE (60 * 1000000LL)

struct said {
    char sentence[1024];
    int64_t at;
    long again; /* times since */
};

/* The last of the same, or the one that was said longest ago. */
static struct said *find(struct said *list, const char *sentence)
{
    struct said *oldest = list;
    int i;

    for (i = 0; i < KINDS; i++) {
        if (!strncmp(list[i].sentence, sentence, sizeof(list->sentence) - 1))
            return &list[i];
        if (list[i].at < oldest->at)
            oldest = &list[i];
    }
    return oldest;
}

void cli_note(void *arg, const char *sentence)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct said list[KINDS];
    int64_t now = clock_boot_us();
    struct buf b = BUF_INIT;
    struct said *s;
    bool same;

    (void)arg;
    pthread_mutex_lock(&lock);
    s = find(list, sentence);
    same = *s->sentence && !strncmp(s->sentence, sentence, sizeof(s->sentence) - 1);
    if (same && now - s->at < MINUTE) {
        s->again++;
    } else {
        out_clean(&b, sentence);
        if (same && s->again)
            buf_addf(&b, " (and %ld times since this was said)", s->again);
        fprintf(stderr, "pawl: %s\n", buf_cstr(&b));
        snprintf(s->sentence, sizeof(s->sentence), "%s", sentence);
        s->at = now;
        s->again = 0;
    }
    pthread_mutex_unlock(&lock);
    buf_release(&b);
}
