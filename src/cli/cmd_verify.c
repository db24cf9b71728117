/* cmd_verify.c - pawl verify: prints one line per violation, and a summary. */
#include "cli/cli.h"

#include "base/json.h"

static void print_violation(void *arg, const char *invariant, int64_t execution, const char *detail)
{
    const bool *json = arg;
    AUTO_BUF b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);

    if (*json) {
        json_write_begin(&w, '{');
        json_field_text(&w, "invariant", invariant);
        json_write_key(&w, "execution");
        if (execution)
            json_write_i64(&w, execution);
        else
            json_write_null(&w);
        json_field_text(&w, "detail", detail);
        json_write_end(&w, '}');
    } else {
        buf_addf(&b, "%s ", invariant);
        if (execution)
            buf_addf(&b, "execution %lld: ", (long long)execution);
        out_clean(&b, detail);
    }
    puts(buf_cstr(&b));
}

static void print_summary(const struct pawl_verify_result *r, bool host, bool json)
{
    if (json)
        printf("{\"checks\":%zu,\"violations\":%zu,\"executions\":%lld,\"events\":%lld", r->checks,
               r->violations, (long long)r->executions, (long long)r->events);
    else if (r->violations)
        printf("verify: %zu violation%s of %zu invariants over %lld executions, %lld events",
               r->violations, r->violations == 1 ? "" : "s", r->checks, (long long)r->executions,
               (long long)r->events);
    else
        printf("verify: %zu invariants hold over %lld executions, %lld events", r->checks,
               (long long)r->executions, (long long)r->events);
    if (host)
        printf(json ? ",\"attempts\":%lld,\"workers\":%lld"
                    : ", %lld attempts and %lld workers on this host",
               (long long)r->attempts, (long long)r->workers);
    puts(json ? "}" : "");
}

static int verify(struct cli *c)
{
    struct pawl_verify_options *o = c->values;
    struct pawl_verify_result r = {0};
    int rc;

    if (o->save || o->since)
        TRY(cli_needs_database(c, "a checkpoint of pawl verify"));
    if (o->host)
        TRY(cli_needs_database(c, "pawl verify --host"));
    o->violation = print_violation;
    o->arg = &c->json;
    if ((rc = pawl_verify(c->p, o, &r, &c->err)) && rc != -PAWL_E_VIOLATION)
        return rc;
    print_summary(&r, o->host, c->json);
    return rc ? pawl_exit_code(rc) : 0;
}

static const struct option options[] = {
    {"save", OPTION_TEXT, offsetof(struct pawl_verify_options, save), "FILE",
     "write a checkpoint, for --since in a later check"},
    {"since", OPTION_TEXT, offsetof(struct pawl_verify_options, since), "FILE",
     "check that nothing has been lost since this checkpoint was written"},
    {"lease", OPTION_DURATION, offsetof(struct pawl_verify_options, lease), "DURATION",
     "the longest worker.lease of this database's workers; default: 30s"},
    {"host", OPTION_FLAG, offsetof(struct pawl_verify_options, host), NULL,
     "also check this host: attempt folders, locks, processes, workers"},
    {"state", OPTION_TEXT, offsetof(struct pawl_verify_options, state), "DIR",
     "with --host: check this state folder; default: ~/.local/state/pawl"},
    {0},
};

const struct command command_verify = {
    .name = "verify",
    .forms = "",
    .text = "check the whole database against its invariants",
    .options = options,
    .size = sizeof(struct pawl_verify_options),
    .examples = {{"pawl verify", "exit code 1 if an invariant does not hold"},
                 {"pawl verify --save before.txt; …; pawl verify --since before.txt",
                  "check that nothing was lost in between"},
                 {"pawl verify --host",
                  "also check that this host runs nothing that the database does not know"}},
    .run = verify,
    .opens = true,
    .reads = true,
};
