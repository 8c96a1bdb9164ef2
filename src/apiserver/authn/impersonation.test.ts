import assert from "node:assert/strict";
import { test } from "vitest";
import type { AccessAttributes, Authorizer } from "../authz/authorizer.ts";
import type { ApiRequest, User } from "../request/request.ts";
import { impersonate, LastModes } from "./impersonation.ts";

const bot: User = {
  name: "system:serviceaccount:ns:bot",
  groups: ["system:serviceaccounts"],
  extra: { "authentication.kubernetes.io/node-name": ["n1"] },
};

function request(headers: Record<string, string>): ApiRequest {
  return {
    method: "GET",
    path: "/api/v1/namespaces/ns/pods",
    query: new URLSearchParams(),
    headers,
    body: { form: "none" },
    peer: { address: "" },
    signal: new AbortController().signal,
  };
}

const listPods: AccessAttributes = {
  user: bot,
  isResource: true,
  verb: "list",
  path: "",
  group: "",
  version: "v1",
  resource: "pods",
  subresource: "",
  namespace: "ns",
  name: "",
};

/** Allows `verb resource[/subresource] name`; a name of * allows all names. */
function allowing(...grants: readonly string[]): Authorizer {
  return {
    name: "list",
    authorize({ verb, resource, subresource, name }) {
      const what = `${verb} ${resource}${subresource === "" ? "" : `/${subresource}`}`;
      const allowed = grants.some(
        (grant) => grant === `${what} ${name}` || grant === `${what} any`,
      );
      return { decision: allowed ? "allow" : "noOpinion", reason: "" };
    },
  };
}

const legacy = (...more: readonly string[]) => allowing("impersonate users any", ...more);

const cases: {
  name: string;
  headers: Record<string, string>;
  authorizer: Authorizer;
  want: unknown;
}[] = [
  {
    name: "no impersonation headers",
    headers: {},
    authorizer: allowing(),
    want: { outcome: "none" },
  },
  {
    name: "a user, the old way",
    headers: { "impersonate-user": "alice" },
    authorizer: legacy(),
    want: {
      outcome: "allowed",
      user: { name: "alice", groups: ["system:authenticated"] },
      constraint: "",
    },
  },
  {
    name: "with groups, uid and extra",
    headers: {
      "impersonate-user": "alice",
      "impersonate-group": "dev",
      "impersonate-uid": "u",
      "impersonate-extra-scopes": "x",
    },
    authorizer: legacy(
      "impersonate groups dev",
      "impersonate uids u",
      "impersonate userextras/scopes x",
    ),
    want: {
      outcome: "allowed",
      user: {
        name: "alice",
        groups: ["dev", "system:authenticated"],
        uid: "u",
        extra: { scopes: ["x"] },
      },
      constraint: "",
    },
  },
  {
    name: "a service account brings its groups",
    headers: { "impersonate-user": "system:serviceaccount:a:b" },
    authorizer: allowing("impersonate serviceaccounts b"),
    want: {
      outcome: "allowed",
      user: {
        name: "system:serviceaccount:a:b",
        groups: ["system:serviceaccounts", "system:serviceaccounts:a", "system:authenticated"],
      },
      constraint: "",
    },
  },
  {
    name: "the anonymous user",
    headers: { "impersonate-user": "system:anonymous" },
    authorizer: legacy(),
    want: {
      outcome: "allowed",
      user: { name: "system:anonymous", groups: ["system:unauthenticated"] },
      constraint: "",
    },
  },
  {
    name: "constrained to listing",
    headers: { "impersonate-user": "alice" },
    authorizer: allowing(
      "impersonate-on:user-info:list pods any",
      "impersonate:user-info users alice",
    ),
    want: {
      outcome: "allowed",
      user: { name: "alice", groups: ["system:authenticated"] },
      constraint: "impersonate:user-info",
    },
  },
  {
    name: "the node that the account runs on",
    headers: { "impersonate-user": "system:node:n1" },
    authorizer: allowing(
      "impersonate-on:associated-node:list pods any",
      "impersonate:associated-node nodes *",
    ),
    want: {
      outcome: "allowed",
      user: { name: "system:node:n1", groups: ["system:nodes", "system:authenticated"] },
      constraint: "impersonate:associated-node",
    },
  },
];

for (const { name, headers, authorizer, want } of cases) {
  test(`impersonation of ${name}`, async () => {
    assert.deepEqual(
      await impersonate(request(headers), () => listPods, authorizer, new LastModes()),
      want,
    );
  });
}

const refusals = [
  {
    name: "the message is that of the first refusal",
    headers: { "impersonate-user": "alice" },
    authorizer: allowing(),
    message:
      'pods is forbidden: User "system:serviceaccount:ns:bot" cannot impersonate-on:user-info:list ' +
      'resource "pods" in API group "" in the namespace "ns"',
  },
  {
    name: "a constrained grant never allows system:masters",
    headers: { "impersonate-user": "alice", "impersonate-group": "system:masters" },
    authorizer: allowing(
      "impersonate-on:user-info:list pods any",
      "impersonate:user-info users any",
      "impersonate:user-info groups any",
    ),
    message:
      'groups.authentication.k8s.io "system:masters" is forbidden: User ' +
      '"system:serviceaccount:ns:bot" cannot impersonate:user-info resource "groups" in API group ' +
      '"authentication.k8s.io" at the cluster scope: impersonating the system:masters group is not allowed',
  },
  {
    name: "groups without a user",
    headers: { "impersonate-group": "g" },
    authorizer: allowing(),
    message:
      'requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"g"}, ' +
      "Extra:map[string][]string(nil)} without impersonating a user name",
  },
];

for (const { name, headers, authorizer, message } of refusals) {
  test(`impersonation refused: ${name}`, async () => {
    const result = await impersonate(request(headers), () => listPods, authorizer, new LastModes());
    assert.ok(result.outcome === "refused");
    assert.equal(result.status.message, message);
  });
}

test("impersonate: the kind of grant that worked last is tried first, and its refusal is returned", async () => {
  const last = new LastModes();
  const authorizer = allowing("impersonate users jane");
  const as = (name: string) =>
    impersonate(request({ "impersonate-user": name }), () => listPods, authorizer, last);
  const message = async (name: string): Promise<string | undefined> => {
    const answer = await as(name);
    return answer.outcome === "refused" ? answer.status.message : answer.outcome;
  };
  assert.match((await message("joe"))!, /cannot impersonate-on:user-info:list resource "pods"/);
  assert.equal(await message("jane"), "allowed");
  assert.match(
    (await message("joe"))!,
    /^users "joe" is forbidden: .* cannot impersonate resource/,
  );
});

test("several Impersonate-User headers: the first counts", async () => {
  const rawHeaders = ["Impersonate-User", "jane", "impersonate-user", "admin"];
  const sent = { ...request({ "impersonate-user": "jane, admin" }), rawHeaders };
  const answer = await impersonate(sent, () => listPods, legacy(), new LastModes());
  assert.ok(answer.outcome === "allowed");
  assert.equal(answer.user.name, "jane");
});
