/* container.c - see container.h. Podman and docker understand the same words but for a few. */
#include "exec/container.h"

#include "base/buf.h"
#include "exec/attempt.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Made first and begun afterwards, so that what goes wrong on the way (no such image) does not look
 * like the command's own words and exit code. */
static const char begin[] =
    "client=$1 name=$2 attach=$3; shift 3\n"
    "said=$(\"$client\" create --name=\"$name\" \"$@\" 2>&1 </dev/null) || {\n"
    "    printf '%s\\n' \"$said\" >&2\n"
    "    exit 125\n"
    "}\n"
    "exec \"$client\" start $attach \"$name\"\n";

/* Older dockers fail if there is none: then it is looked for. */
static const char undo[] =
    "why=$(\"$1\" rm $2 \"$3\" 2>&1 >/dev/null) && { echo " UNDO_GONE "; exit; }\n"
    "left=$(\"$1\" ps --all --quiet --filter=\"label=$4\" 2>&1) ||\n"
    "    { printf '%s\\n' \"$left\"; exit; }\n"
    "[ -n \"$left\" ] || why=" UNDO_GONE "\n"
    "printf '%s\\n' \"$why\"\n";

/* ---- the environment ---- */

/* By these the client finds its engine, its images and its way out: they are the worker's. A
 * variable of the task that is called so is given by its value. */
static bool is_clients(const char *name, size_t len)
{
    static const char *const names[] = {"PATH",        "HOME",      "USER",      "LOGNAME",
                                        "TMPDIR",      "LANG",      "LC_ALL",    "http_proxy",
                                        "https_proxy", "no_proxy",  "NO_PROXY",  "HTTP_PROXY",
                                        "HTTPS_PROXY", "ALL_PROXY", "all_proxy", "SSH_AUTH_SOCK"};
    static const char *const prefixes[] = {"XDG_",      "DBUS_",   "CONTAINER_", "CONTAINERS_",
                                           "STORAGE_",  "PODMAN_", "DOCKER_",    "BUILDAH_",
                                           "REGISTRY_", "LD_"};
    size_t i;

    for (i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strlen(names[i]) == len && !strncmp(names[i], name, len))
            return true;
    for (i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
        if (!strncmp(prefixes[i], name, strlen(prefixes[i])))
            return true;
    return false;
}

static bool is_secret(const struct spec *s, const char *name, size_t len)
{
    size_t i;

    for (i = 0; i < s->nsecrets; i++)
        if (strlen(s->secrets[i]) == len && !strncmp(s->secrets[i], name, len))
            return true;
    return false;
}

/* Others can read the words of a command, but not its environment: values go that way. */
static int add_env(const struct task *t, char *const *env, struct container_words *out,
                   struct err *err)
{
    char **own;

    for (own = environ; own && *own; own++)
        if (is_clients(*own, strcspn(*own, "=")))
            *vec_add(&out->env) = mem_strdup(*own);
    for (; *env; env++) {
        size_t len = strcspn(*env, "=");

        if (!is_clients(*env, len)) {
            *vec_add(&out->env) = mem_strdup(*env);
            *vec_add(&out->argv) = mem_printf("--env=%.*s", (int)len, *env);
        } else if (is_secret(t->spec, *env, len)) {
            return err_set(err, E_INVALID,
                           "the secret %.*s can't be called so in a container: the engine has a "
                           "variable of that name",
                           (int)len, *env);
        } else {
            *vec_add(&out->argv) = mem_printf("--env=%s", *env);
        }
    }
    return 0;
}

/* ---- the container ---- */

#define ADD(...) (*vec_add(&out->argv) = mem_printf(__VA_ARGS__))

static uint64_t hash(const char *text)
{
    uint64_t h = 14695981039346656037u; /* FNV-1a */

    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 1099511628211u;
    return h;
}

/* The same for whoever looks for it. Executions are counted by each database anew, so the folder is
 * in it, too. */
static char *name_of(int64_t execution, int attempt, const char *folder)
{
    return mem_printf("pawl-%" PRId64 "-%d-%08" PRIx32, execution, attempt, (uint32_t)hash(folder));
}

static const char *text_of(const json_t *c, const char *key, const char *otherwise)
{
    const char *text = json_string_value(json_object_get(c, key));

    return text && *text ? text : otherwise;
}

static int check_keys(const struct container_options *o, const json_t *c, const struct task *t,
                      const char *folder, struct err *err)
{
    const char *image = text_of(c, "image", o->image);

    if (!image)
        return err_set(
            err, E_INVALID,
            "there is no image: name one in `container`, or in `executors` of pawl.yaml");
    if (*image == '-')
        return err_set(err, E_INVALID, "\"%.200s\" is no name of an image", image);
    if (!t->spec->run && (!t->spec->argv || !*t->spec->argv[0]))
        return err_set(err, E_INVALID, "there is no command: say `run` or `argv`");
    if (strchr(folder, ',') || (t->spec->cwd && strchr(t->spec->cwd, ',')))
        return err_set(err, E_INVALID, "%s can't be seen in a container: it has a comma",
                       strchr(folder, ',') ? folder : t->spec->cwd);
    return 0;
}

static void add_limits(const struct spec *s, struct container_words *out)
{
    int64_t seconds = (s->limits.cpu + 999999) / 1000000;

    if (s->limits.memory)
        ADD("--memory=%" PRId64 "b", s->limits.memory);
    if (s->limits.pids)
        ADD("--pids-limit=%d", s->limits.pids);
    if (s->limits.files)
        ADD("--ulimit=nofile=%d:%d", s->limits.files, s->limits.files);
    if (s->limits.cpu) /* XCPU first, a second later KILL */
        ADD("--ulimit=cpu=%" PRId64 ":%" PRId64, seconds, seconds + 1);
}

/* The folder of the task has the same path inside, so that a command finds the same files either
 * way. */
static void add_files(const struct task *t, const json_t *c, const char *folder,
                      struct container_words *out)
{
    const json_t *volumes = json_object_get(c, "volumes");
    size_t i;

    ADD("--mount=type=bind,source=%s/%s,target=%s", folder, ATTEMPT_OUTPUT, CONTAINER_OUTPUT);
    if (t->spec->cwd) {
        ADD("--mount=type=bind,source=%s,target=%s", t->spec->cwd, t->spec->cwd);
        ADD("--workdir=%s", t->spec->cwd);
    }
    for (i = 0; i < json_array_size(volumes); i++)
        ADD("--volume=%s", json_string_value(json_array_get(volumes, i)));
}

static void add_command(const struct spec *s, const char *image, struct container_words *out)
{
    const char *const *word;

    ADD("--entrypoint=%s", s->run ? "/bin/sh" : s->argv[0]);
    ADD("%s", image);
    if (s->run) {
        ADD("-c");
        ADD("%s", s->run);
    }
    for (word = s->run ? NULL : s->argv + 1; word && *word; word++)
        ADD("%s", *word);
}

static void add_labels(const struct task *t, const char *folder, struct container_words *out)
{
    ADD("--label=pawl.folder=%s", folder);
    ADD("--label=pawl.execution=%" PRId64, t->execution);
    ADD("--label=pawl.attempt=%d", t->attempt);
    ADD("--label=pawl.task=%s", t->name ? t->name : "");
}

static int add_create(const struct container_options *o, const json_t *c, const struct task *t,
                      const char *folder, char *const *env, struct container_words *out,
                      struct err *err)
{
    const json_t *options = json_object_get(c, "options");
    size_t i;
    int rc;

    add_labels(t, folder, out);
    ADD("--pull=%s", text_of(c, "pull", o->pull ? o->pull : "missing"));
    ADD("--network=%s", text_of(c, "network", "none"));
    ADD("--log-driver=none"); /* we keep what it says, with a cap */
    if (t->spec->input)
        ADD("--interactive");
    if (container_has_init(o))
        ADD("--init");
    if (t->spec->user)
        ADD("--user=%s", t->spec->user);
    add_limits(t->spec, out);
    add_files(t, c, folder, out);
    if ((rc = add_env(t, env, out, err)))
        return rc;
    for (i = 0; i < json_array_size(options); i++)
        ADD("%s", json_string_value(json_array_get(options, i)));
    add_command(t->spec, text_of(c, "image", o->image), out);
    return 0;
}

void container_undo(const struct container_options *o, int64_t execution, int attempt,
                    const char *folder, struct container_words *out)
{
    *vec_add(&out->undo) = mem_strdup("/bin/sh");
    *vec_add(&out->undo) = mem_strdup("-c");
    *vec_add(&out->undo) = mem_strdup(undo);
    *vec_add(&out->undo) = mem_strdup("pawl");
    *vec_add(&out->undo) = mem_strdup(o->client);
    *vec_add(&out->undo) =
        mem_strdup(o->docker ? "--force --volumes" : "--force --ignore --volumes --time=0");
    *vec_add(&out->undo) = name_of(execution, attempt, folder);
    *vec_add(&out->undo) = mem_printf("pawl.folder=%s", folder);
    *vec_add(&out->undo) = NULL;
}

int container_words(const struct container_options *o, const struct task *t, const char *folder,
                    char *const *env, struct container_words *out, struct err *err)
{
    json_t *c = t->spec->container ? json_loads(t->spec->container, 0, NULL) : json_object();
    char *name = name_of(t->execution, t->attempt, folder);
    int rc;

    memset(out, 0, sizeof(*out));
    if (!json_is_object(c))
        rc = err_set(err, E_INVALID, "what it says about its container is no JSON object");
    else if (!(rc = check_keys(o, c, t, folder, err))) {
        ADD("/bin/sh");
        ADD("-c");
        ADD("%s", begin);
        ADD("pawl");
        ADD("%s", o->client);
        ADD("%s", name);
        ADD("--attach%s", t->spec->input ? " --interactive" : "");
        container_undo(o, t->execution, t->attempt, folder, out);
        rc = add_create(o, c, t, folder, env, out, err);
    }
    *vec_add(&out->argv) = NULL;
    *vec_add(&out->env) = NULL;
    if (rc)
        container_words_release(out);
    free(name);
    json_decref(c);
    return rc;
}

static void release(char **list)
{
    char **s;

    for (s = list; s && *s; s++) {
        explicit_bzero(*s, strlen(*s));
        free(*s);
    }
    free(list);
}

void container_words_release(struct container_words *w)
{
    release(w->argv.at);
    release(w->env.at);
    release(w->undo.at);
    memset(w, 0, sizeof(*w));
}
