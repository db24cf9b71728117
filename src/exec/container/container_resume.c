/* container_resume.c - finds the container of an attempt whose shim has died, and builds the
 * commands by which another shim watches it, see container.h. The engine keeps the container, its
 * exit code and its output, so none of this needs a process of the attempt that still lives. */
#include "exec/container/container.h"

#include "exec/attempt/attempt.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Prints one line: a JSON object, LOOKUP_NONE, or the error of an engine that does not answer. A
 * container that is listed but can't be inspected counts as none: nothing proves how it ends. The
 * engine must be able to list containers both before and after the inspection: it may only just be
 * starting.
 *
 *     $1 the client  $2 the container's name  $3 its label */
#define LOOKUP_NONE "none"
static const char lookup_script[] =
    "inspect() {\n"
    "    \"$1\" inspect --type=container --format='{\"state\":{{json .State.Status}},"
    "\"labels\":{{json .Config.Labels}},\"env\":{{json .Config.Env}}}' \"$2\" 2>/dev/null\n"
    "}\n"
    "list() {\n"
    "    \"$1\" ps --all --quiet --filter=\"label=$3\" 2>&1\n"
    "}\n"
    "inspect \"$@\" && exit\n"
    "left=$(list \"$@\") && {\n"
    "    inspect \"$@\" && exit\n"
    "    left=$(list \"$@\") && left=" LOOKUP_NONE "\n"
    "}\n"
    "printf '%s\\n' \"${left:-the container engine does not answer}\"\n";

/* Prints the output of the container and exits with its exit code; if the container is gone, or
 * docker could not remove all of it ("dead"), kills itself, because its exit code is unknown then.
 * A client that fails is started again, because an engine may be restarted without its containers.
 * The end of the output may be missing: docker ends `logs --follow` too early.
 *
 *     $1 the client  $2 the container's name  $3 its label  $4 … options of `logs` */
static const char follow_script[] =
    "c=$1 n=$2 l=$3\n"
    "shift 3\n"
    "\"$c\" logs --follow \"$@\" \"$n\" </dev/null 2>&1 &\n"
    "logs=$!\n"
    "while :; do\n"
    "    \"$c\" wait \"$n\" >/dev/null 2>&1 </dev/null\n"
    "    state=$(\"$c\" inspect --type=container --format='" UNDO_FOUND
    " {{.State.Status}} {{.State.ExitCode}}' \"$n\" 2>/dev/null </dev/null)\n"
    "    case $state in\n"
    "    '" UNDO_FOUND " exited '* | '" UNDO_FOUND " stopped '*) break ;;\n"
    "    '" UNDO_FOUND " dead '*) kill -9 $$ ;;\n"
    "    esac\n"
    "    [ -n \"$state\" ] ||\n"
    "        ! left=$(\"$c\" ps --all --quiet --filter=\"label=$l\" 2>/dev/null </dev/null) ||\n"
    "        [ -n \"$left\" ] || kill -9 $$\n"
    "    sleep 1\n"
    "done\n"
    "tries=50\n"
    "while [ $tries -gt 0 ] && kill -0 $logs 2>/dev/null; do\n"
    "    sleep 0.1\n"
    "    tries=$((tries - 1))\n"
    "done\n"
    "exit ${state##* }\n";

bool container_target_of(char *const *undo, struct container_target *out)
{
    size_t n = 0;

    while (undo && undo[n])
        n++;
    if (n != UNDO_WORDS)
        return false;
    *out = (struct container_target){.client = undo[UNDO_CLIENT],
                                     .name = undo[UNDO_NAME],
                                     .label = undo[UNDO_LABEL],
                                     .docker = !strstr(undo[UNDO_OPTIONS], "--ignore")};
    return true;
}

void container_lookup_command(const struct container_target *t, const char *argv[8])
{
    const char *const words[8] = {"/bin/sh", "-c",    lookup_script, "pawl",
                                  t->client, t->name, t->label,      NULL};

    memcpy(argv, words, sizeof(words));
}

void container_watch_commands(const struct container_target *t, const char *since,
                              struct container_watch *out)
{
    const char *options[] = {t->docker ? since : CONTAINER_QUIET, t->docker ? NULL : since, NULL};
    const struct container_watch words = {
        .follow = {"/bin/sh", "-c", follow_script, "pawl", t->client, t->name, t->label},
        .rest = {t->client, "logs"},
        .stop = {t->client, "kill", "--signal=TERM", t->name}};
    size_t follow = 7, rest = 2;

    *out = words;
    for (const char **option = options; *option; option++)
        out->follow[follow++] = out->rest[rest++] = *option;
    out->rest[rest] = t->name;
}

/* ---- the answer ---- */

static bool has_label(const json_t *found, const char *name, const char *value)
{
    const char *text = json_string_value(json_object_get(json_object_get(found, "labels"), name));

    return text && !strcmp(text, value);
}

static bool has_number(const json_t *found, const char *name, int64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRId64, value);
    return has_label(found, name, text);
}

/* The value of a variable of the container; NULL if it is not set. */
static const char *variable_of(const json_t *found, const char *name)
{
    const json_t *env = json_object_get(found, "env");
    size_t len = strlen(name);

    for (size_t i = 0; i < json_array_size(env); i++) {
        const char *text = json_string_value(json_array_get(env, i));

        if (text && !strncmp(text, name, len) && text[len] == '=')
            return text + len + 1;
    }
    return NULL;
}

static bool is_one_of(const char *text, const char *const *list)
{
    while (*list && strcmp(text, *list) != 0)
        list++;
    return *list != NULL;
}

/* The state of the container. CONTAINER_NONE if it was never started, or if its exit code is not
 * that of the command. */
static enum container_found state_of(const json_t *found)
{
    static const char *const running[] = {"running", "paused", "pausing", "stopping", NULL};
    static const char *const ended[] = {"stopped", "exited", NULL};
    const char *state = json_string_value(json_object_get(found, "state"));

    if (!state)
        return CONTAINER_NONE;
    return is_one_of(state, running) ? CONTAINER_RUNS
           : is_one_of(state, ended) ? CONTAINER_ENDED
                                     : CONTAINER_NONE;
}

/* The key is random, so a container with this key belongs to this attempt and to no other of any
 * database and generation. */
static bool is_of_attempt(const json_t *found, const struct container_target *t,
                          const struct container_wanted *w)
{
    const char *folder = strchr(t->label, '='), *key = variable_of(found, ATTEMPT_KEY_NAME);

    return folder && has_label(found, "pawl.folder", folder + 1) &&
           has_number(found, "pawl.execution", w->execution) &&
           has_number(found, "pawl.attempt", w->attempt) && key && *key && !strcmp(key, w->key);
}

enum container_found container_read_lookup(const char *answer, const struct container_target *t,
                                           const struct container_wanted *w,
                                           struct container_secrets *out)
{
    json_auto_t *found = json_loads(answer, 0, NULL);

    if (!found)
        return strcmp(answer, LOOKUP_NONE "\n") ? CONTAINER_NO_ANSWER : CONTAINER_NONE;
    if (state_of(found) == CONTAINER_NONE || !is_of_attempt(found, t, w))
        return CONTAINER_NONE;
    for (char *const *name = w->secrets; name && *name; name++) {
        const char *value = variable_of(found, *name);

        if (!value) /* without the value, the output could not be masked */
            return CONTAINER_NONE;
        *vec_add(out) = mem_strdup(value);
    }
    *vec_add(out) = NULL;
    return state_of(found);
}
