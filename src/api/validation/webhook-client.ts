/** Where a webhook is called: a URL, or a Service of the cluster. */
import { invalidEach } from "./faults.ts";
import { type FieldError, invalid, required } from "./field-error.ts";
import { parseGoUrl } from "./go-url.ts";
import { isDns1123Subdomain, isPortNumber } from "./names.ts";
import type { Path } from "./path.ts";

export interface WebhookService {
  readonly namespace: string;
  readonly name: string;
  readonly path?: string;
  readonly port?: number;
}

export interface WebhookClient {
  readonly url?: string;
  readonly service?: WebhookService;
}

export function validateWebhookClient({ url, service }: WebhookClient, path: Path): FieldError[] {
  if ((url === undefined) === (service === undefined)) {
    return [required(path, "exactly one of url or service is required")];
  }
  if (url !== undefined) return validateWebhookUrl(url, path.child("url"));
  return validateWebhookService(service!, path.child("service"));
}

function validateWebhookUrl(text: string, path: Path): FieldError[] {
  const form = "; desired format: https://host[/path]";
  const parsed = parseGoUrl(text);
  if (!parsed.ok) return [required(path, `url must be a valid URL: ${parsed.fault}${form}`)];
  const { scheme, host, user, fragment, query } = parsed.url;
  const errors: FieldError[] = [];
  const fault = (value: string, detail: string) => errors.push(invalid(path, value, detail));
  if (scheme !== "https") fault(scheme, `'https' is the only allowed URL scheme${form}`);
  if (host === "") fault(host, `host must be specified${form}`);
  if (user !== undefined) fault(user, "user information is not permitted in the URL");
  if (fragment !== "") fault(fragment, "fragments are not permitted in the URL");
  if (query !== "") fault(query, "query parameters are not permitted in the URL");
  return errors;
}

function validateWebhookService(service: WebhookService, path: Path): FieldError[] {
  const errors: FieldError[] = [];
  // Each of the two is reported under the other's name; clients know it that way.
  if (service.namespace === "") errors.push(required(path.child("name"), ""));
  if (service.name === "") errors.push(required(path.child("namespace"), ""));
  const { port = 0 } = service;
  const portFaults = isPortNumber(port);
  if (portFaults.length > 0) {
    errors.push(invalid(path.child("port"), port, `port is not valid: ${portFaults.join(", ")}`));
  }
  return [...errors, ...validateUrlPath(service.path ?? "", path.child("path"))];
}

function validateUrlPath(urlPath: string, path: Path): FieldError[] {
  if (urlPath === "" || urlPath === "/") return [];
  if (urlPath === "//") return [invalid(path, urlPath, "segment[0] may not be empty")];
  const errors: FieldError[] = [];
  if (!urlPath.startsWith("/")) errors.push(invalid(path, urlPath, "must start with a '/'"));
  const steps = urlPath.slice(1).replace(/\/$/, "").split("/");
  for (const [i, step] of steps.entries()) {
    const faults = step === "" ? [`segment[${i}] may not be empty`] : segmentFaults(step, i);
    errors.push(...invalidEach(path, urlPath, faults));
  }
  return errors;
}

function segmentFaults(step: string, i: number): string[] {
  return isDns1123Subdomain(step).map((fault) => `segment[${i}]: ${fault}`);
}
