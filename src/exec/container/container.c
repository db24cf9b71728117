/* container.c - builds the command lines of podman and docker, see container.h. They differ in a
 * few options only. */
#include "exec/container/container.h"

#include "base/buf.h"
#include "exec/attempt/attempt.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The container is created first and started afterwards, so that an error during creation (no such
 * image) can't be mistaken for the command's output and exit code. Neither the client that stays
 * attached nor a daemon that the container engine may leave behind has the task's variables. A task
 * can't have variables with the names that the script uses.
 *
 *     $1 the client  $2 the container's name  $3 options to attach  $4 -u NAME of each variable
 *     $5 a client command that starts the engine; "" if none  $6 … arguments of `create` */
static const char start_script[] =
    "PAWL__C=$1 PAWL__N=$2 PAWL__A=$3 PAWL__U=$4\n"
    "[ -z \"$5\" ] || env $4 \"$1\" $5 >/dev/null 2>&1 </dev/null\n"
    "shift 5\n"
    "PAWL__S=$(\"$PAWL__C\" create --name=\"$PAWL__N\" \"$@\" 2>&1 </dev/null) || {\n"
    "    printf '%s\\n' \"$PAWL__S\" >&2\n"
    "    exit 125\n"
    "}\n"
    "exec env $PAWL__U \"$PAWL__C\" start $PAWL__A \"$PAWL__N\"\n";

/* The undo script; attempt.h describes its output. It asks for the container's state first: a
 * client that was terminated may report success although nothing was started. A container that
 * exists but can't be inspected, although the engine answers, may have ended in any way
 * ("unknown"). After `rm` the script checks whether the container is gone, whatever `rm` reported:
 * some engines fail if it does not exist, some do not know an option, some report success too
 * early. It also reports a container that can't be removed, because another one needs it or its
 * files are in use, but has ended for good.
 *
 *     $1 the client  $2 options of `rm`  $3 the container's name  $4 its label */
static const char undo[] =
    "inspect() {\n"
    "    state=$(\"$1\" inspect --type=container --format='" UNDO_FOUND
    " {{.State.Status}} {{.State.ExitCode}}' \"$2\" 2>/dev/null) && [ -n \"$state\" ]\n"
    "}\n"
    "if inspect \"$1\" \"$3\" || inspect \"$1\" \"$3\"; then\n"
    "    printf '%s\\n' \"$state\"\n"
    "else\n"
    "    left=$(\"$1\" ps --all --quiet --filter=\"label=$4\" 2>&1) || {\n"
    "        printf '%s\\n' \"${left:-the container engine does not answer}\"\n"
    "        exit\n"
    "    }\n"
    "    [ -z \"$left\" ] || inspect \"$1\" \"$3\" || state='" UNDO_FOUND " unknown 0'\n"
    "    [ -z \"$left\" ] || printf '%s\\n' \"$state\"\n"
    "fi\n"
    "why=$(\"$1\" rm $2 \"$3\" 2>&1 >/dev/null) || why=$(\"$1\" rm --force \"$3\" 2>&1 >/dev/null)\n"
    "left=$(\"$1\" ps --all --quiet --filter=\"label=$4\" 2>/dev/null) || {\n"
    "    printf '%s\\n' \"${why:-the container engine does not answer}\"\n"
    "    exit\n"
    "}\n"
    "[ -n \"$left\" ] || why=" UNDO_GONE "\n"
    "printf '%s\\n' \"${why:-it still exists}\"\n"
    "[ -z \"$left\" ] || case $(\"$1\" inspect --type=container --format='{{.State.Status}} {{.State.Pid}}"
    " {{.HostConfig.RestartPolicy.Name}}' $left 2>/dev/null) in\n"
    "'exited 0 ' | 'exited 0 no' | 'dead 0 ' | 'dead 0 no') echo " UNDO_ENDED " ;;\n"
    "esac\n";

/* ---- the environment ---- */

/* Variables by which the client finds its engine, its images and its proxy: the client gets the
 * worker's values of them. A variable of the task with such a name is passed to the container by
 * value (add_env). */
static bool is_client_variable(const char *name, size_t len)
{
    static const char *const names[] = {
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "TMPDIR",
        "LANG",
        "LC_ALL",
        "http_proxy",
        "https_proxy",
        "all_proxy",
        "no_proxy",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "NO_PROXY",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "SSH_AUTH_SOCK",
        "DBUS_SESSION_BUS_ADDRESS",
        "XDG_RUNTIME_DIR",
        "XDG_DATA_HOME",
        "XDG_CONFIG_HOME",
        "REGISTRY_AUTH_FILE",
        "CONTAINER_HOST",
        "CONTAINER_CONNECTION",
        "CONTAINER_SSHKEY",
        "CONTAINERS_CONF",
        "CONTAINERS_STORAGE_CONF",
        "CONTAINERS_REGISTRIES_CONF",
        "STORAGE_DRIVER",
        "STORAGE_OPTS",
        "PODMAN_USERNS",
        "DOCKER_HOST",
        "DOCKER_CONTEXT",
        "DOCKER_CONFIG",
        "DOCKER_CERT_PATH",
        "DOCKER_TLS",
        "DOCKER_TLS_VERIFY",
        "DOCKER_API_VERSION",
        "GODEBUG",
        "LISTEN_FDS",
        "LISTEN_PID",
        "NOTIFY_SOCKET",
        "LD_LIBRARY_PATH",
        "LD_PRELOAD",
    };
    static const char theirs[] = "_CONTAINERS_"; /* podman passes variables with this prefix to
                                                    itself */

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strlen(names[i]) == len && !strncmp(names[i], name, len))
            return true;
    return !strncmp(name, theirs, sizeof(theirs) - 1);
}

static bool is_secret(const struct spec *s, const char *name, size_t len)
{
    for (size_t i = 0; i < s->nsecrets; i++)
        if (strlen(s->secrets[i]) == len && !strncmp(s->secrets[i], name, len))
            return true;
    return false;
}

static void add_client_variables(struct container_command *out)
{
    char **own;

    for (own = environ; own && *own; own++)
        if (is_client_variable(*own, strcspn(*own, "=")))
            *vec_add(&out->client) = mem_strdup(*own);
    for (size_t i = 0; i < out->client.n; i++)
        *vec_add(&out->env) = mem_strdup(out->client.at[i]);
    *vec_add(&out->client) = NULL;
}

/* Other users can read the arguments of a process but not its environment, so values are passed in
 * the environment. `names` receives the names of those variables, as options of env(1). */
static int add_env(const struct job *t, char *const *env, struct buf *names,
                   struct container_command *out, struct err *err)
{
    for (; *env; env++) {
        size_t len = strcspn(*env, "=");

        if (!is_client_variable(*env, len)) {
            *vec_add(&out->env) = mem_strdup(*env);
            *vec_add(&out->argv) = mem_printf("--env=%.*s", (int)len, *env);
            buf_addf(names, "-u %.*s ", (int)len, *env);
        } else if (is_secret(t->spec, *env, len)) {
            return err_set(err, E_INVALID,
                           "the secret %.*s can't be passed to a container, because podman and "
                           "docker use the environment variable of that name themselves: give the "
                           "secret another name",
                           (int)len, *env);
        } else {
            *vec_add(&out->argv) = mem_printf("--env=%s", *env);
        }
    }
    return 0;
}

/* ---- the container ---- */

#define ADD_ARG(...) (*vec_add(&out->argv) = mem_printf(__VA_ARGS__))

static uint64_t hash(const char *text)
{
    uint64_t h = 14695981039346656037u; /* FNV-1a */

    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 1099511628211u;
    return h;
}

/* Every worker computes the same name for an attempt. The name includes the folder, because each
 * database numbers its executions from 1. */
static char *container_name(int64_t execution, int attempt, const char *folder)
{
    return mem_printf("pawl-%" PRId64 "-%d-%08" PRIx32, execution, attempt, (uint32_t)hash(folder));
}

#define BAD_PATH_CHARS ",\"\n" /* not allowed in a path: `--mount` takes a list */

static int check_task(const struct container_spec *c, const struct job *t, const char *folder,
                      struct err *err)
{
    if (!c->image)
        return err_set(
            err, E_INVALID,
            "the task names no image: set `image` in its `container`, or in `executors` of "
            "pawl.yaml");
    if (*c->image == '-')
        return err_set(err, E_INVALID, "\"%.200s\" is not a valid image name", c->image);
    if (!t->spec->run && (!t->spec->argv || !*t->spec->argv[0]))
        return err_set(err, E_INVALID, "there is no command: set `run` or `argv`");
    if (strpbrk(folder, BAD_PATH_CHARS) || (t->spec->cwd && strpbrk(t->spec->cwd, BAD_PATH_CHARS)))
        return err_set(err, E_INVALID,
                       "%s can't be mounted in a container: its path has a comma, a quote or a "
                       "line end",
                       strpbrk(folder, BAD_PATH_CHARS) ? folder : t->spec->cwd);
    return 0;
}

static void add_limits(const struct spec *s, struct container_command *out)
{
    int64_t seconds = (s->limits.cpu + 999999) / 1000000;

    if (s->limits.memory)
        ADD_ARG("--memory=%" PRId64 "b", s->limits.memory);
    if (s->limits.pids)
        ADD_ARG("--pids-limit=%d", s->limits.pids);
    if (s->limits.files)
        ADD_ARG("--ulimit=nofile=%d:%d", s->limits.files, s->limits.files);
    if (s->limits.cpu) /* SIGXCPU first, SIGKILL one second later */
        ADD_ARG("--ulimit=cpu=%" PRId64 ":%" PRId64, seconds, seconds + 1);
}

/* The working directory has the same path inside the container as outside, so that a command finds
 * the same files with and without a container. */
static void add_files(const struct job *t, const struct container_spec *c, const char *folder,
                      struct container_command *out)
{
    const char *const *volume;

    ADD_ARG("--mount=type=bind,source=%s/%s,target=%s", folder, ATTEMPT_OUTPUT, CONTAINER_OUTPUT);
    if (t->spec->nfiles)
        ADD_ARG("--mount=type=bind,source=%s/%s,target=%s,readonly", folder, ATTEMPT_VALUES,
                CONTAINER_VALUES);
    if (t->spec->cwd) {
        ADD_ARG("--mount=type=bind,source=%s,target=%s", t->spec->cwd, t->spec->cwd);
        ADD_ARG("--workdir=%s", t->spec->cwd);
    }
    for (volume = c->volumes; *volume; volume++)
        ADD_ARG("--volume=%s", *volume);
}

static void add_command(const struct spec *s, const char *image, struct container_command *out)
{
    AUTO_ARENA arena = ARENA_INIT;
    const char *const *word = spec_argv(s, &arena);

    ADD_ARG("--entrypoint=%s", *word);
    ADD_ARG("%s", image);
    while (*++word)
        ADD_ARG("%s", *word);
}

static void add_labels(const struct job *t, const char *folder, struct container_command *out)
{
    ADD_ARG("--label=pawl.task=%s", t->name ? t->name : "");
    ADD_ARG("--label=pawl.execution=%" PRId64, t->execution);
    ADD_ARG("--label=pawl.attempt=%d", t->attempt);
    /* This label comes last: an option of the task that lacks its value would swallow the first
     * label. */
    ADD_ARG("--label=pawl.folder=%s", folder);
}

static int add_create(const struct container_options *o, const struct container_spec *c,
                      const struct job *t, const char *folder, char *const *env, struct buf *names,
                      struct container_command *out, struct err *err)
{
    const char *const *option;
    int rc;

    ADD_ARG("--pull=%s", c->pull);
    ADD_ARG("--network=%s", c->network);
    /* The shim keeps the output. The engine's copy is for the shim of a resumed attempt; it is
     * limited, and removed with the container. */
    ADD_ARG("--log-driver=%s", o->docker ? "json-file" : "k8s-file");
    ADD_ARG("--log-opt=max-size=%dm", CONTAINER_LOG_MB);
    if (!o->docker)
        ADD_ARG("--http-proxy=false"); /* the worker's proxy is not the task's */
    if (t->spec->input)
        ADD_ARG("--interactive");
    if (container_has_init(o))
        ADD_ARG("--init");
    if (t->spec->user)
        ADD_ARG("--user=%s", t->spec->user);
    add_limits(t->spec, out);
    add_files(t, c, folder, out);
    if ((rc = add_env(t, env, names, out, err)))
        return rc;
    for (option = c->options; *option; option++)
        ADD_ARG("%s", *option);
    add_labels(t, folder, out); /* last, so that no option of the task overrides a label */
    add_command(t->spec, c->image, out);
    return 0;
}

void container_undo_command(const struct container_options *o, int64_t execution, int attempt,
                            const char *folder, struct container_command *out)
{
    *vec_add(&out->undo) = mem_strdup("/bin/sh");
    *vec_add(&out->undo) = mem_strdup("-c");
    *vec_add(&out->undo) = mem_strdup(undo);
    *vec_add(&out->undo) = mem_strdup("pawl");
    *vec_add(&out->undo) = mem_strdup(o->client);
    *vec_add(&out->undo) =
        mem_strdup(o->docker ? "--force --volumes" : "--force --ignore --volumes --time=0");
    *vec_add(&out->undo) = container_name(execution, attempt, folder);
    *vec_add(&out->undo) = mem_printf("pawl.folder=%s", folder);
    *vec_add(&out->undo) = NULL;
}

/* The client command that starts the engine before the task's command runs; "" if none is needed.
 * Rootless podman keeps its namespaces alive with a process that its first command starts; that
 * process must neither have the task's secrets nor be killed with the task. */
static const char *engine_start_command(const struct container_options *o)
{
    return !o->docker && geteuid() ? "ps --quiet" : "";
}

static void add_start_command(const struct container_options *o, const struct job *t,
                              const char *folder, struct container_command *out)
{
    ADD_ARG("/bin/sh");
    ADD_ARG("-c");
    ADD_ARG("%s", start_script);
    ADD_ARG("pawl");
    ADD_ARG("%s", o->client);
    *vec_add(&out->argv) = container_name(t->execution, t->attempt, folder);
    ADD_ARG("--attach%s%s", o->docker ? "" : " " CONTAINER_QUIET,
            t->spec->input ? " --interactive" : "");
}

int container_command(const struct container_options *o, const struct job *t, const char *folder,
                      char *const *env, struct container_command *out, struct err *err)
{
    AUTO_ARENA texts = ARENA_INIT;
    struct container_spec c;
    AUTO_BUF names = BUF_INIT;
    size_t at;
    int rc;

    memset(out, 0, sizeof(*out));
    add_client_variables(out);
    container_undo_command(o, t->execution, t->attempt, folder, out);
    add_start_command(o, t, folder, out);
    at = out->argv.n;
    *vec_add(&out->argv) = NULL; /* a placeholder for `names`, which add_create determines */
    ADD_ARG("%s", engine_start_command(o));
    if (!(rc = container_spec_read(o, t->spec->container, &texts, &c, err)) &&
        !(rc = check_task(&c, t, folder, err)))
        rc = add_create(o, &c, t, folder, env, &names, out, err);
    out->argv.at[at] = mem_strdup(buf_cstr(&names));
    *vec_add(&out->argv) = NULL;
    *vec_add(&out->env) = NULL;
    if (rc)
        container_command_release(out);
    return rc;
}

static void wipe_list(char **list)
{
    char **s;

    for (s = list; s && *s; s++) {
        explicit_bzero(*s, strlen(*s));
        free(*s);
    }
    free(list);
}

void container_command_release(struct container_command *w)
{
    wipe_list(w->argv.at);
    wipe_list(w->env.at);
    wipe_list(w->undo.at);
    wipe_list(w->client.at);
    memset(w, 0, sizeof(*w));
}
