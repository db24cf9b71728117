/* test_turn_retries.c - which failures of a turn that is repeated are reported to the operator. */
#include "fixture.h"

static int notes;

static void count_note(void *arg, const char *sentence)
{
    (void)arg;
    (void)sentence;
    notes++;
}

struct failing {
    enum error_code code;
    int times, calls;
};

static int fail_first(struct turn *t, void *arg, struct err *err)
{
    struct failing *f = arg;

    (void)t;
    return f->calls++ < f->times ? err_set(err, f->code, "refused by the test") : 0;
}

static int notes_of(enum error_code code)
{
    struct store *s = fixture_store();
    struct failing f = {code, 3, 0};
    struct err err = ERR_INIT;

    fixture_env()->note = count_note;
    notes = 0;
    CHECK_OK_ERR(store_turn(s, fail_first, &f, &err), &err);
    CHECK_EQ(f.calls, 4);
    verify_clean(s);
    store_close(&s);
    return notes;
}

TEST(turn_repeated_after_short_conflicts_writes_no_note)
{
    CHECK_EQ(notes_of(E_REDO), 0);
}

TEST(turn_repeated_after_a_lost_connection_writes_a_note_for_each_repetition)
{
    CHECK_EQ(notes_of(E_CONN_LOST), 3);
}
