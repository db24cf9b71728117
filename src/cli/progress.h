/* progress.h - how `pawl run` tells what happens: not at all, by the events themselves, by lines,
 * or by a live tree. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "cli/cli.h"

enum progress_kind { PROGRESS_AUTO, PROGRESS_TTY, PROGRESS_PLAIN, PROGRESS_JSON, PROGRESS_NONE };

/* Its word; false: there is no such kind. */
bool progress_kind_of(const char *word, enum progress_kind *out);
/* What suits stdout: a live tree on a terminal that can move its cursor, lines otherwise. */
enum progress_kind progress_auto(void);

struct progress;
/* `since`: what happened before that time is not told; 0: all is. */
MUST_USE int progress_open(struct pawl *p, int64_t id, enum progress_kind kind, int64_t since,
                           struct progress **out, struct pawl_error *err);
/* Tells what is new. `news`: there is something, as far as one knows. It looks as often as is good
 * for its readers, and never so often that the looking takes more than a tenth of the time; with
 * `now` at once. */
MUST_USE int progress_update(struct progress *g, bool news, bool now, struct pawl_error *err);
/* In how many ms it wants to look again. */
int progress_wait(const struct progress *g);
/* The terminal has another size. */
void progress_resized(struct progress *g);
/* A sentence for people, where it disturbs nothing; NULL: the last one is not true any more. */
void progress_note(struct progress *g, const char *sentence);
/* The last words, once it has ended: what failed, with the end of its output. `file`: where it came
 * from; NULL: not known. */
MUST_USE int progress_end(struct progress *g, const char *file, struct pawl_error *err);
void progress_close(struct progress *g); /* NULL is fine */

#endif
