/* progress.h - how `pawl run` and `pawl watch` show progress: not at all, as JSON events, as lines,
 * or as a live tree. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "cli/cli.h"

enum progress_kind { PROGRESS_AUTO, PROGRESS_TTY, PROGRESS_PLAIN, PROGRESS_JSON, PROGRESS_NONE };

/* The option --progress of a command; `member` of its values gets the word. */
#define PROGRESS_OPTION(values, member)                                                \
    {                                                                                  \
        "progress", OPTION_TEXT, offsetof(values, member), "auto|tty|plain|json|none", \
            "how to show progress: as a live tree, as lines, or as JSON "              \
            "events"                                                                   \
    }
/* Reads the word of the option, NULL if it was not given. *out is not PROGRESS_AUTO. Returns 0, or
 * the exit code of an error that was printed. */
MUST_USE int progress_kind_read(const struct cli *c, const char *word, enum progress_kind *out);

struct progress;
/* Starts to show progress. Events before `since` are not shown; 0 to show all. */
MUST_USE int progress_open(struct pawl *p, int64_t id, enum progress_kind kind, int64_t since,
                           struct progress **out, struct pawl_error *err);
/* Shows new events or the new state. `news` means that the caller knows of a change. Reads no more
 * often than a person can follow, and spends at most a tenth of the time reading; with `now` it
 * reads at once. */
MUST_USE int progress_update(struct progress *g, bool news, bool now, struct pawl_error *err);
/* Milliseconds until the next update is due. */
int progress_wait(const struct progress *g);
/* Call it when the size of the terminal has changed. */
void progress_resized(struct progress *g);
/* Shows a sentence without disturbing the progress; NULL if the last sentence no longer applies. */
void progress_note(struct progress *g, const char *sentence);
/* Call it once the execution has ended: shows the failed tasks, with the end of their output.
 * `file` is the workflow's file; NULL if not known. */
MUST_USE int progress_end(struct progress *g, const char *file, struct pawl_error *err);
void progress_close(struct progress *g); /* NULL is ignored */

#endif
