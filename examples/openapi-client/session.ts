// One session with a served graph, through nothing but the generated client: `node built/session.js URL TOKEN`.

import assert from "node:assert/strict";

import { createClient, createConfig } from "./generated/client/index.js";
import * as api from "./generated/sdk.gen.js";
import type { ErrorOutput } from "./generated/types.gen.js";

const [url, token] = process.argv.slice(2);
if (url === undefined || token === undefined) {
  console.error("usage: node built/session.js URL TOKEN");
  process.exit(2);
}

const client = createClient(createConfig({ baseUrl: url, auth: () => token }));
const path = { graph_id: "default" };
const plain = { client, path } as const;
const must = { ...plain, throwOnError: true } as const;

const ADD = "query add($name: String, $age: I32?) { insert Person { name: $name, age: $age } }";
const NAMES = "query names() { match { $p: Person } return { $p.name } order { $p.name asc } }";

function say(step: string, found: unknown): void {
  console.log(step.padEnd(22), JSON.stringify(found));
}

async function names(branch: string): Promise<{ names: unknown[]; head: string }> {
  const { data } = await api.clusterQuery({ ...must, body: { query: NAMES, branch } });
  assert.ok(data.graph_commit_id);
  return { names: data.rows.map((row) => (row as Record<string, unknown>)["p.name"]), head: data.graph_commit_id };
}

const health = await api.health({ client, throwOnError: true });
say("health", health.data.status);
assert.equal(health.data.status, "ok");

const ready = await api.ready({ client, throwOnError: true });
say("ready", ready.data.graphs);
assert.deepEqual(ready.data.graphs, { served: 1, quarantined: 0 });

const graphs = await api.listGraphs({ client, throwOnError: true });
say("graphs", graphs.data.graphs.map((graph) => graph.graph_id));

const schema = await api.clusterGetSchema(must);
assert.match(schema.data.schema_source, /node Person/);
say("schema", `${schema.data.schema_source.length} characters`);

const start = await api.clusterPollChanges({ ...must, query: { start: "now" } });
assert.ok(start.data.cursor);

const created = await api.clusterCreateBranch({ ...must, body: { name: "review/ts", from: "main" } });
say("create branch", created.data);
const branch = created.data.name;

const loaded = await api.clusterLoad({
  ...must,
  body: { branch, mode: "merge", data: '{"type":"Person","data":{"name":"Grace","age":85}}\n' },
});
say("load", { nodes: loaded.data.nodes, total: loaded.data.total_entities });
assert.equal(loaded.data.total_entities, 1);

const lines = await api.clusterLoadNdjson({
  ...must,
  query: { branch, mode: "append" },
  bodySerializer: (body: unknown) => body as string, // the generator would send a line batch as one JSON string
  body: '{"type":"Person","data":{"name":"Alan","age":41}}\n{"edge":"Knows","from":"Grace","to":"Alan"}\n',
});
say("load lines", { nodes: lines.data.nodes, edges: lines.data.edges });

const added = await api.clusterMutate({ ...must, body: { query: ADD, params: { name: "Edsger", age: 72 }, branch } });
say("mutate", { affected: added.data.affected_nodes, by: added.data.actor_id });
assert.equal(added.data.affected_nodes, 1);

const before = await names(branch);
say("query", before.names);
assert.deepEqual(before.names, ["Ada", "Alan", "Edsger", "Grace"]);

const conditional = (head: string, name: string) =>
  api.clusterMutateIfGraphCommit({
    ...plain,
    headers: { "Omnigraph-If-Graph-Commit": head },
    body: { query: ADD, params: { name }, branch },
  });
const done = await conditional(before.head, "Barbara");
assert.equal(done.data?.affected_nodes, 1);
const late = await conditional(before.head, "Too late");
assert.equal(late.response.status, 412);
const refusal = late.error as ErrorOutput;
assert.equal(refusal.precondition_failure?.expected, before.head);
say("conditional mutate", { first: done.response.status, second: late.response.status });

const stored = await api.clusterListQueries(must);
say("stored queries", stored.data.queries.map((query) => query.name));
const invoked = await api.clusterInvokeQuery({
  ...must,
  path: { ...path, name: "friends" },
  body: { params: { name: "Grace" }, branch },
});
assert.ok("rows" in invoked.data);
say("invoke", invoked.data.rows);
assert.equal(invoked.data.rows.length, 1);

const merged = await api.clusterMergeBranches({
  ...must,
  body: { source: branch, target: "main", delete_branch: true },
});
say("merge", merged.data);
assert.equal(merged.data.branch_deleted, true);

await api.clusterCreateBranch({ ...must, body: { name: "scratch/ts" } });
const deleted = await api.clusterDeleteBranch({ ...must, path: { ...path, branch: "scratch/ts" } });
say("delete branch", deleted.data.name);

const branches = await api.clusterListBranches(must);
say("branches", branches.data.branches);
assert.deepEqual(branches.data.branches, ["main"]);

const commits = await api.clusterListCommits(must);
const newest = commits.data.commits[0];
assert.ok(newest);
say("commits", commits.data.commits.length);
const commit = await api.clusterGetCommit({ ...must, path: { ...path, commit_id: newest.graph_commit_id } });
assert.equal(commit.data.graph_commit_id, newest.graph_commit_id);

const feed = await api.clusterPollChanges({ ...must, query: { cursor: start.data.cursor } });
const changes = feed.data.blocks.flatMap((block) => block.changes);
say("changes", changes.map((change) => `${change.op} ${change.type.name} ${change.id}`));
assert.ok(changes.length >= 5);

const snapshot = await api.clusterGetSnapshot(must);
say("snapshot", snapshot.data.datasets.map((dataset) => `${dataset.type_name}: ${dataset.entity_count}`));

const exported = await api.clusterExport({ ...must, parseAs: "text", body: { branch: "main" } });
const records = (exported.data as unknown as string).trimEnd().split("\n");
say("export", `${records.length} lines`);
assert.equal(records.length, 6);

const blob = await api.clusterGetBlob({
  ...must,
  parseAs: "text",
  query: { entity: "node", type: "Person", id: "Ada", property: "portrait" },
});
assert.equal(blob.data as unknown as string, "Hello World");
say("blob", blob.data);

const missing = await api.clusterGetCommit({ ...plain, path: { ...path, commit_id: "01ARZ3NDEKTSV4RRFFQ69G5FAV" } });
assert.equal(missing.response.status, 404);
assert.equal((missing.error as ErrorOutput).code, "not_found");
const stranger = createClient(createConfig({ baseUrl: url, auth: () => "forged" }));
const refused = await api.clusterListBranches({ client: stranger, path });
assert.equal(refused.response.status, 401);
say("refusals", [missing.response.status, refused.response.status]);

console.log("the session ended as it should");
