/* cmd_top.c - pawl top: what goes on everywhere, again and again. On a terminal it takes the whole
 * of it and obeys keys; otherwise it is one frame of text, or one object. */
#include "cli/run_workflow.h"
#include "cli/screen.h"
#include "cli/top/top.h"

#include "base/env.h"
#include "base/mem.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define DEFAULT_US 1000000
#define MIN_US     100000
#define PATIENCE   1000000 /* µs; what is shown waits no longer for a database that is away */

/* ---- drawing ---- */

static const char *foot(const struct top *t, bool utf8, struct buf *b)
{
    buf_reset(b);
    if (t->note)
        buf_addf(b, "%s", t->note);
    else if (t->typing)
        buf_addf(b, "only names with: %s_   (enter; escape: all)", buf_cstr(&t->part));
    else if (t->page != PAGE_LIST)
        buf_addf(b, "q back  %s move%s", utf8 ? "↑↓" : "j k", t->paused ? "  STOPPED: p" : "");
    else
        buf_addf(b, "q quit  ? help  %s move  enter why  p %s  f %s", utf8 ? "↑↓" : "j k",
                 t->paused ? "goes on (STOPPED)" : "stop", t->part.len ? t->part.ptr : "filter");
    return buf_cstr(b);
}

static bool draw(struct top *t)
{
    struct top_view_state look = {.style = style_of(stdout),
                                  .rows = screen_rows(),
                                  .selected = t->selected,
                                  .first = t->first,
                                  .where = pawl_url(t->p)};
    struct buf frame = BUF_INIT, words = BUF_INIT;
    bool shown;

    look.style.width = screen_columns() - 1; /* the last column wraps */
    look.foot = foot(t, look.style.utf8, &words);
    if (t->page == PAGE_HELP)
        help_frame(&look, &frame);
    else if (t->page == PAGE_DETAIL)
        detail_frame(&t->detail, &look, &t->scroll, &frame);
    else
        top_frame(&t->model, &look, &frame);
    t->first = look.first;
    shown = screen_show(&frame);
    buf_release(&frame);
    buf_release(&words);
    return shown;
}

/* ---- live ---- */

/* A stop of the whole job gives the terminal back while it lasts. */
static bool stop_and_go_on(void)
{
    screen_close();
    raise(SIGSTOP);
    return screen_open();
}

/* Returns -1 to go on, or what to exit with. */
static int wait_for_something(struct top *t, int signals)
{
    struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                           {.fd = signals, .events = POLLIN}};
    struct signalfd_siginfo info;
    int64_t left = t->due - clock_boot_us();
    int key;

    poll(fds, 2, t->paused ? -1 : left <= 0 ? 0 : (int)(left / 1000) + 1);
    while (read(signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (info.ssi_signo == SIGTSTP && !stop_and_go_on())
            return 1;
        if (info.ssi_signo != SIGTSTP && info.ssi_signo != SIGWINCH)
            return 128 + (int)info.ssi_signo;
    }
    while ((key = screen_key()) != KEY_NONE)
        if (key == KEY_GONE || !top_key(t, key))
            return key == KEY_GONE ? 128 + SIGHUP : 0;
    return -1;
}

static int live(struct top *t)
{
    static const int more[] = {SIGWINCH, SIGTSTP, SIGQUIT};
    int signals = signals_open(), code = -1;
    size_t i;

    if (signals < 0)
        return 1;
    for (i = 0; i < sizeof(more) / sizeof(*more); i++)
        signals_add(signals, more[i]);
    if (!screen_open())
        code = cli_wrong("the terminal can't be taken: %s", strerror(errno));
    while (code < 0) {
        if (!draw(t))
            code = 128 + SIGHUP;
        else if ((code = wait_for_something(t, signals)) < 0 && !t->paused &&
                 clock_boot_us() >= t->due)
            top_refresh(t);
    }
    screen_close();
    close(signals);
    return code;
}

/* ---- once ---- */

static int once(struct top *t)
{
    struct top_view_state look = {.style = style_of(stdout), .where = pawl_url(t->p)};
    struct buf frame = BUF_INIT;

    top_frame(&t->model, &look, &frame);
    fputs(buf_cstr(&frame), stdout);
    buf_release(&frame);
    return 0;
}

static int object(struct top *t)
{
    struct pawl_overview_query q = {.part = t->filter};
    struct pawl_error err;
    char *json = NULL;

    if (pawl_overview(t->p, &q, &json, &err))
        return cli_fail(&err);
    puts(json);
    free(json);
    return 0;
}

/* What went wrong is shown in the last line, not printed over the rest. */
static void no_note(void *arg, const char *sentence)
{
    (void)arg;
    (void)sentence;
}

static int run(struct top *t, const struct cli *c)
{
    struct pawl_options o = cli_options(c, true);
    struct pawl_error err;
    bool alive = !c->json && !t->once && screen_there();
    int code;

    if (alive) {
        o.note = no_note;
        o.patience = PATIENCE;
    }
    if (pawl_open(&o, &t->p, &err))
        return cli_fail(&err);
    if (c->json)
        return object(t);
    buf_addstr(&t->part, t->filter ? t->filter : "");
    if (top_read(&t->model, t->p, buf_cstr(&t->part), &err))
        return cli_fail(&err);
    top_find_selected(t);
    t->due = clock_boot_us() + t->interval;
    code = alive ? live(t) : once(t);
    return code;
}

static const struct option options[] = {
    {"interval", OPTION_DURATION, offsetof(struct top, interval), "DURATION",
     "look so often; 1s unless you say more or less"},
    {"filter", OPTION_TEXT, offsetof(struct top, filter), "TEXT",
     "of what runs, only that whose name or queue has this text in it"},
    {"once", OPTION_FLAG, offsetof(struct top, once), NULL,
     "print it once, as it does without a terminal"},
    {0},
};

static int cmd_top(int argc, char **argv)
{
    struct top t = {.interval = DEFAULT_US};
    struct cli c;
    int code = cli_begin(&c, &command_top, argc, argv, &t);

    if (code >= 0)
        return code;
    if (t.interval < MIN_US)
        code = cli_wrong("--interval is at least 100ms");
    else
        code = run(&t, &c);
    top_release(&t.model);
    detail_release(&t.detail);
    buf_release(&t.part);
    free(t.note);
    pawl_close(t.p);
    cli_end(&c);
    return cli_done(code);
}

const struct command command_top = {
    .name = "top",
    .forms = "",
    .text = "show queues, workers and what runs, again and again",
    .about = "Keys: q quit, up and down or j and k move, enter shows why it runs and its tree, f "
             "only names with a text, p stop and go on, ? help. Each look is a few questions that "
             "cost the same however much is stored.",
    .options = options,
    .examples = {{"pawl top", "all of it, every second; q quits"},
                 {"pawl top --once", "one picture as text"},
                 {"pawl top --json", "one object, for programs"}},
    .run = cmd_top,
};
