/* test_attempt.c - the attempt folder: its name, locks, records and log; also the masking of
 * secrets and the requests to the shim. */
#include "attempt_fixture.h"
#include "base/env.h"
#include "base/mem.h"
#include "exec/mask.h"
#include "exec/process/request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

TEST_NO_DB;

TEST(only_a_valid_attempt_name_is_parsed)
{
    char name[ATTEMPT_NAME_SIZE];
    const char *bad[] = {"",
                         "workers",
                         "12",
                         "12.",
                         ".3",
                         "012.3",
                         "12.0",
                         "12.03",
                         "12.3x",
                         "-12.3",
                         "12.-3",
                         "99999999999999999999.1",
                         "12.99999999999",
                         "+1.1",
                         " 1.1",
                         "1.1/.."};
    int64_t execution = 0;
    int attempt = 0;

    CHECK_STR(attempt_name(12, 3, name), "12.3");
    CHECK(attempt_parse_name("9223372036854775807.2147483647", &execution, &attempt));
    CHECK_EQ(execution, INT64_MAX);
    CHECK_EQ(attempt, INT32_MAX);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        if (attempt_parse_name(bad[i], &execution, &attempt))
            test_fail(__FILE__, __LINE__, "\"%s\" was parsed as the name of an attempt", bad[i]);
}

TEST(attempt_folder_is_private_and_cannot_be_created_twice)
{
    int dir = open_test_folder(), at = make_attempt_folder();
    struct stat st;

    CHECK_OK(fstat(at, &st));
    CHECK_EQ(st.st_mode & 0777, 0700);
    CHECK_EQ(attempt_make_folder(dir, 12, 3), -1);
    CHECK_EQ(errno, EEXIST);
    CHECK_EQ(attempt_open_folder(dir, 12, 4), -1);
    CHECK_OK(symlinkat("12.3", dir, "12.5"));
    CHECK_EQ(attempt_open_folder(dir, 12, 5), -1);
    close(at);
    close(dir);
}

TEST(lock_is_held_until_its_last_descriptor_is_closed)
{
    int at = make_attempt_folder(), lock, copy;

    CHECK(!attempt_is_locked(at, ATTEMPT_LOCK));
    lock = attempt_lock(at, ATTEMPT_LOCK, false);
    CHECK(lock >= 0);
    CHECK(attempt_is_locked(at, ATTEMPT_LOCK));
    CHECK_EQ(attempt_lock(at, ATTEMPT_LOCK, false), -1);
    CHECK_EQ(errno, EAGAIN);
    /* neither the check nor the failed call released the lock */
    CHECK(attempt_is_locked(at, ATTEMPT_LOCK));
    copy = dup(lock);
    close(lock);
    CHECK(attempt_is_locked(at, ATTEMPT_LOCK));
    close(copy);
    CHECK(!attempt_is_locked(at, ATTEMPT_LOCK));
    close(at);
}

TEST(lock_inherited_by_a_child_outlives_the_parent)
{
    int at = make_attempt_folder(), lock = attempt_lock(at, ATTEMPT_TREE, false), pipes[2];
    pid_t child;

    CHECK_OK(pipe(pipes));
    child = fork();
    if (child == 0) {
        char c;

        close(pipes[1]);
        _exit(read(pipes[0], &c, 1) == 0 ? 0 : 1);
    }
    close(lock);
    CHECK(attempt_is_locked(at, ATTEMPT_TREE));
    close(pipes[0]);
    close(pipes[1]);
    CHECK_EQ(waitpid(child, NULL, 0), child);
    CHECK(!attempt_is_locked(at, ATTEMPT_TREE));
    close(at);
}

TEST(lock_file_that_is_a_symlink_is_not_followed)
{
    int at = make_attempt_folder();

    CHECK_OK(symlinkat("/etc/passwd", at, ATTEMPT_LOCK));
    CHECK_EQ(attempt_lock(at, ATTEMPT_LOCK, false), -1);
    CHECK(!attempt_is_locked(at, ATTEMPT_LOCK));
    close(at);
}

/* ---- records ---- */

TEST(record_with_a_flipped_bit_or_missing_byte_is_rejected)
{
    struct attempt_exit e = {.kind = END_EXITED, .ended = 77}, back;
    unsigned char bytes[RECORD_MAX];
    size_t len = record_encode(&RECORD_EXIT, &e, bytes);

    CHECK(record_decode(&RECORD_EXIT, bytes, len, &back));
    CHECK_EQ(back.ended, 77);
    for (size_t bit = 0; bit < len * 8; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        CHECK(!record_decode(&RECORD_EXIT, bytes, len, &back));
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    for (size_t n = 0; n < len; n++)
        CHECK(!record_decode(&RECORD_EXIT, bytes, n, &back));
    CHECK(!record_decode(&RECORD_LEASE, bytes, len, &back));
}

TEST(record_is_read_completely_or_rejected)
{
    int at = make_attempt_folder(), fd, reserved = -1;
    struct attempt_exit e = {.kind = END_EXITED}, back;

    CHECK_EQ(record_read(at, &RECORD_EXIT, &back), 0);
    CHECK_OK(record_publish(at, &RECORD_EXIT, &e, &reserved, NULL));
    CHECK_EQ(reserved, -1);
    CHECK_EQ(record_read(at, &RECORD_EXIT, &back), 1);
    fd = openat(at, "exit", O_WRONLY | O_APPEND | O_CLOEXEC);
    CHECK_EQ(write(fd, "x", 1), 1);
    close(fd);
    CHECK_EQ(record_read(at, &RECORD_EXIT, &back), -1);
    CHECK_OK(unlinkat(at, "exit", 0));
    CHECK_OK(symlinkat("/etc/passwd", at, "exit"));
    CHECK_EQ(record_read(at, &RECORD_EXIT, &back), -1);
    close(at);
}

TEST(record_is_readable_although_text_was_appended_to_its_reserved_file)
{
    struct attempt_exit e = {.kind = END_EXITED, .ended = 77}, back;
    int at = make_attempt_folder(), reserved = record_reserve(at, &RECORD_EXIT), fd;

    fd = openat(at, "exit.new", O_WRONLY | O_APPEND | O_CLOEXEC);
    CHECK_EQ(write(fd, "more", 4), 4);
    close(fd);
    CHECK_OK(record_publish(at, &RECORD_EXIT, &e, &reserved, NULL));
    CHECK_EQ(record_read(at, &RECORD_EXIT, &back), 1);
    CHECK_EQ(back.ended, 77);
    close(at);
}

TEST(lease_renewal_with_a_lower_epoch_is_refused)
{
    int at = make_attempt_folder();
    struct attempt_lease l = {.epoch = 4, .until = 10};
    struct err err = ERR_INIT;

    CHECK_EQ(attempt_epoch(at), 0);
    CHECK_OK_ERR(attempt_renew(at, &l, &err), &err);
    l.until = 20;
    CHECK_OK_ERR(attempt_renew(at, &l, &err), &err);
    l.epoch = 3;
    CHECK_EQ(attempt_renew(at, &l, &err), -E_LEASE_LOST);
    CHECK_EQ(attempt_epoch(at), 4);
    CHECK_EQ(record_read(at, &RECORD_LEASE, &l), 1);
    CHECK_EQ(l.until, 20);
    close(at);
}

/* A renewal reads the epoch and writes the record under one lock. */
TEST(lease_renewal_that_waits_for_an_adopter_with_a_higher_epoch_is_refused)
{
    struct attempt_lease low = {.epoch = 3, .until = 30}, high = {.epoch = 4, .until = 40}, l;
    struct err err = ERR_INIT;
    int at = make_attempt_folder(), lock = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
        status;
    pid_t child;

    CHECK_OK(flock(lock, LOCK_EX)); /* like an adopter in the middle of its renewal */
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        close(lock);
        _exit(attempt_renew(at, &low, &err) == -E_LEASE_LOST ? 0 : 3);
    }
    clock_sleep_us(30000); /* long enough for the child to finish if it did not wait */
    CHECK_OK(record_write(at, &RECORD_LEASE, &high));
    CHECK_OK(flock(lock, LOCK_UN));
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    CHECK_EQ(record_read(at, &RECORD_LEASE, &l), 1);
    CHECK_EQ(l.epoch, 4);
    close(lock);
    close(at);
}

TEST(sending_a_command_fails_if_no_shim_listens)
{
    int at = make_attempt_folder(), fd;
    struct attempt_control c = {.epoch = 1, .command = COMMAND_CANCEL};

    CHECK_EQ(attempt_send_command(at, &c), -1);
    CHECK_EQ(errno, ENOENT);
    CHECK_OK(mkfifoat(at, ATTEMPT_CONTROL, 0600));
    CHECK_EQ(attempt_send_command(at, &c), -1);
    CHECK_EQ(errno, ENXIO);
    CHECK_OK(unlinkat(at, ATTEMPT_CONTROL, 0));
    fd = openat(at, ATTEMPT_CONTROL, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    CHECK_EQ(attempt_send_command(at, &c), -1);
    close(fd);
    close(at);
}

/* ---- the log ---- */

static void expect_log(int at, int64_t from, size_t max, const char *text)
{
    struct attempt_log log;
    struct buf b = BUF_INIT;

    CHECK_OK(attempt_log_size(at, &log));
    CHECK_OK(attempt_log_read(at, &log, from, max, &b));
    CHECK_STR(buf_cstr(&b), text);
    buf_release(&b);
}

TEST(log_whose_ring_buffer_wrapped_is_read_in_order)
{
    int at = make_attempt_folder();
    struct attempt_log log;
    struct attempt_log_pos pos = {.total = 16, .head = 4, .tail = 8};

    CHECK_EQ(attempt_log_size(at, &log), -1);
    put_file(at, ATTEMPT_LOG, "abcdefgh");
    expect_log(at, 0, 100, "abcdefgh");
    expect_log(at, 3, 2, "de");
    expect_log(at, 8, 100, "");
    /* 16 bytes were written: 4 are the head, the ring has the last 8, its oldest byte at index 4.
     */
    put_file(at, ATTEMPT_LOG, "abcdMNOPIJKL");
    CHECK_OK(record_write(at, &RECORD_LOG_POS, &pos));
    CHECK_OK(attempt_log_size(at, &log));
    CHECK_EQ(log.kept, 12);
    CHECK_EQ(log.head, 4);
    CHECK_EQ(log.dropped, 4);
    expect_log(at, 0, 100, "abcdIJKLMNOP");
    expect_log(at, 6, 4, "KLMN");
    expect_log(at, 2, 3, "cdI");
    close(at);
}

/* ---- masking ---- */

static void release_mask(struct mask *m)
{
    for (size_t i = 0; i < m->n; i++)
        free(m->words[i].text);
    free(m->words);
    buf_release(&m->pending);
}

static void expect_masked(const char *const *secrets, const char *text, const char *expect)
{
    size_t len = strlen(text);

    /* The result must not depend on where the text is split. */
    for (size_t cut = 0; cut <= len; cut++) {
        struct mask m = MASK_INIT;
        struct buf out = BUF_INIT;

        for (const char *const *s = secrets; *s; s++)
            mask_add(&m, *s);
        mask_feed(&m, text, cut, &out);
        mask_feed(&m, text + cut, len - cut, &out);
        mask_end(&m, &out);
        CHECK_STR(buf_cstr(&out), expect);
        release_mask(&m);
        buf_release(&out);
    }
}

static void expect_json_masked(const char *secret, const char *text, const char *expect)
{
    struct mask m = MASK_INIT;
    struct buf out = BUF_INIT;

    mask_add(&m, secret);
    mask_json_strings(&m, text, strlen(text), &out);
    CHECK_STR(buf_cstr(&out), expect);
    CHECK(out.len <= strlen(text));
    release_mask(&m);
    buf_release(&out);
}

TEST(secret_with_characters_escaped_by_json_is_masked)
{
    expect_json_masked("a\"b\\c", "{\"k\":\"x a\\\"b\\\\c y\"}", "{\"k\":\"x *** y\"}");
    expect_json_masked("secret", "{\"k\":\"s\\u0065c\\u0072et\"}", "{\"k\":\"***\"}");
    expect_json_masked("secret", "{\"s\\u0065cret\":[\"\\n\\rs\\u0065cret\\b\"]}",
                       "{\"***\":[\"\\n\\r***\\b\"]}");
    expect_json_masked("a/b\tc\nd", "\"a\\/b\\tc\\nd\"", "\"***\"");
    expect_json_masked("gr\xC3\xBC\xC3\x9F", "\"gr\\u00fc\\u00DF \"", "\"*** \"");
    expect_json_masked("\xE2\x82\xAC\xF0\x9F\x98\x80", "\"\\u20ac\\ud83d\\ude00\"", "\"***\"");
    /* a text that is not JSON, with an odd number of quotes before the string */
    expect_json_masked("a\"b\"c", "size=5\" {\"k\":\"a\\\"b\\\"c\"}", "size=5\" {\"k\":\"***\"}");
    expect_json_masked("a\"b", "x=\"\n\"a\\\"b\"\"\\q\"a\\\"b\"", "x=\"\n\"***\"\"\\q\"***\"");
}

TEST(text_without_a_secret_is_not_changed_by_masking_its_json_strings)
{
    static const char *const texts[] = {"",
                                        "\"",
                                        "\"\"",
                                        "{\"a\":\"b\\n\\u0041\\/\"}",
                                        "\"\\",
                                        "\"\\u12",
                                        "\"\\ud83d",
                                        "\"\\ud83d\\",
                                        "\"\\ud83d\\u",
                                        "\"\\ud83d\\ude0",
                                        "\"\\ud8\"",
                                        "a\"b\nc\"d"};
    size_t i;

    for (i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        expect_json_masked("secret", texts[i], texts[i]);
}

TEST(secrets_are_masked_wherever_the_stream_is_split)
{
    const char *const one[] = {"secret", NULL}, *const two[] = {"secret", "secretly", "tly", NULL},
                      *const none[] = {"", "ab", NULL}, *const lines[] = {"first\nsecond\n", NULL};

    expect_masked(one, "a secret, secre, secretsecret", "a ***, secre, ******");
    expect_masked(one, "sesecretcret", "se***cret");
    expect_masked(two, "secretly secret secretl", "*** *** ***l");
    expect_masked(two, "softly", "sof***");
    expect_masked(none, "ab", "ab");
    expect_masked(lines, "first second", "*** ***");
    expect_masked(lines, "first\nsecond\n!", "***!");
}

TEST(text_that_cannot_belong_to_a_secret_is_passed_on_immediately)
{
    struct mask m = MASK_INIT;
    struct buf out = BUF_INIT;

    mask_add(&m, "secret");
    mask_feed(&m, "password: ", 10, &out);
    CHECK_STR(buf_cstr(&out), "password: ");
    mask_feed(&m, "se", 2, &out);
    CHECK_STR(buf_cstr(&out), "password: ");
    mask_feed(&m, "a", 1, &out);
    CHECK_STR(buf_cstr(&out), "password: sea");
    release_mask(&m);
    buf_release(&out);
}

/* ---- requests ---- */

TEST(complete_request_is_read_and_a_truncated_one_is_rejected)
{
    const char *argv[] = {"a", "", "c", NULL}, *env[] = {"X=1", NULL}, *secrets[] = {NULL};
    struct request r = {.execution = 7,
                        .pids = -1,
                        .key = "k",
                        .output = "/o",
                        .argv = argv,
                        .env = env,
                        .secrets = secrets},
                   back;
    struct buf b = BUF_INIT;

    request_write(&r, &b);
    for (size_t n = 0; n < b.len; n++) {
        char *part = mem_alloc(n);

        memcpy(part, b.ptr, n);
        CHECK(!request_read(part, n, &back));
        free(part);
    }
    CHECK(request_read(b.ptr, b.len, &back));
    CHECK_EQ(back.execution, 7);
    CHECK_EQ(back.pids, -1);
    CHECK_STR(back.cwd, NULL);
    CHECK_STR(back.output, "/o");
    CHECK_STR(back.argv[1], "");
    CHECK_STR(back.argv[2], "c");
    CHECK_STR(back.argv[3], NULL);
    CHECK_STR(back.env[0], "X=1");
    CHECK_STR(back.secrets[0], NULL);
    request_release(&back);
    buf_release(&b);
}

TEST(packet_of_the_wrong_size_is_refused_without_leaking_its_descriptor)
{
    int pair[2], fds[2], given = open("/dev/null", O_RDONLY | O_CLOEXEC), next;
    struct request_packet p = {.execution = 1};
    struct answer_packet a;

    CHECK_OK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair));
    next = dup(given);
    close(next);
    CHECK_OK(packet_send(pair[0], &p, sizeof(p), &given, 1));
    CHECK_EQ(packet_receive(pair[1], &a, sizeof(a), fds, 2), -1);
    CHECK_EQ(errno, EBADMSG);
    CHECK_EQ(dup(given), next); /* the descriptor number is free again */
    close(next);
    CHECK_OK(packet_send(pair[0], &p, sizeof(p), &given, 1));
    CHECK_EQ(packet_receive(pair[1], &p, sizeof(p), fds, 2), 1);
    CHECK_EQ(fds[0], next);
    CHECK_EQ(fds[1], -1);
    CHECK_EQ(fcntl(fds[0], F_GETFD), FD_CLOEXEC);
    close(fds[0]);
    close(pair[0]);
    CHECK_EQ(packet_receive(pair[1], &p, sizeof(p), fds, 2), 0);
    close(pair[1]);
    close(given);
}

/* ---- cgroups ---- */

static char *make_test_cgroup(const char *parent, const char *name, int64_t age)
{
    char *path = mem_printf("%s/pawl-%d-%s", parent, (int)getpid(), name);
    struct timespec times[2] = {{.tv_sec = time(NULL) - age}, {.tv_sec = time(NULL) - age}};
    int fd = cgroup_make(path);

    if (fd < 0)
        SKIP("no cgroup can be created here");
    close(fd);
    CHECK_OK(utimensat(AT_FDCWD, path, times, 0));
    return path;
}

TEST(old_empty_cgroup_is_removed_and_a_new_one_is_kept)
{
    char parent[CGROUP_PATH_SIZE], *old, *new;

    cgroup_find(parent);
    if (!*parent)
        SKIP("no cgroup can be created here");
    old = make_test_cgroup(parent, "old", 3600);
    new = make_test_cgroup(parent, "new", 0);
    cgroup_remove_old(parent);
    CHECK(access(old, F_OK) != 0);
    CHECK_OK(access(new, F_OK));
    cgroup_remove(new);
    CHECK(access(new, F_OK) != 0);
    free(old);
    free(new);
}
