/* test_heartbeat_locked.c - the thread of heartbeats while another transaction has locked what a
 * heartbeat writes: it still sends and receives wake-ups on its connection. */
#include "heartbeat_fixture.h"

#include "store/driver/url.h"

TEST_ONLY_DB(postgres);
TEST_THREADED;

static const struct kit_function functions[] = {{"noop", kit_noop, NULL}, {NULL, NULL, NULL}};

static int failures_of(struct worker_kit *k)
{
    struct heartbeat *b = &k->engine->heartbeat;
    int n;

    pthread_mutex_lock(&b->lock);
    n = b->failures;
    pthread_mutex_unlock(&b->lock);
    return n;
}

TEST(wake_up_arrives_while_heartbeats_fail_because_of_a_locked_row)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};
    struct err err = ERR_INIT;
    struct db *holder = NULL;
    int64_t before;

    fixture_env()->long_timeouts = false; /* the heartbeat gives up its wait for the lock */
    kit_open_asleep(&k);
    KIT_UNTIL(&k, engine_is_drained(k.engine));
    CHECK_OK_ERR(db_open(store_url(s), fixture_env(), &holder, &err), &err);
    CHECK_OK_ERR(db_begin(holder, TX_LONG, &err), &err);
    CHECK_OK_ERR(holder->driver->script(holder, "SELECT 1 FROM workers FOR UPDATE", &err), &err);
    heartbeat_send_soon(k.engine);
    KIT_UNTIL(&k, failures_of(&k) > 0);
    kit_submit(s, "noop", NULL);
    kit_until_ended(&k, 1);
    CHECK(failures_of(&k) > 0);
    before = kit_last_heartbeat(&k); /* the next one may follow the rollback at once */
    db_rollback(holder);
    KIT_UNTIL(&k, kit_last_heartbeat(&k) > before);
    CHECK_EQ(failures_of(&k), 0);
    db_close(&holder);
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}
