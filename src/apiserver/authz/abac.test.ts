import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { createAbacAuthorizer } from "./abac.ts";
import { readAbacFile } from "./abac-file.ts";
import type { AccessAttributes, Decision } from "./authorizer.ts";

const TYPE = { apiVersion: "abac.authorization.kubernetes.io/v1beta1", kind: "Policy" };
const NONE = { decision: "noOpinion", reason: "No policy matched." };

interface Asked extends Partial<Omit<AccessAttributes, "user">> {
  readonly user?: string;
  readonly groups?: readonly string[];
}

function attributesOf({ user = "alice", groups = ["dev"], ...more }: Asked): AccessAttributes {
  return {
    ...{ isResource: more.path === undefined, verb: "get", path: "", group: "", version: "v1" },
    ...{ resource: "pods", subresource: "", namespace: "shop", name: "" },
    ...more,
    user: { name: user, groups: [...groups, "system:authenticated"] },
  };
}

const cases: readonly { name: string; policy: object; asked: Asked; allowed: boolean }[] = [
  ...table({ spec: { user: "alice", namespace: "shop", resource: "pods" } }, [
    ["the verb, resource and namespace that the policy names are allowed", {}, true],
    ["a write is allowed without readonly", { verb: "create" }, true],
    ["a subresource is allowed", { verb: "create", subresource: "exec" }, true],
    ["another user is not allowed", { user: "bob" }, false],
    ["another namespace is not allowed", { namespace: "other" }, false],
    ["another resource is not allowed", { resource: "secrets" }, false],
    ["another API group is not allowed", { group: "apps" }, false],
    ["a nonResourcePath is not allowed by a resource policy", { path: "/healthz" }, false],
  ]),
  ...table(
    { spec: { group: "dev", readonly: true, namespace: "*", resource: "*", apiGroup: "*" } },
    [
      [
        "a group policy with * allows every resource",
        { group: "apps", resource: "deployments", namespace: "" },
        true,
      ],
      ["readonly allows list", { verb: "list" }, true],
      ["readonly allows watch", { verb: "watch" }, true],
      ["readonly does not allow patch", { verb: "patch" }, false],
      ["a group policy does not allow users of other groups", { groups: ["ops"] }, false],
    ],
  ),
  ...table({ spec: { user: "alice", group: "ops", namespace: "*", resource: "*" } }, [
    ["a policy with user and group does not allow the user outside of the group", {}, false],
    ["a policy with user and group allows the user in the group", { groups: ["ops"] }, true],
  ]),
  ...table({ spec: { user: "*", namespace: "shop", resource: "pods" } }, [
    ["anyone who is known", { user: "bob", groups: [] }, true],
  ]),
  ...table({ spec: { namespace: "*", resource: "*", apiGroup: "*" } }, [
    ["a policy without user and group allows no user", {}, false],
  ]),
  ...table({ spec: { user: "alice", nonResourcePath: "/logs/*" } }, [
    ["nonResourcePath /logs/* allows the paths below", { path: "/logs/a" }, true],
    ["nonResourcePath /logs/* does not allow /log", { path: "/log" }, false],
    ["a nonResourcePath policy allows no resource", { namespace: "" }, false],
  ]),
  ...table({ spec: { user: "alice", nonResourcePath: "*", readonly: true } }, [
    ["nonResourcePath * allows any path", { path: "/version" }, true],
    ["readonly does not allow a post to a path", { path: "/version", verb: "post" }, false],
  ]),
  ...unversioned({ user: "alice", readonly: true }, [
    ["the old form: any resource", { resource: "x", group: "y", namespace: "" }, true],
    ["the old form: any path", { path: "/metrics" }, true],
    ["the old form: no writes", { verb: "update" }, false],
  ]),
  ...unversioned({ namespace: "shop" }, [
    ["the old form: anyone", { user: "bob", verb: "delete" }, true],
    ["the old form: no path beside a namespace", { path: "/metrics" }, false],
  ]),
];

describe("ABAC policies", () => {
  test.each(cases)("$name", ({ policy, asked, allowed }) => {
    const authorizer = createAbacAuthorizer(
      readAbacFile(`# a\n\n${JSON.stringify(policy)}\n`, "p"),
    );
    const decision = authorizer.authorize(attributesOf(asked)) as Decision;
    assert.deepEqual(decision, allowed ? { decision: "allow", reason: "" } : NONE);
  });
});

test("what a user may do in a namespace", () => {
  const lines = [
    { ...TYPE, spec: { user: "alice", namespace: "shop", resource: "pods", readonly: true } },
    {
      ...TYPE,
      spec: {
        group: "dev",
        namespace: "*",
        resource: "*",
        apiGroup: "apps",
        nonResourcePath: "/x",
      },
    },
    { ...TYPE, spec: { user: "alice", namespace: "other", resource: "secrets" } },
  ];
  const text = lines.map((line) => JSON.stringify(line)).join("\n");
  const { rules } = createAbacAuthorizer(readAbacFile(text, "p")).rulesFor!(
    { name: "alice", groups: ["dev"] },
    "shop",
  );
  assert.deepEqual(rules, [
    { verbs: ["get", "list", "watch"], apiGroups: [""], resources: ["pods"] },
    { verbs: ["*"], apiGroups: ["apps"], resources: ["*"] },
    { verbs: ["*"], nonResourceURLs: ["/x"] },
  ]);
});

const faults = [
  {
    line: '{"user":5}',
    says: "json: cannot unmarshal number into Go struct field Policy.user of type string",
  },
  {
    line: '{"readonly":"yes"}',
    says: "json: cannot unmarshal string into Go struct field Policy.readonly of type bool",
  },
  {
    line: JSON.stringify({ ...TYPE, spec: { user: true } }),
    says: "json: cannot unmarshal bool into Go struct field PolicySpec.spec.user of type string",
  },
  {
    line: JSON.stringify({ ...TYPE, spec: [] }),
    says: "json: cannot unmarshal array into Go struct field Policy.spec of type v1beta1.PolicySpec",
  },
  {
    line: '{"apiVersion":"v1","kind":"Pod"}',
    says: 'no kind "Pod" is registered for version "v1"',
  },
  {
    line: '{"apiVersion":5}',
    says: "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .apiVersion of type string",
  },
  { line: "[]", says: "couldn't get version/kind; json parse error: it is no object" },
  {
    line: `{"apiVersion":"${TYPE.apiVersion}","spec":{}}`,
    says: "a policy of v1beta1 needs its kind",
  },
];

describe("errors of an ABAC policy file name the file and the line", () => {
  test.each(faults)("$line", ({ line, says }) => {
    assert.throws(
      () => readAbacFile(`# first\n{"user":"a"}\n${line}`, "/etc/p.jsonl"),
      new Error(`error reading policy file /etc/p.jsonl, line 3: ${line}: ${says}`),
    );
  });
});

type Row = readonly [name: string, asked: Asked, allowed: boolean];

function table(policy: object, rows: readonly Row[]) {
  return unversioned({ ...TYPE, ...policy }, rows);
}

function unversioned(policy: object, rows: readonly Row[]) {
  return rows.map(([name, asked, allowed]) => ({ name, policy, asked, allowed }));
}
