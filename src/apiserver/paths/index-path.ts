/** / tells which paths there are. */
import { answer } from "../answer.ts";
import type { Discovery } from "../discovery.ts";
import type { PathHandler } from "../handler.ts";

const OTHERS = [
  "/.well-known/openid-configuration",
  "/healthz",
  "/livez",
  "/metrics",
  "/openapi/v2",
  "/openapi/v3",
  "/openid/v1/jwks",
  "/readyz",
  "/version",
];

export function indexPath(discovery: Discovery): PathHandler {
  const groups = discovery.groups.flatMap(({ group, versions }) => [
    `/apis/${group}`,
    ...versions.map((version) => `/apis/${group}/${version}`),
  ]);
  const paths = [...OTHERS, "/api", "/api/v1", "/apis", "/apis/", ...groups].sort();
  const bytes = Buffer.from(JSON.stringify({ paths }, undefined, 2));
  return ({ path, method }) =>
    path === "/" && method === "GET"
      ? answer(200, { form: "bytes", contentType: "application/json", bytes })
      : undefined;
}
