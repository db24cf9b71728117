/* test_function_plugin.c - loading plugins: what a plugin may and may not do. */
#include "function_fixture.h"

#include <stdio.h>
#include <string.h>

TEST_NO_DB;
TEST_THREADED;

/* ---- plugins ---- */

/* The declarations that a plugin is compiled with, repeated here on purpose: these layouts are a
 * public interface. */
static const char plugin_head[] =
    "#include <stdint.h>\n"
    "#include <stdbool.h>\n"
    "struct call;\n"
    "struct call_ops {\n"
    "    bool (*cancelled)(const struct call *);\n"
    "    int64_t (*remaining)(const struct call *);\n"
    "    int (*set_output)(struct call *, const char *, const char *);\n"
    "    int (*set_result)(struct call *, const char *);\n"
    "    void (*log)(struct call *, const char *);\n"
    "    void (*fail)(struct call *, const char *);\n"
    "    void (*defer)(struct call *, int64_t);\n"
    "};\n"
    "struct call { const struct call_ops *ops; const char *name, *input; int64_t execution, root;\n"
    "              int attempt, max_attempts; };\n"
    "struct host { int abi; int (*add)(const struct host *, const char *,\n"
    "                                  int (*)(struct call *, void *), void *); void *data;\n"
    "              int (*add_executor)(const struct host *, const void *); const void *report; };\n"
    "static int hello(struct call *c, void *arg)\n"
    "{ c->ops->log(c, c->name); return c->ops->set_output(c, arg, c->input); }\n";

static void build_plugin(const char *name, const char *body, char *path, size_t size)
{
    char command[1000];
    FILE *f;

    snprintf(path, size, "%s/%s.c", test_dir(), name);
    CHECK((f = fopen(path, "we")) != NULL);
    fprintf(f, "%s%s\n", plugin_head, body);
    CHECK_EQ(fclose(f), 0);
    snprintf(path, size, "%s/%s.so", test_dir(), name);
    snprintf(command, sizeof(command), "cc -w -shared -fPIC -o %s %s/%s.c", path, test_dir(), name);
    if (system("command -v cc >/dev/null"))
        SKIP("no C compiler is installed");
    CHECK_EQ(system(command), 0);
}

struct noted {
    int n, drops;
    const void *last;
    bool refuse;
};

static int note_executor(void *arg, const struct pawl_executor *x, struct err *err)
{
    struct noted *noted = arg;

    if (noted->refuse)
        return err_set(err, E_INVALID, "not this one");
    noted->n++;
    noted->last = x;
    return 0;
}

static void drop_executors(void *arg)
{
    ((struct noted *)arg)->drops++;
}

static int load(struct fixture *fx, const char *path, struct noted *noted, struct err *err)
{
    static struct noted none;
    struct function_plugin_executors executors = {.note = note_executor,
                                                  .drop = drop_executors,
                                                  .arg = noted ? noted : &none,
                                                  .report = (const struct pawl_report_ops *)0x10};

    return function_load_plugin(fx->f, path, &executors, err);
}

TEST(loaded_plugin_registers_its_functions)
{
    struct fixture fx;
    struct err err = ERR_INIT;
    struct job t = a_task(1, "hello");
    char path[300];

    build_plugin("good",
                 "const int pawl_plugin_abi = 1;\n"
                 "int pawl_plugin_init(const struct host *h)\n"
                 "{ return h->abi != 1 || h->add(h, \"hello\", hello, \"out\"); }",
                 path, sizeof(path));
    open_threads(&fx, 1);
    CHECK_OK_ERR(load(&fx, path, NULL, &err), &err);
    t.input = "[7]";
    start_task(&fx, &t);
    wait_ended(&fx, 1);
    CHECK_STR(find_seen(&fx, REPORT_LOG, 1)->log, "nightly::load\n");
    CHECK_STR(ended(&fx, 1)->result, "{\"out\":[7]}");
    CHECK_EQ(load(&fx, path, NULL, &err), -E_CONFLICT); /* a plugin is loaded only once */
    CHECK(function_has(fx.f, "hello"));
    end(&fx);
}

static void check_not_loaded(struct fixture *fx, const char *path, const char *words)
{
    struct err err = ERR_INIT;
    size_t n;

    CHECK(load(fx, path, NULL, &err) < 0);
    if (!strstr(err.msg, words) || !strstr(err.msg, path))
        test_fail(__FILE__, __LINE__, "\"%s\" lacks \"%s\"", err.msg, words);
    function_lanes(fx->f, &n);
    CHECK_EQ(n, 1); /* only the function that was registered before */
}

TEST(unusable_plugin_registers_nothing_and_the_error_says_why)
{
    static const struct {
        const char *body, *words;
    } bad[] = {
        {"", "the file is not a Pawl plugin, because it has no symbol pawl_plugin_abi"},
        {"const int pawl_plugin_abi = 1;", "it has no symbol pawl_plugin_init"},
        {"const int pawl_plugin_abi = 99; int pawl_plugin_init(const struct host *h) { *(int *)0 = "
         "1; return 0; }",
         "built for version 99 of the plugin interface, but this Pawl has version 2"},
        {"const int pawl_plugin_abi = 1; int pawl_plugin_init(const struct host *h) { "
         "h->add(h, \"new\", hello, 0); h->add(h, \"there\", hello, 0); return 0; }",
         "a function there already exists"},
        {"const int pawl_plugin_abi = 1; int pawl_plugin_init(const struct host *h) { "
         "h->add(h, \"new\", hello, 0); return 5; }",
         "pawl_plugin_init failed: it returned 5, not 0"},
        {"const int pawl_plugin_abi = 1; int pawl_plugin_init(const struct host *h) { "
         "return h->add(h, \"bad name\", hello, 0); }",
         "is not a valid function name"},
    };
    struct fixture fx;
    char path[300], name[16];
    size_t i;

    open_threads(&fx, 1);
    add(&fx, "there", nothing, NULL);
    for (i = 0; i < COUNT(bad); i++) {
        snprintf(name, sizeof(name), "bad%zu", i);
        build_plugin(name, bad[i].body, path, sizeof(path));
        check_not_loaded(&fx, path, bad[i].words);
    }
    check_not_loaded(&fx, "/nowhere/at-all.so", "can't be loaded");
    check_not_loaded(&fx, "libc.so.6",
                     "can't be loaded"); /* the system's folders are not searched */
    end(&fx);
}

/* ---- executors ---- */

TEST(plugin_adds_an_executor_and_gets_the_report_functions)
{
    struct fixture fx;
    struct err err = ERR_INIT;
    struct noted noted = {0};
    char path[300];

    build_plugin("lab",
                 "const int pawl_plugin_abi = 2;\n"
                 "int pawl_plugin_init(const struct host *h)\n"
                 "{ return h->abi != 2 || h->report != (void *)0x10 ||\n"
                 "         h->add_executor(h, (void *)0x20) || h->add(h, \"hello\", hello, 0); }",
                 path, sizeof(path));
    open_threads(&fx, 1);
    CHECK_OK_ERR(load(&fx, path, &noted, &err), &err);
    CHECK_EQ(noted.n, 1);
    CHECK_EQ(noted.drops, 0);
    CHECK(noted.last == (const void *)0x20);
    CHECK(function_has(fx.f, "hello"));
    end(&fx);
}

TEST(plugin_whose_executor_is_refused_registers_nothing)
{
    struct fixture fx;
    struct err err = ERR_INIT;
    struct noted noted = {.refuse = true};
    char path[300];
    size_t n;

    build_plugin("refused",
                 "const int pawl_plugin_abi = 2;\n"
                 "int pawl_plugin_init(const struct host *h)\n"
                 "{ h->add(h, \"hello\", hello, 0); h->add_executor(h, (void *)0x20); return 0; }",
                 path, sizeof(path));
    open_threads(&fx, 1);
    CHECK_EQ(load(&fx, path, &noted, &err), -E_INVALID);
    CHECK(strstr(err.msg, "refused.so: not this one"));
    CHECK_EQ(noted.drops, 1);
    function_lanes(fx.f, &n);
    CHECK_EQ(n, 0);
    end(&fx);
}
