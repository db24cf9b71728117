/* external_cleanup.c - stores and runs the undo command, which ends what an attempt runs outside of
 * its process tree, see attempt.h.
 *
 * The file `undo` holds the command's words and its environment. The result is read from the
 * command's output and not from its exit code: an embedder may reap children that are not its own.
 */
#include "exec/attempt/attempt.h"

#include "base/buf.h"
#include "base/env.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/own_file.h"
#include "exec/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define RUN_TIME_MAX    20000000 /* µs; after that, the container engine counts as unresponsive */
#define RETRY_PAUSE     100000  /* µs before the second try; each further pause is twice as long */
#define RETRY_PAUSE_MAX 2000000 /* µs, the longest pause */
#define REMOVE_TRIES \
    5 /* tries to remove an ended container: it is often in use only for a moment */

struct list {
    char **at;
    size_t n, cap;
};

static void add_words(struct buf *to, const char *const *list)
{
    for (; *list; list++)
        buf_add(to, *list, strlen(*list) + 1);
}

void undo_set_command(struct undo *u, const char *const *argv, const char *const *env)
{
    buf_reset(&u->words);
    add_words(&u->words, argv);
    if (env) {
        buf_addch(&u->words, '\0');
        add_words(&u->words, env);
    }
}

int undo_write(int at, const char *const *argv, const char *const *env)
{
    int fd = own_file_open(at, ATTEMPT_UNDO, O_WRONLY | O_CREAT | O_EXCL, ATTEMPT_UNDO_MAX);
    struct undo u = {0};
    ssize_t n = -1;

    undo_set_command(&u, argv, env);
    if (fd >= 0)
        n = write(fd, u.words.ptr, u.words.len);
    if (n >= 0 && (size_t)n < u.words.len)
        errno = ENOSPC;
    n = n == (ssize_t)u.words.len ? 0 : -1;
    buf_release(&u.words);
    if (fd >= 0 && close(fd))
        n = -1;
    return (int)n;
}

bool undo_load(struct undo *u, int at)
{
    AUTO_FD fd = own_file_open(at, ATTEMPT_UNDO, O_RDONLY, ATTEMPT_UNDO_MAX);
    struct stat st = {0};
    ssize_t n;

    buf_reset(&u->words);
    buf_reserve(&u->words, ATTEMPT_UNDO_MAX);
    n = fd < 0 || fstat(fd, &st) ? -1 : read(fd, u->words.ptr, ATTEMPT_UNDO_MAX);
    if (n >= 0)
        errno = EBADMSG;
    if (n <= 0 || !u->words.ptr[0] || u->words.ptr[n - 1])
        return false;
    u->words.len = (size_t)n;
    u->owner = st.st_uid == geteuid() ? 0 : (int64_t)st.st_uid + 1;
    return true;
}

/* Splits u->words into two NULL-terminated lists, which point into it. env.at is NULL if no
 * environment is stored. */
static void split_command(const struct undo *u, struct list *argv, struct list *env)
{
    const char *end = u->words.ptr + u->words.len;
    struct list *to = argv;

    for (char *word = u->words.ptr; word < end; word += strlen(word) + 1) {
        if (!*word)
            to = env;
        else
            *vec_add(to) = word;
    }
    *vec_add(argv) = NULL;
    if (to == env)
        *vec_add(env) = NULL;
}

void undo_split(const struct undo *u, char ***argv, char ***env)
{
    struct list words = {0}, variables = {0};

    split_command(u, &words, &variables);
    *argv = words.at;
    *env = variables.at;
}

/* Starts the command without the descriptors of this process, in a folder that is never removed. */
static int spawn_command(struct undo *u, char **argv, char **env, int out)
{
    posix_spawn_file_actions_t files;
    int rc;

    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, out, 1);
    posix_spawn_file_actions_adddup2(&files, out, 2);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addclosefrom_np(&files, 3);
    posix_spawn_file_actions_addchdir_np(&files, "/");
    rc = spawn_detached(argv[0], argv, env, &files, &u->pid);
    posix_spawn_file_actions_destroy(&files);
    return rc;
}

static void retry_later(struct undo *u)
{
    u->pause = !u->pause                    ? RETRY_PAUSE
               : u->pause < RETRY_PAUSE_MAX ? u->pause * 2
                                            : RETRY_PAUSE_MAX;
    u->next = clock_boot_us() + u->pause;
}

static void start_command(struct undo *u)
{
    struct list argv = {0}, env = {0};
    int out[2];

    u->len = 0;
    if (!u->words.len) {
        u->done = true;
    } else if (u->owner) {
        snprintf(u->message, sizeof(u->message),
                 "it was started by user %lld, whose container engine this worker can't "
                 "query",
                 (long long)u->owner - 1);
        retry_later(u);
    } else if (pipe2(out, O_CLOEXEC)) {
        retry_later(u);
    } else {
        fcntl(out[0], F_SETFL, O_NONBLOCK);
        u->out = out[0];
        u->started_at = clock_boot_us();
        split_command(u, &argv, &env);
        if (spawn_command(u, argv.at, env.at, out[1])) {
            close(out[0]);
            retry_later(u);
        }
        close(out[1]);
    }
    vec_release(&argv);
    vec_release(&env);
}

/* Whether the last line of the output is exactly this word. */
static bool last_line_is(const struct undo *u, const char *word)
{
    size_t len = strlen(word);

    return u->len > len && u->message[u->len - 1] == '\n' &&
           !memcmp(u->message + u->len - 1 - len, word, len) &&
           (u->len == len + 1 || u->message[u->len - len - 2] == '\n');
}

/* Called when the command has closed its output. */
static void finish_command(struct undo *u)
{
    u->times_unremovable = last_line_is(u, UNDO_ENDED) ? u->times_unremovable + 1 : 0;
    u->unremovable = u->times_unremovable >= REMOVE_TRIES;
    u->done = u->unremovable || last_line_is(u, UNDO_GONE);
    u->message[u->len] = '\0';
    u->message[strcspn(u->message, "\n")] = '\0';
    close(u->out);
    waitpid(u->pid, NULL, 0);
    u->pid = 0;
    retry_later(u);
}

/* Parses an UNDO_FOUND line at the start of the output; the line is not part of the message.
 * Returns its length, or 0 if there is no such line. */
static size_t parse_found_line(struct undo *u, const char *piece, size_t n)
{
    static const char word[] = UNDO_FOUND " ";
    const char *end = memchr(piece, '\n', n);
    char state[20];
    long long code;

    if (u->len || !end || n < sizeof(word) || memcmp(piece, word, sizeof(word) - 1) != 0)
        return 0;
    if (!u->found) {
        bool ended = sscanf(piece, UNDO_FOUND " %19s %lld", state, &code) == 2 &&
                     (!strcmp(state, "exited") || !strcmp(state, "stopped"));

        u->found = ended ? FOUND_ENDED : FOUND_OTHER;
        u->code = ended ? code : 0;
    }
    return (size_t)(end - piece) + 1;
}

bool undo_poll(struct undo *u)
{
    char piece[513];
    ssize_t n;

    if (!u->done && !u->pid && clock_boot_us() >= u->next)
        start_command(u);
    if (u->done || !u->pid)
        return u->done;
    while ((n = read(u->out, piece, sizeof(piece) - 1)) > 0) {
        size_t len = (size_t)n, room = sizeof(u->message) - 1, found;
        const char *from = piece;

        piece[n] = '\0';
        found = parse_found_line(u, piece, len);
        from += found;
        len -= found;
        if (len > room) {
            from += len - room;
            len = room;
        }
        if (u->len + len > room) { /* keep the end of the output */
            memmove(u->message, u->message + (u->len + len - room), room - len);
            u->len = room - len;
        }
        memcpy(u->message + u->len, from, len);
        u->len += len;
    }
    if (n == 0)
        finish_command(u);
    else if (clock_boot_us() - u->started_at > RUN_TIME_MAX)
        kill(-u->pid, SIGKILL);
    return u->done;
}

void undo_release(struct undo *u)
{
    if (u->pid) {
        kill(-u->pid, SIGKILL);
        close(u->out);
        waitpid(u->pid, NULL, 0);
        u->pid = 0;
    }
    buf_release(&u->words);
}
