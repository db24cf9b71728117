/* test_plugin_executors.c - executors of plugins in an engine: their keys, which of them are freed
 * if the plugin can't be used, and the order in which the parts of a plugin end. Each plugin is
 * compiled by its test and writes what happens to a file. */
#include "custom_executor_fixture.h"

#include <unistd.h>

TEST_THREADED;

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

static const char plugin_head[] =
    "#include <pawl.h>\n"
    "#include <stdatomic.h>\n"
    "#include <stdio.h>\n"
    "#include <stdlib.h>\n"
    "#include <string.h>\n"
    "#include <unistd.h>\n"
    "static const struct pawl_report_ops *report;\n"
    "static void trace(const char *word)\n"
    "{ FILE *f = fopen(getenv(\"PLUGIN_TRACE\"), \"ae\"); fprintf(f, \"%s \", word); fclose(f); }\n"
    "static int start(void *data, const struct pawl_task *t, struct pawl_error *err)\n"
    "{ report->ended(t->id, &(struct pawl_end){.outcome = PAWL_OK, .result = t->input});\n"
    "  return 0; }\n"
    "static void finish(void *data) { trace(data); }\n"
    "static int no_fd(void *data) { return -1; }\n"
    "static void no_poll(void *data) { }\n"
    "static int add(const struct pawl_plugin_host *h, const char *key, const char *name)\n"
    "{ struct pawl_executor x = {.key = key, .data = (void *)name, .start = start, .free = finish};\n"
    "  if (*name == '-') { x.fd = no_fd; x.poll = no_poll; }\n"
    "  report = h->report;\n"
    "  return h->add_executor(h, &x); }\n"
    "const int pawl_plugin_abi = PAWL_PLUGIN_ABI;\n";

static const char *traced(void)
{
    static char text[400];
    FILE *f = fopen(getenv("PLUGIN_TRACE"), "re");
    size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

    text[n] = 0;
    if (f)
        CHECK_EQ(fclose(f), 0);
    return text;
}

/* Compiles the plugin, and starts an empty trace. */
static void build_plugin(const char *name, const char *body, char *path, size_t size)
{
    char command[2000];
    FILE *f;

    if (system("command -v cc >/dev/null"))
        SKIP("no C compiler is installed");
    snprintf(path, size, "%s/trace", test_dir());
    CHECK_EQ(setenv("PLUGIN_TRACE", path, 1), 0);
    (void)unlink(path);
    snprintf(path, size, "%s/%s.c", test_dir(), name);
    CHECK((f = fopen(path, "we")) != NULL);
    fprintf(f, "%s%s\n", plugin_head, body);
    CHECK_EQ(fclose(f), 0);
    snprintf(path, size, "%s/%s.so", test_dir(), name);
    snprintf(command, sizeof(command), "cc -w -shared -fPIC -Iinclude -o %s %s/%s.c", path,
             test_dir(), name);
    CHECK_EQ(system(command), 0);
}

static struct engine_run open_database(void)
{
    struct engine_run w = {0};

    OK(try_open(&w, NULL));
    w.s = fixture_store();
    return w;
}

static int open_with_plugin(struct engine_run *w, const char *path)
{
    const char *plugins[] = {path, NULL};

    return pawl_engine_open(w->p, &(struct pawl_engine_options){.plugins = plugins}, &w->e, &err);
}

TEST(executor_whose_key_string_is_overwritten_after_it_was_added_runs_jobs)
{
    struct engine_run w = open_database();
    char path[300];
    int64_t id;

    build_plugin("key",
                 "static char key[] = \"lab\";\n"
                 "int pawl_plugin_init(const struct pawl_plugin_host *h)\n"
                 "{ int rc = add(h, key, \"lab\"); memset(key, '!', 3); return rc; }",
                 path, sizeof(path));
    OK(open_with_plugin(&w, path));
    id = put(&w, (struct pawl_job){.input = "[1]"});
    UNTIL(&w, status_of(w.s, id) == S_SUCCEEDED);
    CHECK_STR(get(w.s, id).result, "[1]");
    close_run(&w);
    CHECK_STR(traced(), "lab ");
}

/* A name that starts with - is that of an executor whose descriptor can't be polled, which is
 * noticed only when it is added. */
TEST(executors_of_a_plugin_that_cannot_be_used_are_freed_once_unless_they_were_refused)
{
    static const struct {
        const char *init;
        int code;
        const char *words, *trace;
    } bad[] = {
        {"add(h, \"lab\", \"a\"); return add(h, \"a:b\", \"b\");", PAWL_E_INVALID,
         "'a:b' can't be the key of an executor", "a "},
        {"add(h, \"lab\", \"a\"); return add(h, 0, \"b\");", PAWL_E_INVALID,
         "'' can't be the key of an executor", "a "},
        {"add(h, \"lab\", \"a\"); if (add(h, \"lab\", \"b\") == -PAWL_E_CONFLICT) "
         "trace(\"refused\"); return 0;",
         PAWL_E_CONFLICT, "the plugin adds two executors named lab", "refused a "},
        {"add(h, \"lab\", \"a\"); return add(h, \"process\", \"b\");", PAWL_E_CONFLICT,
         "an executor process of the type process already exists", "a "},
        {"add(h, \"lab\", \"a\"); add(h, \"two\", \"b\"); return 5;", PAWL_E_INVALID,
         "pawl_plugin_init failed: it returned 5, not 0", "a b "},
        {"return add(h, \"one\", \"a\") || add(h, \"two\", \"-b\") || add(h, \"three\", \"c\");",
         PAWL_E_UNAVAILABLE, "the file descriptors of the executor two can't be polled", "-b c a "},
    };
    struct engine_run w = open_database();
    char path[300], name[16], body[600];

    for (size_t i = 0; i < COUNT(bad); i++) {
        snprintf(name, sizeof(name), "bad%zu", i);
        snprintf(body, sizeof(body),
                 "int pawl_plugin_init(const struct pawl_plugin_host *h) { %s }", bad[i].init);
        build_plugin(name, body, path, sizeof(path));
        FAILS(open_with_plugin(&w, path), bad[i].code);
        if (!strstr(err.message, bad[i].words) || !strstr(err.message, path))
            test_fail(__FILE__, __LINE__, "\"%s\" lacks \"%s\"", err.message, bad[i].words);
        CHECK_STR(traced(), bad[i].trace);
    }
    close_run(&w);
}

TEST(second_plugin_with_an_executor_of_the_same_key_is_refused)
{
    struct engine_run w = open_database();
    char first[300], second[300];
    const char *plugins[] = {first, second, NULL};

    build_plugin("first",
                 "int pawl_plugin_init(const struct pawl_plugin_host *h)\n"
                 "{ return add(h, \"lab\", \"first\"); }",
                 first, sizeof(first));
    build_plugin("second",
                 "int pawl_plugin_init(const struct pawl_plugin_host *h)\n"
                 "{ return add(h, \"other\", \"second\") || add(h, \"lab\", \"refused\"); }",
                 second, sizeof(second));
    FAILS(pawl_engine_open(w.p, &(struct pawl_engine_options){.plugins = plugins}, &w.e, &err),
          PAWL_E_CONFLICT);
    CHECK(strstr(err.message, "second.so: there are two executors named \"lab\""));
    CHECK_STR(traced(), "second first ");
    close_run(&w);
}

/* ---- the end of a plugin ---- */

static void start_function(struct engine_run *w, const char *path, const char *spec)
{
    OK(open_with_plugin(w, path));
    put(w, (struct pawl_job){.name = "exec::work", .lane = "function:work", .spec = spec});
    UNTIL(w, strstr(traced(), "runs "));
}

TEST(function_of_a_plugin_ends_before_its_executor_is_freed_and_the_plugin_unloaded)
{
    struct engine_run w = open_database();
    char path[300];

    build_plugin("order",
                 "static int work(struct pawl_call *c, void *arg)\n"
                 "{ trace(\"runs\"); while (!c->ops->cancelled(c)) usleep(1000);\n"
                 "  trace(\"function\"); return 0; }\n"
                 "__attribute__((destructor)) static void unload(void) { trace(\"unloaded\"); }\n"
                 "int pawl_plugin_init(const struct pawl_plugin_host *h)\n"
                 "{ return h->add(h, \"work\", work, 0) || add(h, \"lab\", \"executor\"); }",
                 path, sizeof(path));
    start_function(&w, path, NULL);
    close_run(&w);
    CHECK_STR(traced(), "runs function executor unloaded ");
}

/* The function returns only when its executor is being freed: by then its grace has passed. */
TEST(plugin_with_an_unresponsive_function_is_unloaded_after_its_executor_is_freed)
{
    struct engine_run w = open_database();
    char path[300];

    build_plugin("late",
                 "static atomic_int freeing, returns;\n"
                 "static int work(struct pawl_call *c, void *arg)\n"
                 "{ trace(\"runs\"); while (!freeing) usleep(1000);\n"
                 "  trace(\"function\"); returns = 1; return 0; }\n"
                 "static void wait_and_finish(void *data)\n"
                 "{ freeing = 1; while (!returns) usleep(1000);\n"
                 "  usleep(50000); trace(\"executor\"); }\n"
                 "__attribute__((destructor)) static void unload(void) { trace(\"unloaded\"); }\n"
                 "int pawl_plugin_init(const struct pawl_plugin_host *h)\n"
                 "{ struct pawl_executor x = {.key = \"lab\", .start = start,\n"
                 "                            .free = wait_and_finish};\n"
                 "  return h->add(h, \"work\", work, 0) || h->add_executor(h, &x); }",
                 path, sizeof(path));
    start_function(&w, path, "{\"grace\":1000}");
    close_run(&w);
    while (!strstr(traced(), "unloaded")) /* by the last thread, which may be late */
        usleep(1000);
    CHECK_STR(traced(), "runs function executor unloaded ");
}
