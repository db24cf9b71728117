/* cmd_top.c - pawl top: shows the state of the whole database, refreshed periodically. On a
 * terminal it uses the full screen and reads keys; otherwise it prints one frame of text, or one
 * JSON object. */
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
#define PATIENCE   1000000 /* µs; the longest wait for an unreachable database */

/* ---- drawing ---- */

static const char *footer(const struct top *t, bool utf8, struct buf *b)
{
    buf_reset(b);
    if (t->note)
        buf_addf(b, "%s", t->note);
    else if (t->typing)
        buf_addf(b, "filter by name or queue: %s_   (enter: apply, escape: clear)",
                 buf_cstr(&t->part));
    else if (t->page != PAGE_LIST)
        buf_addf(b, "q back  %s move%s", utf8 ? "↑↓" : "j k",
                 t->paused ? "  PAUSED: p resumes" : "");
    else
        buf_addf(b, "q quit  ? help  %s move  enter why  p %s  f %s", utf8 ? "↑↓" : "j k",
                 t->paused ? "resume (PAUSED)" : "pause", t->part.len ? t->part.ptr : "filter");
    return buf_cstr(b);
}

static bool draw(struct top *t)
{
    struct top_view_state view = {.style = style_of(stdout),
                                  .rows = screen_rows(),
                                  .selected = t->selected,
                                  .first = t->first,
                                  .where = pawl_url(t->p)};
    AUTO_BUF frame = BUF_INIT, words = BUF_INIT;

    view.style.width = screen_columns() - 1; /* a character in the last column would start a new
                                                line */
    view.foot = footer(t, view.style.utf8, &words);
    if (t->page == PAGE_HELP)
        help_frame(&view, &frame);
    else if (t->page == PAGE_DETAIL)
        detail_frame(&t->detail, &view, &t->scroll, &frame);
    else
        top_frame(&t->model, &view, &frame);
    t->first = view.first;
    return screen_show(&frame);
}

/* ---- live ---- */

/* Stops this process, with the terminal restored until it continues. */
static bool suspend(void)
{
    screen_close();
    raise(SIGSTOP);
    return screen_open();
}

/* Waits for a key, a signal or the next refresh. Returns -1 to continue, or the exit code. */
static int wait_for_input(struct top *t, int signals)
{
    struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                           {.fd = signals, .events = POLLIN}};
    struct signalfd_siginfo info;
    int64_t left = t->due - clock_boot_us();
    int key;

    poll(fds, 2, t->paused ? -1 : left <= 0 ? 0 : (int)(left / 1000) + 1);
    while (read(signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (info.ssi_signo == SIGTSTP && !suspend())
            return 1;
        if (info.ssi_signo != SIGTSTP && info.ssi_signo != SIGWINCH)
            return 128 + (int)info.ssi_signo;
    }
    while ((key = screen_key()) != KEY_NONE)
        if (key == KEY_GONE || !top_key(t, key))
            return key == KEY_GONE ? 128 + SIGHUP : 0;
    return -1;
}

static int run_live(struct top *t)
{
    static const int more[] = {SIGWINCH, SIGTSTP, SIGQUIT};
    int signals = signals_open(), code = -1;

    if (signals < 0)
        return 1;
    for (size_t i = 0; i < sizeof(more) / sizeof(*more); i++)
        signals_add(signals, more[i]);
    if (!screen_open())
        code = cli_wrong("can't use the terminal: %s", strerror(errno));
    while (code < 0) {
        if (!draw(t))
            code = 128 + SIGHUP;
        else if ((code = wait_for_input(t, signals)) < 0 && !t->paused && clock_boot_us() >= t->due)
            top_refresh(t);
    }
    screen_close();
    close(signals);
    return code;
}

/* ---- one frame ---- */

static int print_frame(struct top *t)
{
    struct top_view_state view = {.style = style_of(stdout), .where = pawl_url(t->p)};
    AUTO_BUF frame = BUF_INIT;

    top_frame(&t->model, &view, &frame);
    fputs(buf_cstr(&frame), stdout);
    return 0;
}

static int print_object(struct cli *c, const char *part)
{
    struct pawl_overview_query q = {.part = part};
    char *json;

    TRY(pawl_overview(c->p, &q, &json, &c->err));
    return print_answer(json);
}

/* Drops a note: live mode shows errors in the last line of the screen, and must not print over
 * it. */
static void drop_note(void *arg, const char *sentence)
{
    (void)arg;
    (void)sentence;
}

static int run(struct cli *c, struct top *t)
{
    struct pawl_options o = cli_options(c, true);
    bool alive = !c->json && !t->once && screen_is_supported();

    if (alive) {
        o.note = drop_note;
        o.patience = PATIENCE;
    }
    TRY(pawl_open(&o, &c->p, &c->err));
    if (c->json)
        return print_object(c, t->filter);
    t->p = c->p;
    buf_addstr(&t->part, t->filter ? t->filter : "");
    TRY(top_read(&t->model, t->p, buf_cstr(&t->part), &c->err));
    top_find_selected(t);
    t->due = clock_boot_us() + t->interval;
    return alive ? run_live(t) : print_frame(t);
}

static int top(struct cli *c)
{
    struct top *t = c->values;
    int code;

    if (t->interval < MIN_US)
        return cli_wrong("--interval must be at least 100ms");
    code = run(c, t);
    top_release(&t->model);
    detail_release(&t->detail);
    buf_release(&t->part);
    free(t->note);
    return code;
}

static const struct option options[] = {
    {"interval", OPTION_DURATION, offsetof(struct top, interval), "DURATION",
     "time between refreshes; default: 1s"},
    {"filter", OPTION_TEXT, offsetof(struct top, filter), "TEXT",
     "show only running jobs whose name or queue contains this text"},
    {"once", OPTION_FLAG, offsetof(struct top, once), NULL,
     "print one frame and exit; default without a terminal"},
    {0},
};

static const struct top defaults = {.interval = DEFAULT_US};

const struct command command_top = {
    .name = "top",
    .forms = "",
    .text = "show queues, workers and running jobs, refreshed periodically",
    .about = "Keys: q quits, up/down or j/k move, enter shows why a job runs and its tree, f "
             "filters by name or queue, p pauses and resumes, ? shows the help. Each refresh is a "
             "few queries whose cost does not depend on how much is stored.",
    .options = options,
    .size = sizeof(defaults),
    .defaults = &defaults,
    .examples = {{"pawl top", "refresh every second; q quits"},
                 {"pawl top --once", "one frame, as text"},
                 {"pawl top --json", "one object, for programs"}},
    .run = top,
    .reads = true,
};
