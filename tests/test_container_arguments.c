/* test_container_arguments.c - the arguments and variables with which the client of a container
 * engine is called. */
#include "exec/container/container.h"
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST_NO_DB;

static const struct container_options podman = {.client = "/usr/bin/podman", .image = "debian"};
static const struct container_options docker = {.client = "/usr/bin/docker", .docker = true};

static const struct job task = {.execution = 42, .attempt = 3, .name = "nightly::check"};

static struct container_command command_of(const struct container_options *o,
                                           const struct spec *spec, char *const *env)
{
    char *none[] = {NULL};
    struct container_command w;
    struct err err = ERR_INIT;
    struct job t = task;

    t.spec = spec;
    CHECK_OK_ERR(container_command(o, &t, "/state/db/42.3", env ? env : none, &w, &err), &err);
    return w;
}

static const char *refusal_of(const struct container_options *o, const struct spec *spec,
                              const char *folder, char *const *env)
{
    static struct err err;
    struct container_command w;
    char *none[] = {NULL};
    struct job t = task;

    t.spec = spec;
    CHECK_EQ(container_command(o, &t, folder, env ? env : none, &w, &err), -E_INVALID);
    return err.msg;
}

/* The index of the word in the list, or -1 if it is missing. */
static int index_of(char **list, const char *word)
{
    for (int i = 0; list[i]; i++)
        if (!strcmp(list[i], word))
            return i;
    return -1;
}

#define HAS(list, word) CHECK(index_of((list).at, word) >= 0 && word)

TEST(container_gets_a_name_and_labels_but_no_unrequested_options)
{
    struct spec spec = {.run = "./check.sh && echo fine"};
    struct container_command w = command_of(&podman, &spec, NULL);
    int image = index_of(w.argv.at, "debian");

    CHECK_STR(w.argv.at[0], "/bin/sh");
    CHECK_STR(w.argv.at[4], "/usr/bin/podman");
    CHECK(!strncmp(w.argv.at[5], "pawl-42-3-", 10));
    CHECK_STR(w.argv.at[6], "--attach --log-level=error");
    HAS(w.argv, "--log-driver=k8s-file");
    HAS(w.argv, "--log-opt=max-size=64m");
    HAS(w.argv, "--label=pawl.folder=/state/db/42.3");
    HAS(w.argv, "--label=pawl.execution=42");
    HAS(w.argv, "--label=pawl.attempt=3");
    HAS(w.argv, "--label=pawl.task=nightly::check");
    HAS(w.argv, "--network=none");
    HAS(w.argv, "--pull=missing");
    HAS(w.argv, "--mount=type=bind,source=/state/db/42.3/output,target=/run/pawl/output");
    CHECK_STR(w.argv.at[image - 1], "--entrypoint=/bin/sh");
    CHECK_STR(w.argv.at[image + 1], "-c");
    CHECK_STR(w.argv.at[image + 2], "./check.sh && echo fine");
    CHECK(!w.argv.at[image + 3]);
    for (char **word = w.argv.at; *word; word++)
        CHECK(!strstr(*word, "--volume") && !strstr(*word, "--workdir") &&
              !strstr(*word, "--user") && !strstr(*word, "--memory") && !strstr(*word, "--ulimit"));
    container_command_release(&w);
}

TEST(container_settings_in_a_task_are_passed_to_the_container_engine)
{
    static const char *const argv[] = {"/bin/echo", "a b", "--privileged", NULL};
    struct spec spec = {.argv = argv,
                        .argc = 3,
                        .cwd = "/srv/flow",
                        .input = "text",
                        .user = "1000:50",
                        .limits = {.memory = 1 << 26, .cpu = 1500000, .files = 64, .pids = 8},
                        .container =
                            "{\"image\":\"alpine:3\",\"pull\":\"never\",\"network\":\"web\","
                            "\"volumes\":[\"/a:/b:ro\",\"v:/v\"],"
                            "\"options\":[\"--read-only\",\"--cap-drop=all\"]}"};
    struct container_command w = command_of(&docker, &spec, NULL);
    int image = index_of(w.argv.at, "alpine:3");

    CHECK_STR(w.argv.at[6], "--attach --interactive");
    HAS(w.argv, "--log-driver=json-file");
    HAS(w.argv, "--interactive");
    HAS(w.argv, "--pull=never");
    HAS(w.argv, "--network=web");
    HAS(w.argv, "--user=1000:50");
    HAS(w.argv, "--memory=67108864b");
    HAS(w.argv, "--pids-limit=8");
    HAS(w.argv, "--ulimit=nofile=64:64");
    HAS(w.argv, "--ulimit=cpu=2:3");
    HAS(w.argv, "--mount=type=bind,source=/srv/flow,target=/srv/flow");
    HAS(w.argv, "--workdir=/srv/flow");
    HAS(w.argv, "--volume=/a:/b:ro");
    HAS(w.argv, "--volume=v:/v");
    CHECK(index_of(w.argv.at, "--read-only") < image &&
          index_of(w.argv.at, "--cap-drop=all") < image);
    CHECK_STR(w.argv.at[image - 1], "--entrypoint=/bin/echo");
    CHECK_STR(w.argv.at[image + 1], "a b");
    /* after the image: an argument of the command */
    CHECK_STR(w.argv.at[image + 2], "--privileged");
    CHECK(!w.argv.at[image + 3]);
    container_command_release(&w);
}

TEST(variable_values_are_passed_in_the_environment_and_not_as_arguments)
{
    static const char *const secrets[] = {"TOKEN", NULL};
    struct spec spec = {.run = "x", .secrets = secrets, .nsecrets = 1};
    char *env[] = {(char[]){"TOKEN=hush"}, (char[]){"PATH=/opt/bin"}, (char[]){"A=1=2"}, NULL};
    struct container_command w;

    setenv("HOME", "/home/me", 1);
    setenv("CONTAINERS_CONF", "/etc/conf", 1);
    setenv("OTHER", "of the worker", 1);
    setenv("PATH", "/usr/bin", 1);
    w = command_of(&podman, &spec, env);
    HAS(w.argv, "--env=TOKEN");
    HAS(w.argv, "--env=A");
    HAS(w.argv, "--env=PATH=/opt/bin"); /* the client needs its own PATH */
    HAS(w.env, "TOKEN=hush");
    HAS(w.env, "A=1=2");
    HAS(w.env, "PATH=/usr/bin");
    HAS(w.env, "HOME=/home/me");
    HAS(w.env, "CONTAINERS_CONF=/etc/conf");
    CHECK(index_of(w.env.at, "OTHER=of the worker") < 0);
    for (char **word = w.argv.at; *word; word++)
        CHECK(!strstr(*word, "hush"));
    container_command_release(&w);
}

TEST(container_is_removed_by_the_name_it_was_created_with)
{
    struct spec spec = {.run = "x", .container = "{\"image\":\"i\"}"};
    struct container_command p = command_of(&podman, &spec, NULL),
                             d = command_of(&docker, &spec, NULL);

    CHECK_STR(p.undo.at[4], "/usr/bin/podman");
    CHECK_STR(p.undo.at[5], "--force --ignore --volumes --time=0");
    CHECK_STR(p.undo.at[6], p.argv.at[5]);
    CHECK_STR(p.undo.at[7], "pawl.folder=/state/db/42.3");
    CHECK_STR(d.undo.at[4], "/usr/bin/docker");
    CHECK_STR(d.undo.at[5], "--force --volumes");
    CHECK_STR(d.undo.at[6], p.undo.at[6]); /* the name does not depend on the container engine */
    container_command_release(&p);
    container_command_release(&d);
}

TEST(attempts_in_different_folders_get_different_container_names)
{
    struct spec spec = {.run = "x"};
    struct container_command a = command_of(&podman, &spec, NULL), b;
    struct err err = ERR_INIT;
    char *none[] = {NULL};
    struct job t = task;

    t.spec = &spec;
    CHECK_OK_ERR(container_command(&podman, &t, "/other/db/42.3", none, &b, &err), &err);
    CHECK(strcmp(a.undo.at[6], b.undo.at[6]) != 0);
    container_command_release(&a);
    container_command_release(&b);
}

TEST(command_that_no_container_engine_can_run_is_refused)
{
    static const char *const secrets[] = {"HOME", NULL}, *const nothing[] = {"", NULL};
    struct spec none = {.run = "x"}, dash = {.run = "x", .container = "{\"image\":\"-v\"}"};
    struct spec secret = {.run = "x", .secrets = secrets, .nsecrets = 1};
    struct spec empty = {.argv = nothing, .argc = 1}, list = {.run = "x", .container = "[]"};
    struct spec comma = {.run = "x", .cwd = "/a,b"};
    char *env[] = {(char[]){"HOME=hush"}, NULL};

    CHECK(strstr(refusal_of(&docker, &none, "/f", NULL), "the task names no image"));
    CHECK(strstr(refusal_of(&docker, &dash, "/f", NULL), "\"-v\" is not a valid image name"));
    CHECK(strstr(refusal_of(&podman, &secret, "/f", env),
                 "the secret HOME can't be passed to a container"));
    CHECK(strstr(refusal_of(&podman, &empty, "/f", NULL), "there is no command"));
    CHECK(strstr(refusal_of(&podman, &list, "/f", NULL),
                 "the container must be an object, not a list"));
    CHECK(strstr(refusal_of(&podman, &comma, "/f", NULL), "/a,b can't be mounted in a container"));
    CHECK(strstr(refusal_of(&podman, &none, "/x,y", NULL), "/x,y can't be mounted in a container"));
}

/* With these options the container could not be found again, or its container engine would restart
 * it. */
TEST(container_options_name_and_restart_are_refused)
{
    static const char *const options[] = {"--name=mine", "--name\",\"mine", "--restart=always",
                                          "--restart\",\"on-failure"};
    struct spec spec = {.run = "x"};
    char json[100];

    for (size_t i = 0; i < 4; i++) {
        snprintf(json, sizeof(json), "{\"options\":[\"--init\",\"%s\"]}", options[i]);
        spec.container = json;
        CHECK(strstr(refusal_of(&podman, &spec, "/f", NULL),
                     i < 2 ? "--name can't be among the options of a container"
                           : "--restart can't be among the options of a container"));
    }
}

TEST(label_set_by_a_task_does_not_override_a_label_set_by_pawl)
{
    struct spec spec = {.run = "x",
                        .container = "{\"options\":[\"--label=pawl.folder=/x\",\"--names=fine\"]}"};
    struct container_command w = command_of(&podman, &spec, NULL);
    int theirs = index_of(w.argv.at, "--label=pawl.folder=/x");

    CHECK(theirs >= 0);
    CHECK(index_of(w.argv.at, "--label=pawl.folder=/state/db/42.3") > theirs);
    HAS(w.argv, "--names=fine");
    container_command_release(&w);
}

TEST(container_field_of_the_wrong_type_is_refused)
{
    static const struct {
        const char *container, *sentence;
    } wrong[] = {
        {"{\"volumes\":[\"/a:/b\",7]}", "the container: volumes[1] must be a string, not 7"},
        {"{\"volumes\":\"/a:/b\"}",
         "the container: volumes must be a list, not the string \"/a:/b\""},
        {"{\"options\":[[\"--init\"]]}", "the container: options[0] must be a string, not a list"},
        {"{\"options\":[null]}", "the container: options[0] must be a string, not null"},
        {"{\"options\":[\"a\\u0000b\"]}", "the container: options[0] contains a NUL character"},
        {"{\"image\":12}", "the container: image must be a string, not 12"},
        {"{\"pull\":true}", "the container: pull must be a string, not true"},
        {"{\"network\":{}}", "the container: network must be a string, not an object"},
        {"{\"image\":", "the container is not valid JSON"},
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        struct spec spec = {.run = "x", .container = wrong[i].container};
        const char *message = refusal_of(&podman, &spec, "/f", NULL);

        CHECK(strstr(message, wrong[i].sentence) == message);
    }
}

TEST(empty_or_null_container_field_uses_the_default)
{
    struct spec spec = {.run = "x",
                        .container = "{\"image\":null,\"pull\":\"\",\"network\":null,"
                                     "\"volumes\":null,\"options\":null}"};
    struct container_command w = command_of(&podman, &spec, NULL);

    HAS(w.argv, "debian");
    HAS(w.argv, "--pull=missing");
    HAS(w.argv, "--network=none");
    container_command_release(&w);
}

TEST(container_engine_client_is_found_in_PATH)
{
    char *path;
    FILE *f;

    setenv("PATH", test_dir(), 1);
    CHECK(!container_find_client("podman"));
    path = mem_printf("%s/podman", test_dir());
    f = fopen(path, "we");
    CHECK(f && fclose(f) == 0);
    CHECK(!container_find_client("podman")); /* this podman is not executable */
    free(path);
    setenv("PATH", "relative::/bin", 1);
    path = container_find_client("true");
    CHECK_STR(path, "/bin/true");
    free(path);
}
