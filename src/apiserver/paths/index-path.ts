/** `/` lists the served paths. */

import type { Discovery } from "../discovery/discovery.ts";
import type { HealthChecks } from "../health/health-paths.ts";
import type { PathHandler } from "../request/handler.ts";
import { answer } from "../response/answer.ts";

const OTHERS = [
  "/.well-known/openid-configuration",
  "/flagz",
  "/metrics",
  "/metrics/slis",
  "/openapi/v2",
  "/openapi/v3",
  "/openapi/v3/",
  "/openid/v1/jwks",
  "/statusz",
  "/version",
];

export function indexPath(discovery: Discovery, checks: HealthChecks): PathHandler {
  const health = Object.entries(checks).flatMap(([root, all]) => [
    `/${root}`,
    ...(all as HealthChecks["readyz"]).map(({ name }) => `/${root}/${name}`),
  ]);
  const groups = discovery.groups.flatMap(({ group, versions }) => [
    `/apis/${group}`,
    ...versions.map((version) => `/apis/${group}/${version}`),
  ]);
  const paths = [...OTHERS, ...health, "/api", "/api/v1", "/apis", "/apis/", ...groups].sort();
  const bytes = Buffer.from(JSON.stringify({ paths }, undefined, 2));
  return ({ path }) =>
    path === "/" || path === "/index.html"
      ? answer(200, { form: "bytes", contentType: "application/json", bytes })
      : undefined;
}
