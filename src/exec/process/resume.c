/* resume.c - an attempt whose shim died while its container may still run: a worker that itself
 * runs in a container takes its shims with it when it is replaced, but not the containers that it
 * asked the container engine for.
 *
 *     container              result
 *     runs                   another shim watches it, under the same lock and with our epoch: it
 *                            continues log, timeout, cancel and fence, and records the end
 *     has ended              likewise, without timeout and cancel: it keeps its outcome
 *     none, or not started   lost, after the undo command has confirmed that nothing is left
 *     the engine is silent   ask again; after a cancel or the timeout, end the remains
 *
 * The new shim starts nothing, so a shim that comes too late can't start a second container. */
#include "exec/process/process_internal.h"
#include "exec/process/request.h"

#include "base/mem.h"
#include "base/proc.h"
#include "exec/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define RESUMES_MAX      60 /* shims of one attempt that may die before the attempt is lost */
#define UNPUBLISHED_MAX  10 /* shims in a row that may end early before a note says so */
/* µs before the second replacement of a dead shim (the first is requested at once); doubled for
 * each further one. */
#define RESUME_PAUSE     10000
#define RESUME_PAUSE_MAX 1000000  /* µs, the longest pause */
#define LOOKUP_MAX       20000000 /* µs; after that, the container engine counts as unresponsive */
#define LOOKUP_POLL      10000    /* µs between two reads of the answer */
#define ANSWER_MAX       (4 << 20)
/* The container engine still has all output of a container whose log is shorter than this: its
 * format takes less than 100 bytes for each byte of output. */
#define COMPLETE_MAX     (CONTAINER_LOG_MB * (int64_t)(1 << 20) / 100)
#define SINCE_SIZE       60
#define SINCE_OVERLAP    1 /* s by which the output that is read again overlaps the log */

/* ---- may it be resumed? ---- */

/* The answer of watch_may_resume if a file can't be read: 0, or -1 if a later try may succeed. */
static int unknown(void)
{
    return error_may_pass(errno) ? -1 : 0;
}

/* Whether the outputs file is whole: 1; 0 if a shim died while it masked secrets in it; -1 if a
 * later try may tell. */
static int is_output_whole(const struct watch *w)
{
    struct stat st;

    if (fstatat(w->at, ATTEMPT_OUTPUT, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return !(st.st_mode & ATTEMPT_OUTPUT_MARK);
    return errno == ENOENT ? 1 : unknown();
}

/* Whether the container was created since the host was booted. No container outlives its host, but
 * a container engine may report an exit code for one that was killed by a power cut. */
static int is_this_boot(const struct attempt_container *c)
{
    char boot[BOOT_ID_SIZE];

    errno = 0;
    return proc_boot_id(boot) ? !strcmp(boot, c->boot) : unknown();
}

/* Counts the last requested shim if it has published its record. A shim that has published none did
 * nothing, for example because the disk was full. */
static void count_shim(struct watch *w)
{
    if (w->dead.pid && (w->dead.pid != w->shim.pid || w->dead.start_time != w->shim.start_time)) {
        w->resumes++;
        w->unpublished = 0;
    }
    w->dead.pid = 0;
}

int watch_may_resume(const struct process *p, struct watch *w)
{
    struct attempt_container c;
    struct attempt_exit end;
    int rc;

    count_shim(w);
    if (!p->in_containers || w->killed || w->no_folder || w->undo.owner ||
        w->resumes >= RESUMES_MAX || watch_note_fault(w))
        return 0;
    if ((rc = record_read(w->at, &RECORD_CONTAINER, &c)) != 1)
        return rc ? unknown() : 0;
    if ((rc = record_read(w->at, &RECORD_ENDING, &end)))
        return rc < 0 ? unknown() : 0;
    if ((rc = is_this_boot(&c)) != 1)
        return rc;
    return is_output_whole(w);
}

/* ---- the question to the engine ---- */

struct command_words {
    char **argv, **env;
    struct container_target target;
};

static void command_words_release(struct command_words *c)
{
    free(c->argv);
    free(c->env);
}

/* Reads the client and the environment with which the container was created; false if they are not
 * known. */
static bool read_command_words(const struct watch *w, struct command_words *out)
{
    *out = (struct command_words){0};
    undo_split(&w->undo, &out->argv, &out->env);
    return out->env && container_target_of(out->argv, &out->target);
}

static void ask_again_at(struct process *p, struct watch *w, int64_t pause)
{
    w->check_at = clock_boot_us() + pause;
    wakeup_at(&p->wakeup, w->check_at);
}

static void give_up(struct process *p, struct watch *w)
{
    w->state = WATCH_LOST;
    w->wait = 0;
    ask_again_at(p, w, 0);
}

/* Kills the clients of the dead shim, but not the processes of the container, which have the
 * attempt's key too. In another pid namespace, recorded pids refer to other processes. True if any
 * was alive, or may be. */
static bool kill_clients(const struct watch *w)
{
    struct attempt_shim clients = w->shim;
    struct attempt_container c;

    int known = record_read(w->at, &RECORD_CONTAINER, &c);

    if (known < 0 && unknown())
        return true;
    clients.key[0] = '\0';
    if (known != 1 || !c.pid_namespace || c.pid_namespace != proc_pid_namespace())
        return false;
    return attempt_kill_remains(w->at, &clients) != 0;
}

static bool start_lookup(struct watch *w, const struct command_words *words)
{
    const char *argv[8];
    posix_spawn_file_actions_t files;
    int out[2], rc;

    if (pipe2(out, O_CLOEXEC))
        return false;
    fcntl(out[0], F_SETFL, O_NONBLOCK);
    container_lookup_command(&words->target, argv);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, out[1], 1);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclosefrom_np(&files, 3);
    posix_spawn_file_actions_addchdir_np(&files, "/");
    rc = spawn_detached(argv[0], (char **)(uintptr_t)argv, words->env, &files, &w->lookup.pid);
    posix_spawn_file_actions_destroy(&files);
    close(out[1]);
    if (rc) {
        close(out[0]);
        return false;
    }
    w->lookup.out = out[0];
    w->lookup.started_at = clock_boot_us();
    return true;
}

void watch_stop_asking(struct watch *w)
{
    if (w->lookup.pid) {
        kill(-w->lookup.pid, SIGKILL);
        close(w->lookup.out);
        waitpid(w->lookup.pid, NULL, 0);
        w->lookup.pid = 0;
    }
    if (w->lookup.answer.ptr) /* wiped: it contains the container's variables */
        explicit_bzero(w->lookup.answer.ptr, w->lookup.answer.cap);
    buf_release(&w->lookup.answer);
}

/* True when the command has printed everything, or takes too long. */
static bool is_answered(struct watch *w)
{
    struct buf *answer = &w->lookup.answer;
    ssize_t n = -1;

    do {
        if (!answer->cap) /* reserve all at once: a growing buffer would leave copies of secrets in
                             memory */
            buf_reserve(answer, ANSWER_MAX);
        if (answer->len >= ANSWER_MAX)
            break;
        n = read(w->lookup.out, answer->ptr + answer->len, ANSWER_MAX - answer->len);
        if (n > 0)
            answer->len += (size_t)n;
    } while (n > 0);
    answer->ptr[answer->len] = '\0';
    return n == 0 || answer->len >= ANSWER_MAX ||
           clock_boot_us() - w->lookup.started_at > LOOKUP_MAX;
}

/* ---- the request for another shim ---- */

/* The option of `logs` that leaves out older output, if the engine may not have all of it; else
 * NULL. */
static const char *since_option(const struct watch *w, const struct attempt_log *log,
                                char out[SINCE_SIZE])
{
    struct stat st;

    if (log->kept + log->dropped <= COMPLETE_MAX ||
        fstatat(w->at, ATTEMPT_LOG, &st, AT_SYMLINK_NOFOLLOW))
        return NULL;
    snprintf(out, SINCE_SIZE, "--since=%lld.%09ld", (long long)st.st_mtim.tv_sec - SINCE_OVERLAP,
             st.st_mtim.tv_nsec);
    return out;
}

static void write_resume_request(const struct process *p, const struct watch *w,
                                 const struct command_words *words,
                                 const struct container_secrets *secrets, struct buf *out)
{
    struct container_watch commands;
    const char *since;
    char option[SINCE_SIZE];
    struct attempt_log log = {0};
    struct attempt_lease lease = {0};
    struct request r = {.execution = w->execution,
                        .attempt = w->attempt,
                        .epoch = w->epoch,
                        .timeout = w->container_ended ? 0 : w->timeout,
                        .grace = w->grace,
                        .in_container = 1,
                        .resumed = 1,
                        .has_ended = w->container_ended,
                        .key = w->shim.key,
                        .output = ""};

    if (attempt_log_size(w->at, &log))
        log = (struct attempt_log){0};
    since = since_option(w, &log, option);
    container_watch_commands(&words->target, since, &commands);
    if (record_read(w->at, &RECORD_LEASE, &lease) == 1)
        r.until = lease.until;
    r.fence = p->fence && r.until ? p->fence : -1;
    r.skip = since ? -1 : log.kept + log.dropped;
    r.argv = commands.follow;
    r.rest = commands.rest;
    r.stop = commands.stop;
    r.env = (const char **)(uintptr_t)words->env;
    r.secrets = (const char **)(uintptr_t)secrets->at;
    request_write(&r, out);
}

/* Prepares the watch for a new shim. If the container has ended, its outcome stands and the shim is
 * not killed for being late. The last control command is sent again, because the dead shim may not
 * have carried it out. */
static void prepare_for_new_shim(struct watch *w, enum container_found found)
{
    w->container_ended = found == CONTAINER_ENDED;
    if (w->container_ended)
        w->kill_at = 0;
    if (!w->command)
        w->command = w->requested;
}

/* Requests a shim for the container. The lock is released for this shim. A worker that adopts the
 * attempt before the shim has the lock raises the epoch, and then the shim gives up. */
static void request_shim(struct process *p, struct watch *w, const struct command_words *words,
                         const struct container_secrets *secrets)
{
    AUTO_BUF request = BUF_INIT;
    struct err err = ERR_INIT;
    int rc;

    buf_reserve(&request, ANSWER_MAX);
    write_resume_request(p, w, words, secrets, &request);
    w->shim_ended = false;
    fd_close(&w->lock);
    rc = p->stopped ? -E_REFUSED : process_helper_start(p, &err);
    if (!rc)
        rc = process_helper_send(p, w, &request, &err);
    explicit_bzero(request.ptr, request.cap);
    if (rc) {
        w->state = WATCH_CHECKING;
        watch_check_later(p, w);
        return;
    }
    w->state = WATCH_REQUESTED;
    w->dead.pid = w->shim.pid;
    w->dead.start_time = w->shim.start_time;
    ask_again_at(p, w, p->lease);
    if (!w->unpublished++)
        env_note(p->x.env,
                 "the shim of attempt %d of execution %lld died, but its container was found; "
                 "another shim watches it",
                 w->attempt, (long long)w->execution);
}

/* Whether the container should have ended. One that has ended by itself waits for its shim, unless
 * a cancel gives up its outcome. */
static bool is_overdue(const struct watch *w)
{
    return w->cancelled || (w->timeout && !w->container_ended &&
                            clock_boot_us() > w->begun + w->timeout + w->grace);
}

static void end_overdue(struct process *p, struct watch *w)
{
    w->killed = true;
    w->kill_outcome = w->cancelled ? OUTCOME_CANCELLED : OUTCOME_TIMED_OUT;
    give_up(p, w);
}

/* Asks again later, because the container engine does not answer. Without the engine, the container
 * can be ended only by killing its processes, which is right only if it should have ended. */
static void wait_for_engine(struct process *p, struct watch *w)
{
    if (!w->lookup.noted)
        env_note(p->x.env,
                 "the shim of attempt %d of execution %lld died, and the container engine (podman "
                 "or docker) does not respond; the worker keeps asking it for the container",
                 w->attempt, (long long)w->execution);
    w->lookup.noted = true;
    if (is_overdue(w))
        end_overdue(p, w);
    else
        watch_check_later(p, w);
}

/* Requests a shim for the container if one can be started. If not, the container is left alone,
 * unless it should have ended. */
static void request_shim_if_possible(struct process *p, struct watch *w,
                                     const struct command_words *words,
                                     const struct container_secrets *secrets)
{
    bool room = process_has_room(w->at), possible = room && w->unpublished < UNPUBLISHED_MAX;

    if (!possible && !w->unwatched_noted) {
        env_note(p->x.env,
                 "the container of attempt %d of execution %lld runs without a shim, because %s; "
                 "the worker keeps trying",
                 w->attempt, (long long)w->execution,
                 room ? "each new shim ended at once" : "the disk of its state folder is full");
        w->unwatched_noted = true;
    }
    if (!possible && is_overdue(w))
        end_overdue(p, w);
    else if (!room)
        watch_check_later(p, w);
    else
        request_shim(p, w, words, secrets);
}

static void wipe_secrets(struct container_secrets *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->at[i]) {
            explicit_bzero(s->at[i], strlen(s->at[i]));
            free(s->at[i]);
        }
    free(s->at);
}

static void act_on_answer(struct process *p, struct watch *w, const struct command_words *words)
{
    const struct container_wanted wanted = {.execution = w->execution,
                                            .attempt = w->attempt,
                                            .key = w->shim.key,
                                            .secrets = w->secrets};
    AUTO(wipe_secrets) struct container_secrets secrets = {0};
    enum container_found found =
        container_read_lookup(buf_cstr(&w->lookup.answer), &words->target, &wanted, &secrets);

    watch_stop_asking(w);
    if (found == CONTAINER_NONE) {
        give_up(p, w);
    } else if (found == CONTAINER_NO_ANSWER) {
        wait_for_engine(p, w);
    } else {
        prepare_for_new_shim(w, found);
        request_shim_if_possible(p, w, words, &secrets);
    }
}

void watch_begin_asking(struct process *p, struct watch *w)
{
    int tries = w->resumes + w->unpublished;
    int64_t pause = !tries ? 0 : tries < 8 ? RESUME_PAUSE << (tries - 1) : RESUME_PAUSE_MAX;

    w->state = WATCH_ASKING;
    ask_again_at(p, w, pause);
}

void watch_ask(struct process *p, struct watch *w)
{
    AUTO(command_words_release) struct command_words words;

    if (!read_command_words(w, &words)) {
        give_up(p, w);
    } else if (w->lookup.pid) {
        if (is_answered(w))
            act_on_answer(p, w, &words);
        else
            ask_again_at(p, w, LOOKUP_POLL);
    } else if (kill_clients(w) || !start_lookup(w, &words)) {
        watch_check_later(p, w);
    } else {
        ask_again_at(p, w, LOOKUP_POLL);
    }
}
