/* run_workflow.c - signals, steps and output for the commands that have their own engine; see
 * run_workflow.h. */
#include "cli/run_workflow.h"

#include "base/mem.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define PAGE 65536

/* ---- signals and steps ---- */

int signals_open(void)
{
    static const int wanted[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction now;
    sigset_t set;
    int fd;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
        if (!sigaction(wanted[i], NULL, &now) && now.sa_handler != SIG_IGN)
            sigaddset(&set, wanted[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    if ((fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)) < 0)
        fprintf(stderr, "pawl: can't create a descriptor for signals: %s\n", strerror(errno));
    return fd;
}

void signals_add(int fd, int signal)
{
    sigset_t set;

    sigprocmask(SIG_BLOCK, NULL, &set);
    sigaddset(&set, signal);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signalfd(fd, &set, 0);
}

bool signals_pending(void *unused)
{
    sigset_t set;

    (void)unused;
    return !sigpending(&set) &&
           (sigismember(&set, SIGINT) || sigismember(&set, SIGTERM) || sigismember(&set, SIGHUP));
}

int run_step(struct pawl_engine *e, int signals, int most_ms, int *signal, struct pawl_error *err)
{
    struct pollfd fds[] = {{.fd = signals, .events = POLLIN},
                           {.fd = pawl_engine_fd(e), .events = POLLIN}};
    int wait = pawl_engine_timeout_ms(e);
    struct signalfd_siginfo info;

    if (most_ms >= 0 && most_ms < wait)
        wait = most_ms;
    *signal = 0;
    if (poll(fds, 2, wait) > 0 && fds[0].revents &&
        read(signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
        *signal = (int)info.ssi_signo;
    return *signal ? 0 : pawl_engine_step(e, 0, err); /* pawl_engine_step may wait for the
                                                         database */
}

int handle_read_error(const struct pawl_error *err)
{
    if (err->code != PAWL_E_UNAVAILABLE && err->code != PAWL_E_CONN_LOST)
        return cli_fail(err);
    cli_note(NULL, err->message);
    return -1;
}

/* ---- output ---- */

/* Copies the available output of the current attempt. Sets *ended if no more will come. */
static int copy_attempt(struct pawl *p, struct output *o, bool *ended, struct pawl_error *err)
{
    struct pawl_log_place at = {.execution = o->execution, .attempt = o->attempt};
    struct pawl_log_page page;

    do {
        at.from = o->at;
        TRY(pawl_log(p, &at, o->page, PAGE, &page, err));
        if (!o->attempt && page.attempt) { /* the first copy starts with the first attempt, even if
                                              that has ended by now */
            o->attempt = at.attempt = 1;
            page.more = true;
            continue;
        }
        if (o->to && page.dropped)
            fprintf(stderr, "pawl: %lld bytes of output are missing here\n",
                    (long long)page.dropped);
        if (o->to)
            fwrite(o->page, 1, page.len, o->to);
        o->at = page.next;
    } while (page.more);
    *ended = page.ended;
    return 0;
}

int output_copy(struct pawl *p, struct output *o, struct pawl_error *err)
{
    bool over;
    int rc = 0;

    if (!o->page)
        o->page = mem_alloc(PAGE);
    while (!o->ended && !(rc = copy_attempt(p, o, &over, err)) && over) {
        json_auto_t *now = NULL;

        if ((rc = show_object(p, o->execution, &now, err)))
            break;
        if (field_int(now, "attempt") > o->attempt) {
            o->attempt++;
            o->at = 0;
        } else if (*field(now, "finished_at")) {
            o->ended = json_incref(now);
        } else {
            break; /* the attempt will be retried */
        }
    }
    if (o->to)
        fflush(o->to);
    return rc;
}

void output_release(struct output *o)
{
    json_decref(o->ended);
    free(o->page);
    *o = (struct output){0};
}
