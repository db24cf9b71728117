/* cmd_serve.c - pawl serve: checks its options and becomes pawl-server, which is a program of its
 * own so that pawl does not need its library. */
#include "cli/cli.h"

#include "base/mem.h"
#include "base/program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOT_GIVEN -1

struct serve {
    const char *listen, *token_file, *proxy_scope, *web, *config;
    struct texts hosts, proxies;
    int64_t worker;
    bool read_only;
};

struct arguments {
    const char **at;
    size_t n, cap;
};

static void add_option(struct arguments *a, const char *name, const char *value)
{
    if (!value)
        return;
    *vec_add(a) = name;
    *vec_add(a) = value;
}

static char *server_path(void)
{
    char *path = program_next_to_this("pawl-server");

    return path ? path : program_next_to_this("../libexec/pawl/pawl-server");
}

static int serve(struct cli *c)
{
    const struct serve *s = c->values;
    AUTO_FREE char *path = server_path(), *slots = NULL;
    AUTO_FREE struct arguments a = {0};

    if (s->worker != NOT_GIVEN && (s->worker < 1 || s->worker > 10000))
        return cli_wrong("--worker must be a number from 1 to 10000");
    if (!path)
        return cli_wrong("the program pawl-server is neither next to pawl nor in ../libexec/pawl: "
                         "install the package pawl-server");
    slots = s->worker == NOT_GIVEN ? NULL : mem_printf("%lld", (long long)s->worker);
    *vec_add(&a) = path;
    add_option(&a, "--db", c->db);
    add_option(&a, "--tenant", c->tenant);
    add_option(&a, "--listen", s->listen);
    add_option(&a, "--token-file", s->token_file);
    add_option(&a, "--web", s->web);
    add_option(&a, "--config", s->config);
    add_option(&a, "--worker", slots);
    for (size_t i = 0; i < s->hosts.n; i++)
        add_option(&a, "--host", s->hosts.at[i]);
    for (size_t i = 0; i < s->proxies.n; i++)
        add_option(&a, "--trusted-proxy", s->proxies.at[i]);
    add_option(&a, "--proxy-scope", s->proxy_scope);
    if (s->read_only)
        *vec_add(&a) = "--read-only";
    *vec_add(&a) = NULL;
    execv(path, (char *const *)a.at);
    return cli_wrong("%s can't be executed: %s", path, strerror(errno));
}

static const struct option options[] = {
    {"listen", OPTION_TEXT, offsetof(struct serve, listen), "ADDRESS",
     "listen on ADDRESS:PORT or unix:PATH; default: 127.0.0.1:7295"},
    {"host", OPTION_TEXTS, offsetof(struct serve, hosts), "NAME",
     "also answer requests for this host name"},
    {"token-file", OPTION_TEXT, offsetof(struct serve, token_file), "FILE",
     "accept the token in the first line of this file, with all scopes"},
    {"trusted-proxy", OPTION_TEXTS, offsetof(struct serve, proxies), "PEER",
     "believe the header X-Forwarded-User if it comes from this ADDRESS, ADDRESS/BITS or user:NAME"},
    {"proxy-scope", OPTION_TEXT, offsetof(struct serve, proxy_scope), "SCOPES",
     "what users of the trusted proxy may do; default: read"},
    {"read-only", OPTION_FLAG, offsetof(struct serve, read_only), NULL, "refuse every change"},
    {"worker", OPTION_NUMBER, offsetof(struct serve, worker), "N",
     "also run jobs, up to N attempts at once"},
    {"web", OPTION_TEXT, offsetof(struct serve, web), "DIR",
     "serve the pages from this folder instead of those built in"},
    {"config", OPTION_TEXT, offsetof(struct serve, config), "FILE",
     "configuration file; default: ./pawl.yaml, else ~/.config/pawl/pawl.yaml"},
    {0},
};

static const struct serve defaults = {.worker = NOT_GIVEN};

const struct command command_serve = {
    .name = "serve",
    .forms = "",
    .text = "serve the HTTP interface and the pages",
    .about =
        "On an address of this host it prints a link with a token for you. Programs use tokens made with "
        "`pawl admin token create`. It listens on an address that other hosts can reach only if there is a token. "
        "On a unix socket the user of the server needs no token.\n\n"
        "On SIGTERM or Ctrl-C it finishes the requests that it works on, and exits.",
    .options = options,
    .size = sizeof(defaults),
    .defaults = &defaults,
    .examples = {{"pawl serve --worker 4", "a whole system: interface, pages and a worker"},
                 {"pawl serve --host pawl.example.org --trusted-proxy 10.0.0.5",
                  "behind a reverse proxy"}},
    .run = serve,
    .no_json = true,
    .local = true,
};
