/* plugin.c - a plugin: a shared object whose functions a worker runs on its threads.
 *
 *   cc -shared -fPIC -o plugin.so plugin.c
 *   pawl.yaml:  plugins: [plugin.so]
 *
 * The input of both functions is the path of a file, as a JSON string. */
#include <pawl.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Returns the path, or NULL if the input is not one; then the function has failed. */
static const char *path_of(struct pawl_call *c, char *out, size_t size)
{
    size_t len = c->input ? strlen(c->input) : 0;

    if (len < 3 || len - 1 > size || *c->input != '"' || strchr(c->input, '\\')) {
        c->ops->fail(c, "the input should be the path of a file, such as \"/etc/hosts\"");
        return NULL;
    }
    snprintf(out, size, "%.*s", (int)(len - 2), c->input + 1);
    return out;
}

/* lines: counts the lines and bytes of a file, and stops early if it is cancelled. */
static int lines(struct pawl_call *c, void *arg)
{
    char path[4096], block[65536], number[24];
    long long nlines = 0, nbytes = 0;
    size_t n, i;
    FILE *f;

    (void)arg;
    if (!path_of(c, path, sizeof(path)))
        return 2;
    if (!(f = fopen(path, "re"))) {
        c->ops->fail(c, "the file can't be opened");
        return 1;
    }
    while (!c->ops->cancelled(c) && (n = fread(block, 1, sizeof(block), f)) > 0) {
        for (i = 0; i < n; i++)
            nlines += block[i] == '\n';
        nbytes += (long long)n;
    }
    fclose(f);
    snprintf(number, sizeof(number), "%lld", nlines);
    c->ops->set_output(c, "lines", number);
    snprintf(number, sizeof(number), "%lld", nbytes);
    c->ops->set_output(c, "bytes", number);
    return c->ops->cancelled(c); /* a cancelled call is not a success */
}

/* appears: waits for a file without using a thread: it defers itself until the file exists. */
static int appears(struct pawl_call *c, void *arg)
{
    char path[4096];

    (void)arg;
    if (!path_of(c, path, sizeof(path)))
        return 2;
    if (access(path, F_OK))
        c->ops->defer(c, 200000);
    return 0;
}

PAWL_API extern const int pawl_plugin_abi;
PAWL_API int pawl_plugin_init(const struct pawl_plugin_host *host);

const int pawl_plugin_abi = PAWL_PLUGIN_ABI;

int pawl_plugin_init(const struct pawl_plugin_host *host)
{
    int rc = host->add(host, "lines", lines, NULL);

    return rc ? rc : host->add(host, "appears", appears, NULL);
}
