/* libpq.h - libpq, loaded when the first PostgreSQL URL is used. Whoever stays with SQLite never
 * needs it, nor the two dozen libraries that come with it.
 *
 * Only pg_*.c (and url.c, to check a URL) include this. Call pq_load first, then pq.getResult(…)
 * for PQgetResult(…). */
#ifndef STORE_DRIVER_POSTGRES_LIBPQ_H
#define STORE_DRIVER_POSTGRES_LIBPQ_H

#include "base/err.h"

#include <libpq-fe.h>

/* Every function of libpq that is used, without its PQ. */
#define PQ_FUNCTIONS(X)        \
    /* a connection */         \
    X(connectStartParams)      \
    X(connectPoll)             \
    X(connectionNeedsPassword) \
    X(conninfo)                \
    X(conninfoParse)           \
    X(conninfoFree)            \
    X(finish)                  \
    X(status)                  \
    X(socket)                  \
    X(errorMessage)            \
    X(sslInUse)                \
    X(transactionStatus)       \
    X(serverVersion)           \
    X(backendPID)              \
    X(setErrorVerbosity)       \
    X(setNoticeReceiver)       \
    X(setnonblocking)          \
    /* sending */              \
    X(sendQuery)               \
    X(sendQueryParams)         \
    X(sendPrepare)             \
    X(sendQueryPrepared)       \
    X(enterPipelineMode)       \
    X(exitPipelineMode)        \
    X(pipelineSync)            \
    X(flush)                   \
    X(escapeIdentifier)        \
    /* receiving */            \
    X(consumeInput)            \
    X(isBusy)                  \
    X(getResult)               \
    X(notifies)                \
    X(freemem)                 \
    /* a result */             \
    X(resultStatus)            \
    X(resultErrorMessage)      \
    X(resultErrorField)        \
    X(cmdStatus)               \
    X(cmdTuples)               \
    X(ntuples)                 \
    X(nfields)                 \
    X(fname)                   \
    X(ftype)                   \
    X(getisnull)               \
    X(getlength)               \
    X(getvalue)                \
    X(clear)

struct pq_functions {
#define X(name) __typeof__(PQ##name) *name;
    PQ_FUNCTIONS(X)
#undef X
};

extern struct pq_functions pq;

/* Loads libpq once per process; from any thread. E_UNAVAILABLE if it is not installed. */
MUST_USE int pq_load(struct err *err);

#endif
