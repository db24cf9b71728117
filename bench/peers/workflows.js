"use strict";
/* workflows.js - shared by dbos.js and openworkflow.js: options, the sequence of runs, and the check of a run.
 *
 *   node PEER.js --url postgres://... [--workflows 1000] [--runs 3] [--NAME VALUE ...] [--sweep]
 *
 * A run is the whole life of N workflows of five steps that do nothing: started, each step made durable, ended. Prints
 * one JSON object per run on stdout, and progress on stderr. The database must be private: the peer's schema in it is
 * dropped before and after each run. Every name in the peer's settings is an option; --sweep measures its list
 * instead, --runs times each, in turn. Exit code 1 if a workflow or a step was lost or done twice.
 *
 * The clocks favour the peer: they start when its tables are created, its connections are open, and WARM_UP workflows
 * have warmed up Node.js, and stop when the server has answered the last write. */

const { parseArgs } = require("node:util");
const pg = require("pg");

const STEPS = 5;
const WARM_UP = 200;
const RUN_LIMIT_MS = 10 * 60 * 1000;

function options(settings, sweep) {
  const { values } = parseArgs({
    options: {
      url: { type: "string" },
      workflows: { type: "string", default: "1000" },
      runs: { type: "string", default: "3" },
      sweep: { type: "boolean", default: false },
      ...Object.fromEntries(Object.keys(settings).map((k) => [k, { type: "string" }])),
    },
  });
  if (!values.url) throw new Error("--url is missing");
  const given = Object.keys(settings).filter((k) => k in values).map((k) => [k, integer(k, values[k])]);
  return {
    url: values.url,
    workflows: integer("workflows", values.workflows),
    runs: integer("runs", values.runs),
    candidates: (values.sweep ? sweep : [{}]).map((s) => ({ ...settings, ...s, ...Object.fromEntries(given) })),
  };
}

function integer(name, text) {
  if (!/^\d+$/.test(text)) throw new Error(`--${name} ${text}: not a whole number`);
  return Number(text);
}

async function withClient(url, work) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/* Calls one() `times` times, with at most `atOnce` calls in flight. */
async function runConcurrently(times, atOnce, one) {
  let begun = 0;
  const lane = async () => {
    while (begun < times) {
      begun++;
      await one();
    }
  };
  await Promise.all(Array.from({ length: Math.min(times, atOnce) }, lane));
}

/* Drops the tables, so that no run is slowed by the rows of another one. */
async function empty(peer, url) {
  await withClient(url, async (client) => {
    await client.query("set client_min_messages = warning");
    await client.query(`drop schema if exists ${peer.schema} cascade`);
    await client.query("checkpoint");
  });
}

/* peer.open(url, settings) creates the tables and connections, and returns { start, close }: start() returns a promise that
 * resolves when a new workflow has ended. peer.counts is a query for the numbers of succeeded workflows and steps. */
async function measure(peer, url, workflows, settings) {
  await empty(peer, url);
  const { start, close } = await peer.open(url, settings);
  await runConcurrently(WARM_UP, settings.atOnce, start);
  const began = process.hrtime.bigint();
  await runConcurrently(workflows, settings.atOnce, start);
  const seconds = Number(process.hrtime.bigint() - began) / 1e9;
  await close();

  const { rows } = await withClient(url, (client) => client.query(peer.counts));
  await empty(peer, url);
  const all = workflows + WARM_UP;
  if (rows[0].workflows !== all) throw new Error(`${rows[0].workflows} of ${all} workflows succeeded`);
  if (rows[0].steps !== all * STEPS) throw new Error(`${rows[0].steps} of ${all * STEPS} steps succeeded`);
  return { seconds: Math.round(seconds * 1e4) / 1e4, workflows_per_s: Math.round((workflows / seconds) * 10) / 10 };
}

function summary(settings, results) {
  for (const { candidate, rates } of results) {
    rates.sort((x, y) => x - y);
    const changed = Object.entries(candidate).filter(([k, v]) => v !== settings[k]).map(([k, v]) => `${k}=${v}`);
    const spread = `${rates[rates.length >> 1]} workflows/s (${rates[0]}-${rates.at(-1)})`;
    console.error(`${spread} ${changed.join(" ") || "best settings"}`);
  }
}

async function main(peer) {
  const { url, workflows, runs, candidates } = options(peer.settings, peer.sweep);
  const { version } = require(`./node_modules/${peer.of}/package.json`);
  const results = candidates.map((candidate) => ({ candidate, rates: [] }));
  for (let run = 0; run < runs; run++) {
    for (const { candidate, rates } of results) {
      const limit = setTimeout(() => {
        console.error("a run took too long");
        process.exit(1);
      }, RUN_LIMIT_MS);
      const figures = await measure(peer, url, workflows, candidate);
      clearTimeout(limit);
      rates.push(figures.workflows_per_s);
      console.log(JSON.stringify({ peer: peer.name, version, workflows, ...figures, settings: candidate }));
    }
  }
  if (candidates.length > 1) summary(peer.settings, results);
}

function run(peer) {
  main(peer).then(
    () => process.exit(0),
    (e) => {
      console.error(`${peer.name}.js: ${e.message}`);
      process.exit(1);
    },
  );
}

module.exports = { STEPS, run };
