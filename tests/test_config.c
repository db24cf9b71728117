/* test_config.c - pawl.yaml: where it is found, which values each key accepts, and that all its
 * errors are reported together. */
#include "config_fixture.h"

#include "base/buf.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TEST_NO_DB;

#define COUNT(list) (sizeof(list) / sizeof(*(list)))
#define SECOND      1000000LL

static void make_folder(const char *name)
{
    CHECK_OK(mkdir(in_dir(name), 0700));
}

static struct config *load(const char *text)
{
    struct diagnostics diagnostics = DIAGNOSTICS_INIT;
    struct config_host h = host();
    struct err err = ERR_INIT;
    struct config *c = NULL;

    write_file("pawl.yaml", text);
    CHECK_OK_ERR(config_load(in_dir("pawl.yaml"), &h, &diagnostics, &c, &err), &err);
    CHECK_EQ(diagnostics.count, 0);
    diagnostics_release(&diagnostics);
    return c;
}

/* Expects these errors, as "line:column: message" lines. */
static void check_errors(const char *text, const char *expected)
{
    struct diagnostics diagnostics = DIAGNOSTICS_INIT;
    struct config_host h = host();
    struct err err = ERR_INIT;
    struct config *c = NULL;
    struct buf errors = BUF_INIT;
    size_t i;

    write_file("pawl.yaml", text);
    CHECK_EQ(config_load(in_dir("pawl.yaml"), &h, &diagnostics, &c, &err), -E_INVALID);
    CHECK(!c);
    CHECK(strstr(err.msg, "/pawl.yaml:"));
    for (i = 0; i < diagnostics.list.n; i++)
        buf_addf(&errors, "%s%u:%u: %s", i ? "\n" : "", diagnostics.list.at[i].line,
                 diagnostics.list.at[i].column, diagnostics.list.at[i].sentence);
    CHECK_STR(buf_cstr(&errors), expected);
    buf_release(&errors);
    diagnostics_release(&diagnostics);
}

/* ---- where the file is found ---- */

TEST(config_without_a_file_has_the_documented_defaults)
{
    struct diagnostics diagnostics = DIAGNOSTICS_INIT;
    struct config_host h = host();
    struct err err = ERR_INIT;
    struct config *c = NULL;

    CHECK_OK_ERR(config_load(NULL, &h, &diagnostics, &c, &err), &err);
    CHECK(!c->file && !c->tenant);
    CHECK(!c->db_given);
    CHECK_STR(c->state, in_dir(".local/state/pawl"));
    CHECK(!strncmp(c->db, "sqlite:", 7));
    CHECK_STR(c->db + 7, in_dir(".local/state/pawl/pawl.db"));
    CHECK(c->queue.enabled && c->queue.cap == 3);
    CHECK_EQ(c->dispatch.mode, CONFIG_PUSH);
    CHECK_STR(c->dispatch.routes.command, "process");
    CHECK_EQ(c->dispatch.routes.n, 0);
    CHECK_EQ(c->worker.slots, 3);
    CHECK(c->worker.queues.n == 1 && !strcmp(c->worker.queues.at[0], "default"));
    CHECK_EQ(c->worker.lease, 30 * SECOND);
    CHECK_EQ(c->worker.heartbeat, 10 * SECOND);
    CHECK_EQ(c->worker.host_grace, 300 * SECOND);
    CHECK_EQ(c->worker.drain_grace, 30 * SECOND);
    CHECK(c->functions.threads == 3 && c->functions.queue == 64);
    CHECK(c->plugins.n == 0 && c->execution_events.cleanup);
    CHECK_EQ(c->execution_events.retention_days, 90);
    CHECK_EQ(c->logs.retention_days, 90);
    CHECK_EQ(c->logs.keep, 1000000);
    CHECK(c->retry.max == 0 && c->retry.delay == SECOND && c->retry.backoff == 2.0);
    CHECK(c->retry.max_delay == 300 * SECOND && c->retry.jitter == 0.1);
    CHECK(c->retry.ncodes == 0 && c->timeout == 0);
    config_free(&c);
    CHECK(!c);
    diagnostics_release(&diagnostics);
}

TEST(built_in_executors_need_no_configuration)
{
    struct config *c = load("worker: {slots: 8}\nlogs: {keep: 64kB}\nfunctions: {threads: 2}\n");
    const struct config_executor *x;

    CHECK_EQ(c->executors.n, 3);
    x = config_executor(c, "process");
    CHECK(x && x->type == CONFIG_PROCESS && x->enabled && x->slots == 8 && !x->shim);
    CHECK(x->env.n >= 3 && !strcmp(x->env.at[0], "PATH") && !x->env.at[x->env.n]);
    CHECK(x->log.head == 32000 && x->log.tail == 32000 && x->grace == 10 * SECOND);
    x = config_executor(c, "container");
    CHECK(x && x->type == CONFIG_CONTAINER && x->engine == CONFIG_AUTO && !x->image);
    CHECK(x->pull == CONFIG_MISSING && x->slots == 8);
    x = config_executor(c, "function");
    CHECK(x && x->type == CONFIG_FUNCTION && x->slots == 2);
    CHECK(!config_executor(c, "nothing"));
    config_free(&c);
}

TEST(config_file_in_the_current_folder_takes_precedence_over_that_of_the_user)
{
    struct diagnostics diagnostics = DIAGNOSTICS_INIT;
    struct config_host h = host();
    struct err err = ERR_INIT;
    struct config *c = NULL;

    make_folder(".config");
    make_folder(".config/pawl");
    make_folder("xdg");
    make_folder("xdg/pawl");
    write_file(".config/pawl/pawl.yaml", "tenant: home\n");
    CHECK_OK_ERR(config_load(NULL, &h, &diagnostics, &c, &err), &err);
    CHECK_STR(c->tenant, "home");
    CHECK_STR(c->file, in_dir(".config/pawl/pawl.yaml"));
    config_free(&c);
    write_file("xdg/pawl/pawl.yaml", "tenant: xdg\n");
    h.xdg_config_home = in_dir("xdg");
    CHECK_OK_ERR(config_load(NULL, &h, &diagnostics, &c, &err), &err);
    CHECK_STR(c->tenant, "xdg");
    config_free(&c);
    h.xdg_config_home = "xdg"; /* not absolute: ignored */
    CHECK_OK_ERR(config_load(NULL, &h, &diagnostics, &c, &err), &err);
    CHECK_STR(c->tenant, "home");
    config_free(&c);
    write_file("pawl.yaml", "tenant: here\n");
    CHECK_OK_ERR(config_load(NULL, &h, &diagnostics, &c, &err), &err);
    CHECK_STR(c->tenant, "here");
    config_free(&c);
    CHECK_OK_ERR(config_load(in_dir("xdg/pawl/pawl.yaml"), &h, &diagnostics, &c, &err), &err);
    CHECK_STR(c->tenant, "xdg");
    config_free(&c);
    diagnostics_release(&diagnostics);
}

TEST(config_file_given_by_name_must_exist_and_a_default_one_must_be_readable)
{
    struct diagnostics diagnostics = DIAGNOSTICS_INIT;
    struct config_host h = host();
    struct err err = ERR_INIT;
    struct config *c = NULL;

    CHECK_EQ(config_load(in_dir("no.yaml"), &h, &diagnostics, &c, &err), -E_NOT_FOUND);
    CHECK(strstr(err.msg, "no.yaml can't be read: No such file"));
    make_folder("pawl.yaml");
    CHECK_EQ(config_load(NULL, &h, &diagnostics, &c, &err), -E_INVALID);
    CHECK(strstr(err.msg, "pawl.yaml can't be read: Is a directory"));
    CHECK(!c);
    diagnostics_release(&diagnostics);
}

TEST(config_without_a_home_folder_has_no_default_paths)
{
    struct diagnostics diagnostics = DIAGNOSTICS_INIT;
    struct config_host h = {.folder = test_dir(), .processors = 0};
    struct err err = ERR_INIT;
    struct config *c = NULL;

    CHECK_OK_ERR(config_load(NULL, &h, &diagnostics, &c, &err), &err);
    CHECK(!c->db && !c->state);
    CHECK_EQ(c->worker.slots, 1);
    config_free(&c);
    h = config_this_host();
    CHECK(h.processors >= 1);
    CHECK_STR(h.folder, ".");
    diagnostics_release(&diagnostics);
}

/* ---- values ---- */

TEST(values_in_the_config_file_are_used_and_marked_as_set)
{
    struct config *c =
        load("db: postgres://pawl@db/pawl\n"
             "queue: {enabled: false, cap: 12}\n"
             "dispatch:\n"
             "  mode: poll\n"
             "  default_executor: gpu\n"
             "  routes:\n"
             "    - {task: 'ml::*', executor: gpu}\n"
             "    - {task: '*::check', executor: container}\n"
             "executors:\n"
             "  gpu: {type: process, slots: 2, env: [PATH, CUDA_HOME], grace: 1m,\n"
             "        log: {head: 1kB, tail: 2KiB}}\n"
             "  container: {engine: podman, image: alpine, pull: never}\n"
             "  function: {enabled: false}\n"
             "  process:\n"
             "worker: {slots: auto, queues: [a, b], lease: 1m, heartbeat: 5s}\n"
             "logs:\n"
             "retry: {max: 2, delay: 10s, backoff: 1.5, jitter: 0, codes: [75, 111]}\n"
             "timeout: 10m\n");
    const struct config_executor *x;

    CHECK_STR(c->db, "postgres://pawl@db/pawl");
    CHECK(!c->queue.enabled && c->queue.cap == 12);
    CHECK_EQ(c->dispatch.mode, CONFIG_POLL);
    CHECK_EQ(c->dispatch.routes.n, 2);
    CHECK_STR(c->dispatch.routes.at[1].glob, "*::check");
    CHECK_STR(c->dispatch.routes.at[1].executor, "container");
    CHECK_EQ(c->executors.n, 4);
    x = config_executor(c, "gpu");
    CHECK(x && x->type == CONFIG_PROCESS && x->slots == 2 && x->env.n == 2);
    CHECK(x->log.head == 1000 && x->log.tail == 2048 && x->grace == 60 * SECOND);
    x = config_executor(c, "container");
    CHECK(x && x->engine == CONFIG_PODMAN && x->pull == CONFIG_NEVER && x->slots == 3);
    CHECK_STR(x->image, "alpine");
    CHECK(!config_executor(c, "function")->enabled && config_executor(c, "process")->enabled);
    CHECK_EQ(c->worker.heartbeat, 5 * SECOND);
    CHECK_STR(c->worker.queues.at[1], "b");
    CHECK(c->retry.max == 2 && c->retry.backoff == 1.5 && c->retry.jitter == 0.0);
    CHECK(c->retry.ncodes == 2 && c->retry.codes[1] == 111);
    CHECK_EQ(c->timeout, 600 * SECOND);
    CHECK(c->db_given);
    config_free(&c);
}

TEST(number_for_retry_and_single_value_for_a_list_are_accepted)
{
    struct config *c = load("retry: 3\nworker: {queues: urgent}\nplugins: ./math.so\n");

    CHECK_EQ(c->retry.max, 3);
    CHECK(!c->db_given);
    CHECK_STR(c->worker.queues.at[0], "urgent");
    CHECK_STR(c->plugins.at[0], in_dir("math.so"));
    config_free(&c);
}

TEST(relative_path_is_resolved_from_the_folder_of_the_config_file_and_tilde_from_home)
{
    struct config *c =
        load("db: sqlite:data/pawl.db\nstate: ~/state\nplugins: [/abs.so, lib/p.so]\n"
             "executors: {process: {secrets_file: secrets, shim: /bin/shim}}\n");
    const struct config_executor *x = config_executor(c, "process");

    CHECK(!strncmp(c->db, "sqlite:", 7));
    CHECK_STR(c->db + 7, in_dir("data/pawl.db"));
    CHECK_STR(c->state, in_dir("state"));
    CHECK_STR(c->plugins.at[0], "/abs.so");
    CHECK_STR(c->plugins.at[1], in_dir("lib/p.so"));
    CHECK_STR(x->secrets_file, in_dir("secrets"));
    CHECK_STR(x->shim, "/bin/shim");
    config_free(&c);
    c = load("state: here\n");
    CHECK_STR(c->db + 7, in_dir("here/pawl.db"));
    config_free(&c);
    c = load("db: sqlite:///x/y.db?mode=ro\n");
    CHECK_STR(c->db, "sqlite:///x/y.db?mode=ro");
    config_free(&c);
}

/* ---- errors ---- */

TEST(all_config_errors_are_reported_together_with_suggestions)
{
    check_errors("tennant: x\n"
                 "worker:\n"
                 "  leese: 30s\n"
                 "  slots: 0\n"
                 "  slots: 4\n"
                 "dispatch: {mode: pull}\n"
                 "executers: {}\n"
                 "execution_events: {retention_day: 3}\n"
                 "frobnicate: 1\n",
                 "1:1: there is no key \"tennant\"; did you mean \"tenant\"?\n"
                 "3:3: there is no key \"leese\" in worker; did you mean \"lease\"?\n"
                 "4:10: worker.slots: a whole number from 1 to 10000 is expected, not 0\n"
                 "5:3: the key \"slots\" is already defined on line 4\n"
                 "6:18: dispatch.mode: push or poll is expected, not 'pull'; did you mean "
                 "\"poll\"?\n"
                 "7:1: there is no key \"executers\"; did you mean \"executors\"?\n"
                 "8:20: there is no key \"retention_day\" in execution_events; did you mean "
                 "\"retention_days\"?\n"
                 "9:1: there is no key \"frobnicate\"");
}

struct refused {
    const char *text, *errors;
};

static void check_refused(const struct refused *list, size_t n)
{
    struct buf text = BUF_INIT;
    size_t i;

    for (i = 0; i < n; i++) {
        buf_reset(&text);
        buf_addf(&text, "%s\n", list[i].text);
        check_errors(text.ptr, list[i].errors);
    }
    buf_release(&text);
}

TEST(each_config_key_refuses_an_invalid_value)
{
    static const struct refused cases[] = {
        {"worker: {", "2:1: a value is missing here"},
        {"[]", "1:1: the configuration: a mapping (key: value) is expected, not a list"},
        {"db: mysql://u:secret@h/d",
         "1:5: db must be sqlite:FILE or postgres://USER@HOST/DATABASE"},
        {"db: 'sqlite:'", "1:5: db must be sqlite:FILE or postgres://USER@HOST/DATABASE"},
        {"db:", "1:4: db must be sqlite:FILE or postgres://USER@HOST/DATABASE"},
        {"tenant: Big",
         "1:9: tenant: a lowercase letter followed by up to 40 lowercase letters, digits or _, is "
         "expected, not 'Big'"},
        {"state: ''", "1:8: state: a path is expected, not ''"},
        {"queue: {enabled: on}", "1:18: queue.enabled: true or false is expected, not 'on'"},
        {"queue: {cap: many}",
         "1:14: queue.cap: a whole number from 1 to 10000, or auto, is expected, not 'many'"},
        {"queue: 5", "1:8: queue: a mapping (key: value) is expected, not 5"},
        {"worker: {queues: []}", "1:18: worker.queues: at least one queue is expected, not a list"},
        {"worker: {queues: [a, '']}",
         "1:22: worker.queues: a queue name of 1 to 64 bytes is expected, not ''"},
        {"worker: {queues: [a, a]}", "1:22: worker.queues: \"a\" is listed twice"},
        {"worker: {queues: ['here:7']}", "1:19: worker.queues: a queue name that does not start "
                                         "with here: is expected, not 'here:7'"},
        {"worker: {lease: 999ms}",
         "1:17: worker.lease: a duration from 1s to 1h is expected, not '999ms'"},
        {"worker: {lease: 30}", "1:17: worker.lease: a duration such as 250ms, 30s, 5m, 2h or 90d "
                                "is expected, not 30"},
        {"worker: {heartbeat: 15s}",
         "1:21: worker.heartbeat must be less than half of worker.lease, "
         "so that a worker does not lose its leases after one missed heartbeat"},
        {"worker: {lease: 10m}", "1:17: worker.host_grace must be at least twice worker.lease"},
        {"worker: {host_grace: 59s}",
         "1:22: worker.host_grace must be at least twice worker.lease"},
        {"worker: {drain_grace: -1s}",
         "1:23: worker.drain_grace: a duration such as 250ms, 30s, 5m, "
         "2h or 90d is expected, not '-1s'"},
    };

    check_refused(cases, COUNT(cases));
}

TEST(config_number_or_duration_out_of_range_is_refused)
{
    static const struct refused cases[] = {
        {"functions: {queue: 100001}",
         "1:20: functions.queue: a whole number from 0 to 100000 is expected, not 100001"},
        {"functions: {queue: -1}",
         "1:20: functions.queue: a whole number from 0 to 100000 is expected, not -1"},
        {"plugins: [[x]]", "1:11: plugins: a string is expected, not a list"},
        {"execution_events: {retention_days: 90d}",
         "1:36: execution_events.retention_days: a whole number from 1 to 36500 is expected, not "
         "'90d'"},
        {"logs: {retention_days: 91}", "1:24: logs.retention_days must not be more than "
                                       "execution_events.retention_days, which is 90"},
        {"logs: {keep: 2GB}",
         "1:14: logs.keep: a size from 0 to 1000000000 bytes is expected, not '2GB'"},
        {"retry: -1", "1:8: retry: a whole number from 0 to 1000 is expected, not -1"},
        {"retry: often", "1:8: retry: a number of retries or a mapping (key: value) is expected, "
                         "not 'often'"},
        {"retry: {backoff: 0.5}",
         "1:18: retry.backoff: a number from 1 to 100 is expected, not 0.5"},
        {"retry: {jitter: 1.5}", "1:17: retry.jitter: a number from 0 to 1 is expected, not 1.5"},
        {"retry: {codes: [1, 0, x]}",
         "1:20: retry.codes: a whole number from 1 to 255 is expected, not 0\n"
         "1:23: retry.codes: a whole number from 1 to 255 is expected, not 'x'"},
        {"retry: {delay: 6m}", "1:8: retry: delay is longer than max_delay"},
        {"timeout: 0s", "1:10: timeout: a duration from 1ms to 365d is expected, not '0s'"},
    };

    check_refused(cases, COUNT(cases));
}

TEST(invalid_route_or_executor_in_the_config_is_refused)
{
    static const struct refused cases[] = {
        {"dispatch: {default_executor: proces}",
         "1:30: dispatch.default_executor: there is no executor \"proces\"; did you mean "
         "\"process\"?"},
        {"dispatch: {default_executor: function}",
         "1:30: dispatch.default_executor: the executor \"function\" runs functions, not commands"},
        {"dispatch: {routes: {task: a, executor: process}}",
         "1:20: dispatch.routes: a list of at most 10000 {task: GLOB, executor: KEY} is expected, "
         "not a mapping"},
        {"dispatch: {routes: [{task: a}, {tusk: b, executor: process}, {task: c, executor: zzz}]}",
         "1:21: dispatch.routes: a route needs both task and executor\n"
         "1:33: there is no key \"tusk\" in a route; did you mean \"task\"?\n"
         "1:82: dispatch.routes.executor: there is no executor \"zzz\"; add it to executors"},
        {"executors: {gpu: {slots: 1}}",
         "1:13: executors.gpu needs a type: process, container or custom"},
        {"executors: {gpu: {type: proces}}",
         "1:25: executors.gpu.type: process, container, "
         "function or custom is expected, not 'proces'; did you mean "
         "\"process\"?"},
        {"executors: {'a:b': {type: process}}",
         "1:13: executors: \"a:b\" is not a valid key: use at most 64 letters, digits, _, . and -, "
         "and start with a letter or digit"},
        {"executors: {process: {image: x, engine: podman}}",
         "1:30: executors.process.image: an executor of type process has no image\n"
         "1:41: executors.process.engine: an executor of type process has no engine"},
        {"executors: {function: {slots: 2}}",
         "1:31: executors.function.slots: an executor of type "
         "function has no slots: set functions.threads instead"},
        {"executors: {process: {type: container}}",
         "1:13: executors.process: the type of this executor must be process; use another key for another type"},
        {"executors: {calls: {type: function}}",
         "1:13: executors.calls: only the executor named `function` can run functions"},
        {"executors: {process: {env: [PATH, 1X, 'A=b']}}",
         "1:35: executors.process.env: a variable name (letters, digits and _, not starting with a digit) is expected, "
         "not '1X'\n"
         "1:39: executors.process.env: a variable name (letters, digits and _, not starting with a digit) is expected, "
         "not 'A=b'"},
        {"executors: {process: {log: {haed: 1kB}}}",
         "1:29: there is no key \"haed\" in executors.process.log; did you mean \"head\"?"},
    };

    check_refused(cases, COUNT(cases));
}

TEST(config_list_that_is_too_long_is_refused_quickly)
{
    struct buf text = BUF_INIT;
    int i;

    buf_addstr(&text, "worker:\n  queues:\n");
    for (i = 0; i < 300000; i++)
        buf_addf(&text, "    - q%d\n", i);
    check_errors(text.ptr,
                 "3:5: worker.queues: a list of at most 1000 items is expected, not a list");
    buf_release(&text);
}

TEST(database_password_is_masked_in_config_errors)
{
    struct diagnostics diagnostics = DIAGNOSTICS_INIT;
    struct config_host h = host();
    struct err err = ERR_INIT;
    struct config *c = NULL;
    struct buf shown = BUF_INIT;

    write_file("pawl.yaml",
               "db: postgress://me:hunter2@db/x\ntenant: postgres://me:hunter2@db/x\n");
    CHECK_EQ(config_load(in_dir("pawl.yaml"), &h, &diagnostics, &c, &err), -E_INVALID);
    diagnostics_show(&diagnostics, &shown);
    CHECK_EQ(diagnostics.count, 2);
    CHECK(!strstr(shown.ptr, "hunter2") && !strstr(err.msg, "hunter2"));
    CHECK(strstr(shown.ptr, "     1 | db: postgress://me:***@db/x\n       |     ^\n"));
    buf_release(&shown);
    diagnostics_release(&diagnostics);
}
