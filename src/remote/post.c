/* post.c - see post.h. A delivery trusts nothing that the receiver answers: it reads only the
 * status, and follows no redirect. */
#include "remote/post.h"

#include "remote/curl.h"

#define ANSWER_MAX (64 << 10) /* bytes of an answer that are read */

int post_load(struct err *err)
{
    return curl_load(err);
}

static size_t on_answer(const char *bytes, size_t size, size_t n, void *read)
{
    size_t *total = read;

    (void)bytes;
    *total += size * n;
    return *total <= ANSWER_MAX ? size * n : 0;
}

static int on_progress(void *post, curl_off_t total, curl_off_t now, curl_off_t up_total,
                       curl_off_t up)
{
    const struct post *p = post;

    (void)total, (void)now, (void)up_total, (void)up;
    return p->stop && p->stop(p->arg);
}

static void set_options(CURL *handle, struct post *p, struct curl_slist *headers, size_t *read)
{
    curl.easy_setopt(handle, CURLOPT_URL, p->url);
    curl.easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
    curl.easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
    curl.easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    curl.easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, p->connect_ms);
    curl.easy_setopt(handle, CURLOPT_TIMEOUT_MS, p->total_ms);
    curl.easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
    curl.easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)p->size);
    curl.easy_setopt(handle, CURLOPT_POSTFIELDS, p->body);
    curl.easy_setopt(handle, CURLOPT_WRITEFUNCTION, on_answer);
    curl.easy_setopt(handle, CURLOPT_WRITEDATA, read);
    curl.easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
    curl.easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl.easy_setopt(handle, CURLOPT_XFERINFODATA, p);
}

int post_send(struct post *p, struct err *err)
{
    struct curl_slist *headers = NULL;
    size_t read = 0;
    CURLcode code;
    CURL *handle;

    p->status = 0;
    TRY(curl_load(err));
    if (!(handle = curl.easy_init()))
        return err_set(err, E_UNAVAILABLE, "libcurl can't be initialized");
    for (size_t i = 0; p->headers[i]; i++)
        headers = curl.slist_append(headers, p->headers[i]);
    set_options(handle, p, headers, &read);
    code = curl.easy_perform(handle);
    if (!code || code == CURLE_WRITE_ERROR) /* a long answer is an answer */
        curl.easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &p->status);
    curl.easy_cleanup(handle);
    curl.slist_free_all(headers);
    return p->status ? 0 : err_set(err, E_UNAVAILABLE, "%s", curl.easy_strerror(code));
}
