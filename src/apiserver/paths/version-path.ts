/** /version: which Kubernetes this server is compatible with. */
import { arch } from "node:os";
import { KUBERNETES_VERSION } from "#api/meta/kubernetes-version.ts";
import { noSuchPathStatus } from "#api/meta/status.ts";
import type { PathHandler } from "../request/handler.ts";
import type { ApiRequest } from "../request/request.ts";
import { type Answer, answer, statusAnswer } from "../response/answer.ts";
import { negotiateFailure } from "../response/negotiate.ts";
import { getOnly } from "./get-only.ts";

/** Without the mark of this implementation, as versions are compared. */
export const PLAIN_VERSION = KUBERNETES_VERSION.replace(/^v|\+.*$/g, "");
/** Of the API: major and minor. */
export const API_VERSION = "1.36";

export const VERSION = {
  major: "1",
  minor: "36",
  emulationMajor: "1",
  emulationMinor: "36",
  minCompatibilityMajor: "1",
  minCompatibilityMinor: "35",
  gitVersion: KUBERNETES_VERSION,
  gitCommit: "",
  gitTreeState: "clean",
  buildDate: "1970-01-01T00:00:00Z",
  goVersion: `node${process.version}`,
  compiler: "k8ts",
  platform: `${process.platform}/${arch() === "x64" ? "amd64" : arch()}`,
};

const JSON_TYPE = "application/json";

export const versionPath: PathHandler = (request) => {
  if (request.path !== "/version" && !request.path.startsWith("/version/")) return undefined;
  if (/[^/]/.test(request.path.slice("/version".length))) return noSuchPath(request);
  const bytes = Buffer.from(JSON.stringify(VERSION, undefined, 2));
  const document = answer(200, { form: "bytes", contentType: JSON_TYPE, bytes });
  return getOnly(request, document, [JSON_TYPE]);
};

function noSuchPath({ headers, query }: ApiRequest): Answer {
  return statusAnswer(noSuchPathStatus(), { media: negotiateFailure(headers, query) });
}
