"use strict";
/* dbos.js - measures workflows in DBOS; workflows.js says how it is called.
 *
 * Workflows are started in the process that runs them, which spares DBOS its queue. So a workflow is seven transactions
 * that write: one that inserts it, one a step with its output, which first locks the workflow to see that it is still
 * its own, and one that ends it. Before each step three reads ask whether it was cancelled or done before. */

const { DBOS } = require("@dbos-inc/dbos-sdk");
const { STEPS, run } = require("./workflows.js");

/* The best found on two cores with PostgreSQL 15; SWEEP is what it was compared with. From 10 connections on, and with
 * 40 or 1,000 workflows under way, the differences are no larger than those between two runs. */
const SETTINGS = {
  atOnce: 200, // workflows under way
  pool: 10,    // connections
  listen: 0,   // 1: a connection that listens for messages and cancellation, which nothing here sends
};
const SWEEP = [
  {}, { pool: 5 }, { pool: 20 }, { pool: 40 }, { atOnce: 40 }, { atOnce: 1000 }, { listen: 1 },
];

const step = async () => {};
const workflow = DBOS.registerWorkflow(async () => {
  for (let i = 1; i <= STEPS; i++) await DBOS.runStep(step, { name: `s${i}` });
}, { name: "bench" });

async function open(url, settings) {
  DBOS.setConfig({
    name: "bench",
    systemDatabaseUrl: url,
    systemDatabasePoolSize: settings.pool,
    useListenNotify: settings.listen === 1,
    enableOTLP: false,
    logLevel: "error",
  });
  await DBOS.launch();
  return {
    start: async () => (await DBOS.startWorkflow(workflow)()).getResult(),
    close: () => DBOS.shutdown(),
  };
}

run({
  name: "dbos",
  of: "@dbos-inc/dbos-sdk",
  schema: "dbos",
  settings: SETTINGS,
  sweep: SWEEP,
  open,
  counts: `select (select count(*)::int from dbos.workflow_status where status = 'SUCCESS') as workflows,
                  (select count(*)::int from dbos.operation_outputs where error is null) as steps`,
});
