/** What can be asked about the server itself, beside its resources: its version and who issues its tokens. */
import type { Json } from "./definition.ts";
import type { Operation, PathItem } from "./operation.ts";

const JSON_ONLY = ["application/json"];
export const VERSION_INFO = "io.k8s.apimachinery.pkg.version.Info";

/** By the path of their documents of version 3. */
export const SERVER_ITEMS: Readonly<Record<string, PathItem>> = {
  ".well-known/openid-configuration": reading({
    path: "/.well-known/openid-configuration/",
    id: "getServiceAccountIssuerOpenIDConfiguration",
    tag: "WellKnown",
    description:
      "get service account issuer OpenID configuration, also known as the 'OIDC discovery doc'",
    produces: JSON_ONLY,
  }),
  "openid/v1/jwks": reading({
    path: "/openid/v1/jwks/",
    id: "getServiceAccountIssuerOpenIDKeyset",
    tag: "openid",
    description:
      "get service account issuer OpenID JSON Web Key Set (contains public token verification keys)",
    produces: ["application/jwk-set+json"],
  }),
  version: reading({
    path: "/version/",
    id: "getCodeVersion",
    tag: "version",
    description: "get the version information for this server",
    consumes: JSON_ONLY,
    produces: JSON_ONLY,
    answer: VERSION_INFO,
  }),
};

const ALWAYS_THERE = [
  ...["major", "minor", "gitVersion", "gitCommit", "gitTreeState", "buildDate", "goVersion"],
  ...["compiler", "platform"],
];
const SOMETIMES_THERE = [
  ...["emulationMajor", "emulationMinor", "minCompatibilityMajor", "minCompatibilityMinor"],
];

/** The answer of /version, which is no API type. Version 3 states the zero of what is always there. */
export function describeVersion(dialect: "v2" | "v3"): Json {
  const zero = dialect === "v3" ? { default: "" } : {};
  const properties: [string, Json][] = [
    ...ALWAYS_THERE.map((name): [string, Json] => [name, { type: "string", ...zero }]),
    ...SOMETIMES_THERE.map((name): [string, Json] => [name, { type: "string" }]),
  ];
  return {
    description: "Which version a server is of, and how it was built.",
    type: "object",
    required: ALWAYS_THERE,
    properties: Object.fromEntries(properties.sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}

function reading(
  item: { readonly path: string } & Pick<Operation, "id" | "tag" | "description" | "produces"> &
    Partial<Pick<Operation, "consumes" | "answer">>,
): PathItem {
  const { path, ...operation } = item;
  const base = { method: "get", parameters: [], consumes: [], answers: [200], answer: undefined };
  return { path, operations: [{ ...base, ...operation } as Operation] };
}
