/* test_yaml_values.c - typed values read from YAML, or refused with the expected type. */
#include "parse/read_key.h"
#include "yaml_fixture.h"

TEST_NO_DB;

TEST(typed_read_of_a_valid_value_returns_the_value)
{
    struct reading *r =
        read_good("{text: 1.10, flag: true, n: 7, x: 0.5, d: 90d, s: 64KiB, w: poll, "
                  "one: a, many: [a, 2], map: {A: 1, B: 'x'}}");
    const struct yaml_doc *doc = &r->doc;
    const struct yaml *root = &doc->root, *items;
    const char *const words[] = {"push", "poll", NULL};
    const char *text;
    int64_t n;
    double x;
    size_t count;
    bool flag;
    int word;

    CHECK(yaml_text(doc, yaml_get(root, "text"), "t", &text) && !strcmp(text, "1.10"));
    CHECK(yaml_bool(doc, yaml_get(root, "flag"), "t", &flag) && flag);
    CHECK(yaml_int(doc, yaml_get(root, "n"), "t", 7, 7, &n) && n == 7);
    CHECK(yaml_number(doc, yaml_get(root, "x"), "t", 0, 1, &x) && x == 0.5);
    CHECK(yaml_number(doc, yaml_get(root, "n"), "t", 0, 10, &x) && x == 7.0);
    CHECK(yaml_duration(doc, yaml_get(root, "d"), "t", 0, INT64_MAX, &n));
    CHECK_EQ(n, 90 * 86400 * 1000000LL);
    CHECK(yaml_size(doc, yaml_get(root, "s"), "t", 0, INT64_MAX, &n) && n == 65536);
    CHECK(yaml_word(doc, yaml_get(root, "w"), "t", words, &word) && word == 1);
    CHECK(yaml_list(doc, yaml_get(root, "one"), "t", &items, &count) && count == 1);
    CHECK(yaml_text(doc, items, "t", &text) && !strcmp(text, "a"));
    CHECK(yaml_list(doc, yaml_get(root, "many"), "t", &items, &count) && count == 2);
    CHECK(yaml_text(doc, &items[0], "t", &text) && !strcmp(text, "a"));
    CHECK(yaml_text(doc, &items[1], "t", &text) && !strcmp(text, "2"));
    CHECK(yaml_is_map(doc, yaml_get(root, "map"), "t"));
    CHECK_EQ(r->diagnostics.count, 0);
    done(r);
}

TEST(typed_read_of_an_invalid_value_reports_the_expected_type_and_changes_nothing)
{
    struct reading *r = read_good("text: [a]\n"
                                  "flag: on\n"
                                  "n: 70000\n"
                                  "x: .nan\n"
                                  "d: 5\n"
                                  "d2: 500ms\n"
                                  "s: 1XB\n"
                                  "w: pol\n"
                                  "w2: sideways\n"
                                  "list:\n"
                                  "text2: {b: c}\n"
                                  "text3: ~\n"
                                  "map: 7\n");
    const struct yaml_doc *doc = &r->doc;
    const struct yaml *root = &doc->root, *items = NULL;
    const char *const words[] = {"push", "poll", NULL};
    const char *text = NULL;
    int64_t n = -7;
    double x = -7;
    size_t count = 77;
    bool flag = false;
    int word = -7;

    CHECK(!yaml_text(doc, yaml_get(root, "text"), "text", &text) && !text);
    CHECK(!yaml_bool(doc, yaml_get(root, "flag"), "flag", &flag) && !flag);
    CHECK(!yaml_int(doc, yaml_get(root, "n"), "n", 1, 10000, &n));
    CHECK(!yaml_number(doc, yaml_get(root, "x"), "x", 0, 1, &x) && x == -7.0);
    CHECK(!yaml_duration(doc, yaml_get(root, "d"), "d", 0, INT64_MAX, &n));
    CHECK(!yaml_duration(doc, yaml_get(root, "d2"), "d2", 1000000, 3600000000LL, &n));
    CHECK(!yaml_size(doc, yaml_get(root, "s"), "s", 0, INT64_MAX, &n) && n == -7);
    CHECK(!yaml_word(doc, yaml_get(root, "w"), "w", words, &word));
    CHECK(!yaml_word(doc, yaml_get(root, "w2"), "w2", words, &word) && word == -7);
    CHECK(!yaml_list(doc, yaml_get(root, "list"), "list", &items, &count) && !items);
    CHECK_EQ(count, 77);
    CHECK(!yaml_text(doc, yaml_get(root, "text2"), "text2", &text) && !text);
    CHECK(!yaml_text(doc, yaml_get(root, "text3"), "text3", &text) && !text);
    CHECK(!yaml_is_map(doc, yaml_get(root, "map"), "map"));
    CHECK_STR(diagnostics_text(r),
              "1:7: text: a string is expected, not a list\n"
              "2:7: flag: true or false is expected, not 'on'\n"
              "3:4: n: a whole number from 1 to 10000 is expected, not 70000\n"
              "4:4: x: a number from 0 to 1 is expected, not .nan\n"
              "5:4: d: a duration such as 250ms, 30s, 5m, 2h or 90d is expected, not 5\n"
              "6:5: d2: a duration from 1s to 1h is expected, not '500ms'\n"
              "7:4: s: a size such as 4096, 64kB, 1MB or 2GiB is expected, not '1XB'\n"
              "8:4: w: push or poll is expected, not 'pol'; did you mean \"poll\"?\n"
              "9:5: w2: push or poll is expected, not 'sideways'\n"
              "10:6: list: a list, or a single value, is expected, not null\n"
              "11:8: text2: a string is expected, not a mapping\n"
              "12:8: text3: a string is expected, not null\n"
              "13:6: map: a mapping (key: value) is expected, not 7");
    done(r);
}

TEST(unknown_key_error_suggests_the_nearest_known_key)
{
    static const struct key names[] = {{"run", KEY_TEXT, .sentence = ""},
                                       {"needs", KEY_TEXT, .sentence = ""},
                                       {"retry", KEY_TEXT, .sentence = ""},
                                       {"timeout", KEY_TEXT, .sentence = ""},
                                       KEYS_END};
    static const struct keys keys = {.at = names};
    struct reading *r = read_good("runn: x\nneeds: y\nRetry: 2\ntimoeut: 3\nfrobnicate: 4\n");

    CHECK(!reader_known_keys(&(struct reader){.doc = &r->doc}, &keys, &r->doc.root, "task x"));
    CHECK_STR(diagnostics_text(r),
              "1:1: there is no key \"runn\" in task x; did you mean \"run\"?\n"
              "3:1: there is no key \"Retry\" in task x; did you mean \"retry\"?\n"
              "4:1: there is no key \"timoeut\" in task x; did you mean \"timeout\"?\n"
              "5:1: there is no key \"frobnicate\" in task x");
    done(r);
}
