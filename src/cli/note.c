/* note.c - prints notes about background events to standard error. A repeated note is printed
 * once a minute, because a loop that waits for an unreachable database reports the same error
 * many times a second. */
#include "cli/cli.h"

#include "base/env.h"

#include <pthread.h>
#include <string.h>

#define KINDS  4 /* notes remembered: several threads may alternate between errors */
#define MINUTE (60 * 1000000LL)

struct printed_note {
    char sentence[1024];
    int64_t at;
    long again; /* number of repetitions since the note was printed */
};

/* Returns the entry for this sentence, else the oldest entry. */
static struct printed_note *find_note(struct printed_note *list, const char *sentence)
{
    struct printed_note *oldest = list;

    for (int i = 0; i < KINDS; i++) {
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
    static struct printed_note list[KINDS];
    int64_t now = clock_boot_us();
    AUTO_BUF b = BUF_INIT;
    struct printed_note *s;
    bool same;

    (void)arg;
    pthread_mutex_lock(&lock);
    s = find_note(list, sentence);
    same = *s->sentence && !strncmp(s->sentence, sentence, sizeof(s->sentence) - 1);
    if (same && now - s->at < MINUTE) {
        s->again++;
    } else {
        out_clean(&b, sentence);
        if (same && s->again)
            buf_addf(&b, " (repeated %ld time%s since)", s->again, s->again == 1 ? "" : "s");
        fprintf(stderr, "pawl: %s\n", buf_cstr(&b));
        snprintf(s->sentence, sizeof(s->sentence), "%s", sentence);
        s->at = now;
        s->again = 0;
    }
    pthread_mutex_unlock(&lock);
}
