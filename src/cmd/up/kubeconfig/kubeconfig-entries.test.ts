import assert from "node:assert/strict";
import { load } from "js-yaml";
import { describe, test } from "vitest";
import { type Edit, withCluster, withoutCluster } from "./kubeconfig-entries.ts";

const ENTRY = {
  name: "k8ts",
  dataDir: "/home/a/.k8ts",
  cluster: { server: "https://127.0.0.1:6443" },
  user: { "client-key-data": "a2V5" },
};

const OTHERS = `apiVersion: v1
kind: Config
preferences: {}
clusters:
- cluster: {server: "https://work.example", extensions: [{name: x, extension: {a: "yes"}}]}
  name: work
contexts:
- context: {cluster: work, user: me, namespace: "012"}
  name: work
users:
- name: me
  user:
    exec: {apiVersion: client.authentication.k8s.io/v1, command: aws, args: [eks, "on"]}
current-context: work
`;

describe("kubeconfig of the user", () => {
  test("a new file has the cluster and its context is current", () => {
    const config = load(textOf(withCluster(undefined, ENTRY))) as Record<string, unknown>;
    assert.equal(config["current-context"], "k8ts");
    assert.deepEqual(config.contexts, [
      { name: "k8ts", context: { cluster: "k8ts", user: "k8ts" } },
    ]);
  });

  test("entries of others stay as they are, and removal restores the content", () => {
    const merged = textOf(withCluster(OTHERS, ENTRY));
    const { clusters, contexts, users } = load(merged) as Record<string, unknown[]>;
    const before = load(OTHERS) as Record<string, unknown[]>;
    assert.deepEqual(
      [clusters![0], contexts![0], users![0]],
      [before.clusters![0], before.contexts![0], before.users![0]],
    );
    assert.match(merged, /'012'/);
    const removed = load(textOf(withoutCluster(merged, ENTRY.dataDir)));
    assert.deepEqual(removed, before);
  });

  test("removal makes the context current that was before, unless it is gone or another was chosen", () => {
    const currentAfter = (change: (text: string) => string): unknown => {
      const merged = textOf(withCluster(OTHERS, ENTRY));
      const again = textOf(withCluster(change(merged), { ...ENTRY, user: {} }));
      const config = load(textOf(withoutCluster(again, ENTRY.dataDir)));
      return (config as Record<string, unknown>)["current-context"];
    };
    assert.equal(
      currentAfter((text) => text),
      "work",
    );
    assert.equal(
      currentAfter((text) => text.replace("current-context: k8ts", "current-context: other")),
      "other",
    );
    assert.equal(
      currentAfter((text) =>
        text.replace("namespace: '012'\n    name: work", "namespace: '012'\n    name: new"),
      ),
      "",
    );
  });

  test("an entry of the same name that something else made is left alone", () => {
    const foreign = textOf(withCluster(undefined, { ...ENTRY, dataDir: "/other" }));
    const merged = withCluster(foreign, ENTRY);
    assert.ok(merged.ok);
    assert.equal(merged.context, "k8ts-2");
    const names = (load(merged.text) as { clusters: { name: string }[] }).clusters;
    assert.deepEqual(
      names.map(({ name }) => name),
      ["k8ts", "k8ts-2"],
    );
  });

  test("a second merge keeps the text, the namespace of the context and the current context", () => {
    const merged = textOf(withCluster(OTHERS, ENTRY));
    assert.equal(textOf(withCluster(merged, ENTRY)), merged);
    const changed = merged
      .replace("user: k8ts\n", "user: k8ts\n      namespace: shop\n")
      .replace("current-context: k8ts", "current-context: work # mine");
    assert.equal(textOf(withCluster(changed, ENTRY)), changed);
    const newKey = { ...ENTRY, user: { "client-key-data": "bmV3" } };
    const renewed = load(textOf(withCluster(changed, newKey))) as Record<string, unknown>;
    assert.equal(renewed["current-context"], "work");
    assert.match(JSON.stringify(renewed), /"namespace":"shop".*bmV3/);
  });

  test.each(["clusters: [", "- a\n- b\n", "kind: Pod\n", "clusters: {a: b}\n", "just words\n"])(
    "%j is not a kubeconfig and is refused",
    (text) => {
      assert.equal(withCluster(text, ENTRY).ok, false);
      assert.equal(withoutCluster(text, ENTRY.dataDir).ok, false);
    },
  );
});

function textOf(edit: Edit): string {
  assert.ok(edit.ok);
  return edit.text;
}
