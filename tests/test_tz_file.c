/* test_tz_file.c - loading time zones by name, and malformed zone files. */
#include "tz_fixture.h"

#include <stdio.h>
#include <stdlib.h>

TEST_NO_DB;

#define HOUR 3600

/* ---- names ---- */

TEST(zone_name_that_leads_out_of_the_zone_folder_is_refused)
{
    static const char *const bad[] = {
        "",
        ".",
        "..",
        "../passwd",
        "/etc",
        "Europe/",
        "Europe//Rome",
        "Europe/../Etc/UTC",
        "a.b",
        "zone.tab",
        "Europe/Ber lin",
        "Europe\\Berlin",
        "Berlin\n",
        "Z\xc3\xbcrich",
        "~",
        "$TZ",
        "a234567890123456789012345678901234567890123456789012345678901234"};
    struct tz *z = NULL;
    size_t i;

    for (i = 0; i < COUNT(bad); i++) {
        struct err err = ERR_INIT;

        CHECK_EQ(tz_load(bad[i], &z, &err), -E_INVALID);
        CHECK(strstr(err.msg, "Europe/Berlin"));
        CHECK(!z);
    }
}

TEST(zone_name_localtime_is_refused)
{
    struct err err = ERR_INIT;
    struct tz *z = NULL;

    CHECK_EQ(tz_load("localtime", &z, &err), -E_INVALID);
    CHECK(strstr(err.msg, "from machine to machine"));
}

TEST(unknown_zone_name_is_refused_and_the_error_names_the_zone_folder)
{
    struct tz *berlin = tz_by_name("Europe/Berlin"), *z = NULL;
    struct err err = ERR_INIT;

    CHECK_EQ(tz_load("Europe/Berln", &z, &err), -E_NOT_FOUND);
    CHECK(strstr(err.msg, TZ_DIR));
    CHECK_EQ(tz_load("Europe", &z, &err), -E_NOT_FOUND);
    CHECK_EQ(tz_load("Europe/Berlin/Mitte", &z, &err), -E_NOT_FOUND);
    CHECK(!z);
    tz_free(&berlin);
}

TEST(file_that_is_not_a_zone_file_or_has_leap_seconds_is_refused)
{
    struct tz *berlin = tz_by_name("Europe/Berlin"), *z = NULL;
    struct err err = ERR_INIT;

    tz_free(&berlin);
    if (!access(TZ_DIR "/leapseconds", R_OK)) {
        CHECK_EQ(tz_load("leapseconds", &z, &err), -E_INVALID);
        CHECK(strstr(err.msg, "not a TZif file"));
    }
    if (!access(TZ_DIR "/right/Europe/Berlin", R_OK)) {
        CHECK_EQ(tz_load("right/Europe/Berlin", &z, &err), -E_INVALID);
        CHECK(strstr(err.msg, "leap seconds"));
    }
    CHECK(!z);
}

TEST(every_zone_on_this_machine_can_be_read)
{
    struct tz *z = tz_by_name("Europe/Berlin");
    char line[256], *name;
    FILE *f = fopen(TZ_DIR "/tzdata.zi", "r");
    size_t n = 0;

    tz_free(&z);
    if (!f)
        SKIP("there is no list of zones");
    while (fgets(line, sizeof(line), f)) {
        struct err err = ERR_INIT;

        line[strcspn(line, "\n")] = '\0';
        if (!strncmp(line, "Z ", 2)) /* Z NAME …, L TARGET NAME */
            name = line + 2, name[strcspn(name, " ")] = '\0';
        else if (!strncmp(line, "L ", 2))
            name = strrchr(line, ' ') + 1;
        else
            continue;
        CHECK_OK_ERR(tz_load(name, &z, &err), &err);
        tz_free(&z);
        n++;
    }
    fclose(f);
    CHECK(n > 300);
}

/* ---- malformed files ---- */

static int parse(const char *bytes, size_t len, struct err *err)
{
    char *copy = malloc(len + 1); /* a separate block, so that a sanitizer detects an overrun */
    struct tz *z = NULL;
    int rc;

    CHECK(copy);
    memcpy(copy, bytes, len);
    rc = tz_parse("Test/Zone", copy, len, &z, err);
    CHECK_EQ(!rc, z != NULL);
    if (z) {
        (void)tz_from_local(z, 1000000000);
        (void)tz_period(z, -TZ_FOREVER);
        (void)tz_period(z, TZ_FOREVER - 1);
    }
    tz_free(&z);
    free(copy);
    return rc;
}

TEST(zone_file_truncated_at_any_byte_is_refused)
{
    static const struct tzif_step steps[] = {{1000, HOUR}, {2000, 2 * HOUR}};
    struct buf b = BUF_INIT;
    size_t len;

    make_tzif(&b, 0, steps, COUNT(steps), berlin_rule);
    for (len = 0; len < b.len; len++) {
        struct err err = ERR_INIT;

        CHECK_EQ(parse(b.ptr, len, &err), -E_INVALID);
        CHECK(strstr(err.msg, "Test/Zone"));
    }
    buf_release(&b);
}

TEST(zone_file_with_any_byte_changed_is_refused_or_still_a_valid_zone)
{
    static const struct tzif_step steps[] = {{1000, HOUR}, {2000, 2 * HOUR}};
    static const unsigned char values[] = {0, 1, 0x7f, 0x80, 0xff, '\n', ','};
    struct buf b = BUF_INIT;
    size_t i, v;

    make_tzif(&b, 0, steps, COUNT(steps), berlin_rule);
    for (i = 0; i < b.len; i++)
        for (v = 0; v < COUNT(values); v++) {
            struct err err = ERR_INIT;
            char kept = b.ptr[i];

            b.ptr[i] = (char)values[v];
            (void)!parse(b.ptr, b.len, &err);
            b.ptr[i] = kept;
        }
    buf_release(&b);
}

static void check_refused(int32_t before, const struct tzif_step *steps, size_t n, const char *rule,
                          const char *why)
{
    struct buf b = BUF_INIT;
    struct err err = ERR_INIT;

    make_tzif(&b, before, steps, n, rule);
    CHECK_EQ(parse(b.ptr, b.len, &err), -E_INVALID);
    if (!strstr(err.msg, why))
        test_fail(__FILE__, __LINE__, "'%s' does not contain '%s'", err.msg, why);
    buf_release(&b);
}

TEST(zone_table_with_unordered_times_or_an_offset_above_a_day_is_refused)
{
    static const struct tzif_step falls[] = {{2000, HOUR}, {2000, 0}};
    static const struct tzif_step early[] = {{-TZ_FOREVER - 1, 0}};
    static const struct tzif_step far[] = {{0, 26 * HOUR}};

    check_refused(0, falls, 2, "", "ascending");
    check_refused(0, early, 1, "", "ascending");
    check_refused(0, far, 1, "", "offset");
    check_refused(-26 * HOUR, NULL, 0, "", "offset");
}

TEST(zone_transition_to_a_type_that_does_not_exist_is_refused)
{
    static const struct tzif_step steps[] = {{1000, HOUR}};
    struct buf b = BUF_INIT, first = BUF_INIT;
    struct err err = ERR_INIT;

    add_tzif_block(&first, 4, 0, NULL, 0);
    make_tzif(&b, 0, steps, COUNT(steps), "");
    b.ptr[first.len + 44 + 8] = 2; /* after the header and one time; only types 0 and 1 exist */
    CHECK_EQ(parse(b.ptr, b.len, &err), -E_INVALID);
    CHECK(strstr(err.msg, "type"));
    buf_release(&first);
    buf_release(&b);
}

TEST(zone_file_footer_that_is_not_a_rule_is_refused)
{
    static const char *const bad[] = {"A",
                                      "CET",
                                      "CET-",
                                      "CET-25",
                                      "CET-1:60",
                                      "CET-1CEST",
                                      "CET-1CEST,",
                                      "CET-1CEST,M3.5.0",
                                      "CE-1",
                                      "<CET-1",
                                      "<+>-1",
                                      "CET-1CEST,M13.5.0,M10.5.0",
                                      "CET-1CEST,M3.6.0,M10.5.0",
                                      "CET-1CEST,M3.5.7,M10.5.0",
                                      "CET-1CEST,M3.5.0,M10.5.0/168",
                                      "CET-1CEST,J0,J2",
                                      "CET-1CEST,J366,J2",
                                      "CET-1CEST,366,2",
                                      "CET-1CEST,M3.5.0,M10.5.0/3x",
                                      "CET-1CEST-2-3,M3.5.0,M10.5.0",
                                      "CET-1 ",
                                      "CET-1CEST,M3.0.0,M10.5.0",
                                      "CET-99999999999",
                                      "CET-1CEST,M3.5.0,M10.5.0,"};
    size_t i;

    for (i = 0; i < COUNT(bad); i++)
        check_refused(0, NULL, 0, bad[i], "footer");
}

TEST(zone_file_without_64_bit_times_is_refused)
{
    struct buf b = BUF_INIT;
    struct err err = ERR_INIT;

    make_tzif(&b, 0, NULL, 0, berlin_rule);
    b.ptr[4] = '\0';
    CHECK_EQ(parse(b.ptr, b.len, &err), -E_INVALID);
    CHECK(strstr(err.msg, "version 1"));
    buf_release(&b);
}
