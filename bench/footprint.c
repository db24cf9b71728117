/* footprint.c - measures what an idle worker uses: processor time, private memory, statements.
 *
 *   footprint SECONDS COMMAND [ARGUMENT]...
 *
 * Starts the command, waits until it is idle, observes it for SECONDS, and ends it with SIGTERM.
 * Statements are counted by PAWL_TRACE, without those that only frame a transaction. The worker's
 * helper for processes is counted separately. Prints one JSON line. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define REST_SECONDS 12 /* includes the first heartbeat and the daily maintenance after it */

struct usage {
    double cpu; /* in seconds */
    long anon, file, threads;
};

static double now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* How long all threads of the process ran, from counts of nanoseconds; /proc/PID/stat counts only
 * hundredths of a second. */
static double cpu_of(pid_t pid)
{
    struct timespec ts;
    clockid_t clock;

    if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &ts))
        return 0;
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void add_usage(pid_t pid, struct usage *u)
{
    char path[64], line[256];
    long n;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    f = fopen(path, "re");
    while (f && fgets(line, sizeof(line), f))
        if (sscanf(line, "RssAnon: %ld", &n) == 1)
            u->anon += n;
        else if (sscanf(line, "RssFile: %ld", &n) == 1)
            u->file += n;
        else if (sscanf(line, "Threads: %ld", &n) == 1)
            u->threads += n;
    if (f)
        fclose(f);
    u->cpu += cpu_of(pid);
}

static struct usage usage_of(pid_t pid)
{
    struct usage u = {0};

    add_usage(pid, &u);
    return u;
}

static struct usage usage_of_children(pid_t pid)
{
    struct usage u = {0};
    char path[64];
    int child;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
    f = fopen(path, "re");
    while (f && fscanf(f, "%d", &child) == 1)
        add_usage(child, &u);
    if (f)
        fclose(f);
    return u;
}

static bool is_statement(const char *line)
{
    char name[64];

    return sscanf(line, "trace: %63s", name) == 1 && strcasecmp(name, "begin") &&
           strcasecmp(name, "commit") && strcmp(name, "lock");
}

/* Reads the command's messages for this long and returns how many statements it traced. Other
 * lines are passed on. */
static long count_statements(FILE *messages, double seconds)
{
    double end = now() + seconds;
    struct pollfd p = {.fd = fileno(messages), .events = POLLIN};
    char line[1024];
    long n = 0;

    while (now() < end) {
        if (poll(&p, 1, (int)((end - now()) * 1000) + 1) <= 0)
            continue;
        if (p.revents & POLLHUP) {
            fprintf(stderr, "footprint: the command has ended\n");
            exit(1);
        }
        while (fgets(line, sizeof(line), messages))
            if (is_statement(line))
                n++;
            else if (strncmp(line, "trace: ", 7))
                fprintf(stderr, "footprint: %s", line);
        clearerr(messages);
    }
    return n;
}

static pid_t start(char **argv, FILE **messages)
{
    int out[2];
    pid_t pid;

    if (pipe2(out, O_CLOEXEC) || fcntl(out[0], F_SETFL, O_NONBLOCK))
        exit(1);
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        setenv("PAWL_TRACE", "1", 1);
        dup2(out[1], STDOUT_FILENO);
        dup2(out[1], STDERR_FILENO);
        execvp(argv[0], argv);
        _exit(127);
    }
    close(out[1]);
    *messages = fdopen(out[0], "r");
    if (pid < 0 || !*messages)
        exit(1);
    return pid;
}

int main(int argc, char **argv)
{
    struct usage before, after, helper_before, helper;
    int seconds, status;
    FILE *messages;
    long n;
    pid_t pid;

    if (argc < 3) {
        fprintf(stderr, "usage: footprint SECONDS COMMAND [ARGUMENT]...\n");
        return 2;
    }
    seconds = (int)strtol(argv[1], NULL, 10);
    pid = start(argv + 2, &messages);
    (void)count_statements(messages, REST_SECONDS);
    before = usage_of(pid);
    helper_before = usage_of_children(pid);
    n = count_statements(messages, seconds);
    after = usage_of(pid);
    helper = usage_of_children(pid);
    kill(pid, SIGTERM);
    waitpid(pid, &status, 0);
    printf("{\"what\":\"footprint\",\"seconds\":%d,\"cpu_ms\":%.1f,\"statements\":%ld,"
           "\"statements_per_10s\":%.2f,\"anon_kb\":%ld,\"file_kb\":%ld,\"threads\":%ld,"
           "\"helper_cpu_ms\":%.1f,\"helper_anon_kb\":%ld}\n",
           seconds, (after.cpu - before.cpu) * 1000, n, (double)n * 10 / seconds, after.anon,
           after.file, after.threads, (helper.cpu - helper_before.cpu) * 1000, helper.anon);
    fclose(messages);
    return !WIFEXITED(status) || WEXITSTATUS(status);
}
