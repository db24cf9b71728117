/* container_engine.c - finds the container engine and checks that it answers, see container.h. */
#include "exec/container/container.h"

#include "base/fd.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define DOCKER_SOCKET "/var/run/docker.sock"

char *container_find_client(const char *name)
{
    const char *path = getenv("PATH"), *end;

    for (path = path ? path : "/usr/local/bin:/usr/bin:/bin"; *path; path = end + (*end == ':')) {
        char *found;

        end = path + strcspn(path, ":");
        found = mem_printf("%.*s/%s", (int)(end - path), path, name);
        if (*found == '/' && access(found, X_OK) == 0)
            return found;
        free(found);
    }
    return NULL;
}

static int check_socket(const char *path, struct err *err)
{
    AUTO_FD fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un to = {.sun_family = AF_UNIX};

    if (fd < 0 || strlen(path) >= sizeof(to.sun_path))
        return 0; /* docker reports the error itself */
    memcpy(to.sun_path, path, strlen(path) + 1);
    /* EAGAIN: the engine is running, but busy. */
    if (!connect(fd, (const struct sockaddr *)&to, sizeof(to)) || errno == EAGAIN ||
        errno == EINPROGRESS)
        return 0;
    if (errno == EACCES || errno == EPERM)
        return err_set(err, E_REFUSED,
                       "this user may not connect to docker at %s: %s; add the user to the group "
                       "that owns the socket (usually docker), or use podman",
                       path, strerror(errno));
    return err_set(err, E_REFUSED, "docker does not answer at %s: %s; start its service", path,
                   strerror(errno));
}

/* Whether a docker context is selected. It may name another address of the engine, which
 * container_check can't know. */
static bool has_context(void)
{
    const char *dir = getenv("DOCKER_CONFIG"), *home = getenv("HOME");
    AUTO_FREE char *path = dir && *dir ? mem_printf("%s/config.json", dir)
                                       : mem_printf("%s/.docker/config.json", home ? home : "");
    json_auto_t *config = json_load_file(path, 0, NULL);
    const char *named = json_string_value(json_object_get(config, "currentContext"));

    return named && *named && strcmp(named, "default");
}

int container_check(const struct container_options *o, struct err *err)
{
    static const char unix_scheme[] = "unix://";
    const char *host = getenv("DOCKER_HOST"), *context = getenv("DOCKER_CONTEXT");

    if (access(o->client, X_OK))
        return err_set(err, E_REFUSED, "%s can't be executed: %s", o->client, strerror(errno));
    if (!o->docker || (context && *context))
        return 0;
    if (!host || !*host)
        return has_context() ? 0 : check_socket(DOCKER_SOCKET, err);
    if (strncmp(host, unix_scheme, sizeof(unix_scheme) - 1) == 0)
        return check_socket(host + sizeof(unix_scheme) - 1, err);
    return 0;
}

bool container_has_init(const struct container_options *o)
{
    static const char *const podman[] = {"/usr/libexec/podman/catatonit", "/usr/bin/catatonit",
                                         NULL};
    static const char *const docker[] = {"/usr/bin/docker-init", "/usr/libexec/docker/docker-init",
                                         NULL};
    const char *const *at = o->docker ? docker : podman;

    while (*at && access(*at, X_OK))
        at++;
    return *at;
}
