/* libpq.h - loads libpq when the first PostgreSQL URL is used. Users of SQLite need neither libpq
 * nor the two dozen libraries that it depends on.
 *
 * Only this folder and url.c (to check a URL) include this header. Call pq_load once, then
 * pq.getResult(…) in place of PQgetResult(…). */
#ifndef STORE_DRIVER_POSTGRES_LIBPQ_H
#define STORE_DRIVER_POSTGRES_LIBPQ_H

#include "base/err.h"

#include <libpq-fe.h>

/* Every libpq function that Pawl uses, without the prefix PQ of its name. */
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

/* Loads libpq once per process; callable from any thread. -E_UNAVAILABLE if it is not installed or
 * too old. */
MUST_USE int pq_load(struct err *err);

#endif
