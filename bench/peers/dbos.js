"use strict";
/* dbos.js - measures workflows in DBOS; see workflows.js for its usage.
 *
 * Workflows are started in the process that runs them, which saves DBOS its queue. So a workflow takes seven writing
 * transactions: one that inserts it, one per step with its output, which first locks the workflow to check that it
 * still owns it, and one that ends it. Before each step, three reads check whether it was cancelled or done
 * before. */

const { DBOS } = require("@dbos-inc/dbos-sdk");
const { STEPS, run } = require("./workflows.js");

/* The best found on two cores with PostgreSQL 15; SWEEP lists the alternatives. From 10 connections on, and with
 * 40 or 1,000 workflows at once, the differences are no larger than those between two runs. */
const SETTINGS = {
  atOnce: 200, // workflows at once
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
