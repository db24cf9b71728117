/* test_spec.c - a job's spec: what is accepted, how it is written back, and what is refused with
 * which message. Strict JSON is tested here, too. */
#include "harness.h"

#include "base/json_read.h"
#include "core/spec.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST_NO_DB;

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

static void parse(const char *json, struct arena *arena, struct spec *s)
{
    struct err err = ERR_INIT;

    CHECK_OK_ERR(spec_parse(json, arena, s, &err), &err);
}

static void check_refused(const char *json, const char *sentence)
{
    struct arena arena = ARENA_INIT;
    struct spec s = {.timeout = 4711};
    struct err err = ERR_INIT;

    if (spec_parse(json, &arena, &s, &err) != -E_INVALID)
        test_fail(__FILE__, __LINE__, "accepted: %.200s", json);
    CHECK_STR(err.msg, sentence);
    CHECK_EQ(s.timeout, 4711); /* unchanged */
    arena_release(&arena);
}

/* Parses, writes, parses and writes again: both texts are `expect`. */
static void check_round_trip(const char *json, const char *expect)
{
    struct arena arena = ARENA_INIT;
    struct buf once = BUF_INIT, twice = BUF_INIT;
    struct spec s;

    parse(json, &arena, &s);
    spec_write(&s, &once);
    CHECK_STR(buf_cstr(&once), expect);
    parse(once.ptr, &arena, &s);
    spec_write(&s, &twice);
    CHECK_STR(buf_cstr(&twice), expect);
    buf_release(&once);
    buf_release(&twice);
    arena_release(&arena);
}

static const char full[] =
    "{\"argv\":[\"/bin/echo\",\"\",\"h\\u00e9 \\\"x\\\"\\n\"],\"cwd\":\"/tmp\",\"stdin\":\"in\","
    "\"user\":\"nobody\",\"env\":{\"B\":\"2\",\"_a9\":\"\"},\"secrets\":[\"TOKEN\"],"
    "\"outputs\":[\"files\",\"a b\"],\"timeout\":600000000,\"grace\":5000000,"
    "\"limits\":{\"memory\":1048576,\"cpu\":30000000,\"files\":64,\"pids\":8},"
    "\"container\":{\"image\":\"alpine\",\"args\":[1,2.5,null,true]},"
    "\"retry\":{\"delay\":10000000,\"backoff\":1.5,\"max_delay\":300000000,\"jitter\":0.25,"
    "\"codes\":[75,111]}}";

TEST(spec_with_every_key_is_read)
{
    struct arena arena = ARENA_INIT;
    struct spec s;

    parse(full, &arena, &s);
    CHECK(!s.run);
    CHECK_EQ(s.argc, 3);
    CHECK_STR(s.argv[0], "/bin/echo");
    CHECK_STR(s.argv[1], "");
    CHECK_STR(s.argv[2], "h\303\251 \"x\"\n");
    CHECK(!s.argv[3]);
    CHECK_STR(s.cwd, "/tmp");
    CHECK_STR(s.input, "in");
    CHECK_STR(s.user, "nobody");
    CHECK_EQ(s.nenv, 2);
    CHECK_STR(s.env[0].key, "B");
    CHECK_STR(s.env[0].value, "2");
    CHECK_STR(s.env[1].key, "_a9");
    CHECK_STR(s.env[1].value, "");
    CHECK_EQ(s.nsecrets, 1);
    CHECK_STR(s.secrets[0], "TOKEN");
    CHECK(!s.secrets[1]);
    CHECK_EQ(s.noutputs, 2);
    CHECK_STR(s.outputs[1], "a b");
    CHECK(!s.outputs[2]);
    CHECK_EQ(s.timeout, 600000000);
    CHECK_EQ(s.grace, 5000000);
    CHECK_EQ(s.limits.memory, 1048576);
    CHECK_EQ(s.limits.cpu, 30000000);
    CHECK_EQ(s.limits.files, 64);
    CHECK_EQ(s.limits.pids, 8);
    CHECK_STR(s.container, "{\"image\":\"alpine\",\"args\":[1,2.5,null,true]}");
    CHECK_EQ(s.retry.delay, 10000000);
    CHECK(s.retry.backoff == 1.5);
    CHECK_EQ(s.retry.max_delay, 300000000);
    CHECK(s.retry.jitter == 0.25);
    CHECK_EQ(s.retry.ncodes, 2);
    CHECK_EQ(s.retry.codes[1], 111);
    arena_release(&arena);
}

TEST(missing_or_empty_spec_has_all_defaults)
{
    static const char *const empty[] = {NULL, "{}", " { } ", "{\"retry\":{},\"limits\":{}}",
                                        "{\"env\":{},\"secrets\":[],\"outputs\":[]}"};
    struct arena arena = ARENA_INIT;
    size_t i;

    for (i = 0; i < COUNT(empty); i++) {
        struct buf out = BUF_INIT;
        struct spec s;

        parse(empty[i], &arena, &s);
        CHECK(!s.run && !s.argv && !s.cwd && !s.input && !s.user && !s.container);
        CHECK(!s.nenv && !s.nsecrets && !s.noutputs && !s.timeout && !s.grace);
        CHECK(!s.limits.memory && !s.limits.cpu && !s.limits.files && !s.limits.pids);
        CHECK(!s.retry.delay && s.retry.backoff == 0 && !s.retry.max_delay && !s.retry.ncodes);
        CHECK(s.retry.jitter < 0);
        spec_write(&s, &out);
        CHECK_STR(buf_cstr(&out), "{}");
        buf_release(&out);
    }
    arena_release(&arena);
}

TEST(written_spec_reads_back_unchanged)
{
    check_round_trip(full, "{\"argv\":[\"/bin/echo\",\"\",\"h\303\251 \\\"x\\\"\\n\"],"
                           "\"cwd\":\"/tmp\",\"stdin\":\"in\",\"user\":\"nobody\","
                           "\"env\":{\"B\":\"2\",\"_a9\":\"\"},\"secrets\":[\"TOKEN\"],"
                           "\"outputs\":[\"files\",\"a b\"],\"timeout\":600000000,"
                           "\"grace\":5000000,\"limits\":{\"memory\":1048576,\"cpu\":30000000,"
                           "\"files\":64,\"pids\":8},\"container\":{\"image\":\"alpine\","
                           "\"args\":[1,2.5,null,true]},\"retry\":{\"delay\":10000000,"
                           "\"backoff\":1.5,\"max_delay\":300000000,\"jitter\":0.25,"
                           "\"codes\":[75,111]}}");
    check_round_trip("{\"run\": \"exit 3\", \"stdin\": \"\"}",
                     "{\"run\":\"exit 3\",\"stdin\":\"\"}");
    check_round_trip("{\"shell\":[\"bash\",\"-e\"],\"run\":\"x\"}",
                     "{\"run\":\"x\",\"shell\":[\"bash\",\"-e\"]}");
    check_round_trip("{\"retry\":{\"jitter\":0}}", "{\"retry\":{\"jitter\":0}}");
    check_round_trip("{\"retry\":{\"jitter\":0.1}}", "{\"retry\":{\"jitter\":0.1}}");
    check_round_trip("{\"retry\":{\"backoff\":1.0000000000000002}}",
                     "{\"retry\":{\"backoff\":1.0000000000000002}}");
    check_round_trip("{\"timeout\":0,\"retry\":{\"backoff\":0,\"codes\":[]}}", "{}");
}

TEST(written_numbers_have_a_decimal_point_in_every_locale)
{
    static const char *const with_comma[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8"};
    size_t i;

    for (i = 0; i < COUNT(with_comma) && !setlocale(LC_ALL, with_comma[i]); i++)
        ;
    check_round_trip("{\"retry\":{\"jitter\":0.25}}", "{\"retry\":{\"jitter\":0.25}}");
    setlocale(LC_ALL, "C");
}

TEST(unknown_key_in_a_spec_is_refused_with_a_suggestion)
{
    check_refused("{\"timout\":1}", "the spec: timout is not a known key; did you mean timeout?");
    check_refused("{\"Run\":\"x\"}", "the spec: Run is not a known key; did you mean run?");
    check_refused("{\"retry\":{\"max_dealy\":1}}",
                  "the spec: retry.max_dealy is not a known key; did you mean max_delay?");
    check_refused("{\"limits\":{\"xyzzy\":1}}", "the spec: limits.xyzzy is not a known key; "
                                                "the keys are: memory, cpu, files, pids");
    check_refused("{\"max_attempts\":3,\"run\":\"x\"}",
                  "the spec: max_attempts is not a known key; the keys are: run, argv, cwd, stdin, "
                  "user, env, secrets, outputs, timeout, grace, limits, container, retry, shell, "
                  "files");
}

TEST(value_of_the_wrong_type_in_a_spec_is_refused_with_its_path)
{
    check_refused("[]", "the spec must be an object, not a list");
    check_refused("7", "the spec must be an object, not 7");
    check_refused("{\"run\":1}", "the spec: run must be a string, not 1");
    check_refused("{\"run\":null}", "the spec: run must be a string, not null");
    check_refused("{\"argv\":\"ls\"}", "the spec: argv must be a list, not the string \"ls\"");
    check_refused("{\"argv\":[\"ls\",7]}", "the spec: argv[1] must be a string, not 7");
    check_refused("{\"env\":[]}", "the spec: env must be an object, not a list");
    check_refused("{\"env\":{\"A\":true}}", "the spec: env.A must be a string, not true");
    check_refused("{\"timeout\":\"5s\"}",
                  "the spec: timeout must be a whole number, not the string \"5s\"");
    check_refused("{\"timeout\":1.5}", "the spec: timeout must be a whole number, not 1.5");
    check_refused("{\"limits\":3}", "the spec: limits must be an object, not 3");
    check_refused("{\"retry\":{\"codes\":[1,\"2\"]}}",
                  "the spec: retry.codes[1] must be a whole number, not the string \"2\"");
    check_refused("{\"retry\":{\"backoff\":\"2\"}}",
                  "the spec: retry.backoff must be a number, not the string \"2\"");
    check_refused("{\"container\":\"alpine\"}",
                  "the spec: container must be an object, not the string \"alpine\"");
}

TEST(number_out_of_range_in_a_spec_is_refused)
{
    check_refused("{\"timeout\":-5}",
                  "the spec: timeout must be from 0 to 3153600000000000, not -5");
    check_refused("{\"grace\":9223372036854775807}", "the spec: grace must be from 0 to "
                                                     "3153600000000000, not 9223372036854775807");
    check_refused(
        "{\"timeout\":9223372036854775808}",
        "the spec has a number that is too large: integers have at most 64 bits (line 1, column 30: too big integer near "
        "'9223372036854775808')");
    check_refused("{\"limits\":{\"files\":2147483648}}",
                  "the spec: limits.files must be from 0 to 1073741824, not 2147483648");
    check_refused("{\"limits\":{\"memory\":-1}}",
                  "the spec: limits.memory must be from 0 to 1125899906842624, not -1");
    check_refused("{\"retry\":{\"jitter\":1.5}}",
                  "the spec: retry.jitter must be from 0 to 1, not 1.5");
    check_refused("{\"retry\":{\"jitter\":-0.5}}",
                  "the spec: retry.jitter must be from 0 to 1, not -0.5");
    check_refused(
        "{\"retry\":{\"backoff\":0.5}}",
        "the spec: retry.backoff must be at least 1, not 0.5, so that delays do not shrink");
    check_refused("{\"retry\":{\"codes\":[256]}}",
                  "the spec: retry.codes[0] must be from 0 to 255, not 256");
}

TEST(name_or_text_that_cannot_be_passed_to_a_command_is_refused)
{
    check_refused("{\"run\":\"\"}", "the spec: run is empty");
    check_refused("{\"run\":\"a\\u0000b\"}",
                  "the spec: run contains a NUL character, which can't be passed to a command");
    check_refused("{\"argv\":[]}", "the spec: argv is an empty list");
    check_refused("{\"argv\":[\"\"]}", "the spec: argv[0] is empty: it must name the program");
    check_refused("{\"cwd\":\"tmp\"}", "the spec: cwd must be an absolute path, not \"tmp\"");
    check_refused("{\"env\":{\"9A\":\"\"}}",
                  "the spec: env.9A is not a valid variable name (letters, digits and _, "
                  "not starting with a digit)");
    check_refused("{\"env\":{\"A=B\":\"\"}}",
                  "the spec: env.A=B is not a valid variable name (letters, digits and _, "
                  "not starting with a digit)");
    check_refused("{\"env\":{\"\":\"\"}}",
                  "the spec: env. is not a valid variable name (letters, digits and _, "
                  "not starting with a digit)");
    check_refused("{\"secrets\":[\"a-b\"]}", "the spec: secrets[0] is not a valid variable name: "
                                             "\"a-b\" (letters, digits and _, "
                                             "not starting with a digit)");
    check_refused("{\"outputs\":[\"a=b\"]}", "the spec: outputs[0] is not a valid output name: "
                                             "\"a=b\" (no =, no control characters)");
    check_refused("{\"run\":\"x\",\"argv\":[\"y\"]}",
                  "the spec has both run and argv: give only one of them");
}

TEST(malformed_spec_or_spec_with_duplicate_keys_is_refused)
{
    static const char *const broken[] = {
        "", "{", "{}}", "{\"run\":}", "{run:1}", "nope", "{\"run\":\"\xff\"}"};
    struct arena arena = ARENA_INIT;
    struct spec s;
    size_t i;

    for (i = 0; i < COUNT(broken); i++) {
        struct err err = ERR_INIT;

        CHECK_EQ(spec_parse(broken[i], &arena, &s, &err), -E_INVALID);
        CHECK(!strncmp(err.msg, "the spec is not valid ", 22));
    }
    check_refused("{\"run\":\"a\",\"run\":\"b\"}",
                  "the spec has the same key twice in one object (line 1, column 16: duplicate "
                  "object key near '\"run\"')");
    check_refused("{\"env\":{\"A\\u0000\":\"\"}}",
                  "the spec has a NUL character (\\u0000) in a string (line 1, column 17: NUL byte "
                  "in object key not supported near '\"A\\u0000\"')");
    arena_release(&arena);
}

TEST(spec_beyond_a_size_limit_is_refused)
{
    struct buf b = BUF_INIT;
    int i;

    buf_addstr(&b, "{\"env\":{");
    for (i = 0; i <= 1000; i++)
        buf_addf(&b, "%s\"V%d\":\"\"", i ? "," : "", i);
    buf_addstr(&b, "}}");
    check_refused(b.ptr, "the spec: env has 1001 variables; at most 1000 are allowed");

    buf_reset(&b);
    buf_addf(&b, "{\"run\":\"%0*d\"}", 128 * 1024, 1);
    check_refused(b.ptr, "the spec: run is 131072 bytes long; at most 131071 are allowed");

    buf_reset(&b);
    buf_addf(&b, "{\"env\":{\"AB\":\"%0*d\"}}", 128 * 1024 - 3, 1);
    check_refused(b.ptr, "the spec: env.AB is 131069 bytes long; at most 131068 are allowed");

    buf_reset(&b);
    buf_addf(&b, "{\"files\":{\"A B\":\"\"}}");
    check_refused(b.ptr, "the spec: files.A B is not a valid variable name (letters, digits and _, "
                         "not starting with a digit)");

    buf_reset(&b);
    buf_addf(&b, "{\"stdin\":\"%0*d\"}", 1024 * 1024, 1);
    check_refused(b.ptr, "the spec is 1048588 bytes long; at most 1048576 are allowed");

    buf_reset(&b);
    for (i = 0; i < 100000; i++)
        buf_addch(&b, '[');
    CHECK_EQ(spec_parse(b.ptr, &(struct arena)ARENA_INIT, &(struct spec){0}, &(struct err)ERR_INIT),
             -E_INVALID);
    buf_release(&b);
}
