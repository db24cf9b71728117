/* start.c - measures how long whole programs take from their start to their end, compared with the
 * smallest program.
 *
 *   start TIMES PAWL FLOW STATE URL... [-- NAME PROGRAM ARGUMENT...]
 *
 * They run in turn, so that a busy machine slows all of them: /bin/true, `PAWL --version`, `PAWL
 * run FLOW` on each of the databases, and the program to compare with, if given. Prints a JSON line
 * for each, with median and p90, and the size of PAWL. */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#define PROGRAMS_MAX 8

extern char **environ;

struct program {
    const char *name;
    char *argv[10];
    double *took; /* µs of each run */
};

static double now_us(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static double took_us(const struct program *p, posix_spawn_file_actions_t *quiet)
{
    double began = now_us();
    int status;
    pid_t pid;

    if (posix_spawn(&pid, p->argv[0], quiet, NULL, p->argv, environ) ||
        waitpid(pid, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status)) {
        fprintf(stderr, "start: %s: did not end with 0\n", p->name);
        exit(1);
    }
    return now_us() - began;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Takes the words after "--"; the arguments then end there. */
static int take_peer(int *argc, char **argv, struct program *p)
{
    size_t max = sizeof(p->argv) / sizeof(*p->argv) - 1;
    int at, i;

    for (at = 1; at < *argc && strcmp(argv[at], "--"); at++)
        ;
    if (at == *argc)
        return 0;
    if (at + 2 >= *argc || (size_t)(*argc - at - 2) > max)
        return -1;
    p->name = argv[at + 1];
    for (i = at + 2; i < *argc; i++)
        p->argv[i - at - 2] = argv[i];
    *argc = at;
    return 1;
}

static void measure(struct program *programs, int n, int times)
{
    posix_spawn_file_actions_t quiet;
    int i, turn;

    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
    for (i = 0; i < n; i++) {
        programs[i].took = calloc((size_t)times, sizeof(double));
        if (!programs[i].took)
            exit(1);
        (void)took_us(
            &programs[i],
            &quiet); /* a first run, so that its pages are cached and its database is created */
    }
    for (turn = 0; turn < times; turn++)
        for (i = 0; i < n; i++)
            programs[i].took[turn] = took_us(&programs[i], &quiet);
    posix_spawn_file_actions_destroy(&quiet);
}

int main(int argc, char **argv)
{
    struct program programs[PROGRAMS_MAX] = {{"true", {"/bin/true"}, NULL}};
    int n = 2, times = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0, i;
    struct program peer = {0};
    int peers = take_peer(&argc, argv, &peer);
    struct stat st;

    if (argc < 6 || argc - 5 > PROGRAMS_MAX - 3 || times < 1 || stat(argv[2], &st) || peers < 0) {
        fprintf(stderr, "usage: start TIMES PAWL FLOW STATE URL... "
                        "[-- NAME PROGRAM ARGUMENT...]\n");
        return 2;
    }
    programs[1] = (struct program){"version", {argv[2], "--version"}, NULL};
    for (i = 5; i < argc; i++)
        programs[n++] = (struct program){
            strncmp(argv[i], "sqlite:", 7) ? "hello_postgres" : "hello_sqlite",
            {argv[2], "run", argv[3], "--state", argv[4], "--db", argv[i], "--progress", "none"},
            NULL};
    if (peers)
        programs[n++] = peer;
    measure(programs, n, times);
    for (i = 0; i < n; i++) {
        qsort(programs[i].took, (size_t)times, sizeof(double), by_size);
        printf("{\"what\":\"start\",\"of\":\"%s\",\"times\":%d,\"p50_us\":%.0f,\"p90_us\":%.0f}\n",
               programs[i].name, times, programs[i].took[times / 2],
               programs[i].took[(times * 9) / 10]);
        free(programs[i].took);
    }
    printf("{\"what\":\"size\",\"bytes\":%lld}\n", (long long)st.st_size);
    return 0;
}
