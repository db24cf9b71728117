/* cmd_watch.c - pawl watch: shows the progress of an execution that others run, until it ends. */
#include "cli/end.h"
#include "cli/follow.h"
#include "cli/progress.h"

#include "base/env.h"

#define CHECK_US 20000 /* µs, minimum between two checks of the status */
#define SHARE    10    /* checking takes at most 1/SHARE of the time */

struct watch {
    const char *progress_name;
    enum progress_kind kind;
    struct cli *c;
    int64_t id;
    struct progress *progress;
    struct pawl_listener *listener; /* NULL if there is none */
    bool news;                      /* a change was reported after the last check */
    int64_t news_at, check_at;      /* the last change; the earliest time of the next check */
};

/* Sets *status. */
static int check(struct watch *w, const char **status)
{
    int64_t start = clock_boot_us(), pause;

    TRY(pawl_status(w->c->p, w->id, status, &w->c->err));
    pause = (clock_boot_us() - start) * SHARE;
    w->check_at = start + (pause > CHECK_US ? pause : CHECK_US);
    w->news = false;
    return 0;
}

/* Shows what is new. Sets *status if it is time to check it. */
static int step(struct watch *w, const char **status)
{
    TRY(progress_update(w->progress, w->news, false, &w->c->err));
    return clock_boot_us() < w->check_at ? 0 : check(w, status);
}

/* Output is not an event, so a live tree is read without news, too. */
static int pause_ms(const struct watch *w)
{
    int64_t left = w->check_at - clock_boot_us();
    int ms = progress_wait(w->progress);

    if (w->news)
        return left <= 0 ? 0 : left / 1000 < ms ? (int)(left / 1000) + 1 : ms;
    return w->kind == PROGRESS_TTY ? ms : follow_pause_ms(w->listener, w->news_at, ms);
}

static int watch_until_end(struct watch *w)
{
    const char *status = "";
    int rc;

    for (;;) {
        rc = step(w, &status);
        if (rc && !follow_retries(w->c->p, rc))
            return rc;
        if (!rc && end_exit_code(status) >= 0)
            break;
        if (follow_wait(w->c->p, w->listener, pause_ms(w))) {
            w->news = true;
            w->news_at = clock_boot_us();
        }
    }
    TRY(progress_end(w->progress, NULL, &w->c->err));
    TRY(end_print(w->c->p, w->id, w->c->json, &w->c->err));
    return end_exit_code(status);
}

static int watch(struct cli *c, int64_t id)
{
    struct watch *w = c->values;
    const char *status;
    int rc;

    TRY(progress_kind_read(c, w->progress_name, &w->kind));
    w->c = c;
    w->id = id;
    w->news = true;
    w->news_at = clock_boot_us();
    TRY(check(w, &status)); /* an id that does not exist is refused before anything is shown */
    w->check_at = 0;
    TRY(progress_open(c->p, id, w->kind, 0, &w->progress, &c->err));
    if (pawl_listen(c->p, PAWL_WAKE_EVENTS, &w->listener, NULL))
        w->listener = NULL; /* without a listener, polling is enough */
    rc = watch_until_end(w);
    pawl_listener_close(w->listener);
    progress_close(w->progress);
    return rc;
}

static const struct option options[] = {
    PROGRESS_OPTION(struct watch, progress_name),
    {0},
};

const struct command command_watch = {
    .name = "watch",
    .forms = "ID",
    .text = "show the progress of an execution until it ends, as `pawl run` does",
    .about = "It starts nothing, and Ctrl-C ends only the watching. The exit code is that of the "
             "execution.",
    .options = options,
    .size = sizeof(struct watch),
    .examples = {{"pawl watch @last", "the newest execution, as a live tree"},
                 {"pawl watch 17 --progress plain", "a line for each task that starts or ends"}},
    .least = 1,
    .most = 1,
    .run_id = watch,
    .reads = true,
};
