/**
 * The file of `--authorization-config`: who decides on access, in order; webhooks may come several
 * times. Match conditions, which are CEL, are refused by name rather than overlooked.
 */
import { parseDuration } from "#api/meta/duration.ts";
import {
  duplicate,
  type FieldError,
  invalid,
  notSupported,
  required,
} from "#api/validation/field-error.ts";
import { formatFieldErrors } from "#api/validation/format-field-error.ts";
import { isDns1123Subdomain } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";

export interface ConfiguredWebhook {
  readonly name: string;
  readonly kubeconfig: string;
  readonly timeoutMs: number;
  /** 0: not kept. */
  readonly allowedMs: number;
  readonly refusedMs: number;
  readonly version: "v1" | "v1beta1";
  readonly onFailure: "noOpinion" | "deny";
}

export type ConfiguredAuthorizer =
  | "Node"
  | "RBAC"
  | "AlwaysAllow"
  | "AlwaysDeny"
  | ConfiguredWebhook;

interface ConfigFile {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly authorizers?: readonly Entry[];
}

interface Entry {
  readonly type?: string;
  readonly name?: string;
  readonly webhook?: WebhookEntry;
}

interface WebhookEntry {
  readonly timeout?: string;
  readonly authorizedTTL?: string;
  readonly unauthorizedTTL?: string;
  readonly cacheAuthorizedRequests?: boolean;
  readonly cacheUnauthorizedRequests?: boolean;
  readonly subjectAccessReviewVersion?: string;
  readonly failurePolicy?: string;
  readonly connectionInfo?: { readonly type?: string; readonly kubeConfigFile?: string };
  readonly matchConditions?: readonly object[];
}

const API_VERSIONS = ["v1", "v1beta1", "v1alpha1"].map((one) => `apiserver.config.k8s.io/${one}`);
const TYPES = ["AlwaysAllow", "AlwaysDeny", "Node", "RBAC", "Webhook"];
const TIMEOUT_MS_MAX = 30_000;
const DEFAULT_ALLOWED = "5m";
const DEFAULT_REFUSED = "30s";

/** Throws, naming every fault. */
export function readAuthorizationConfig(
  document: unknown,
  file: string,
): readonly ConfiguredAuthorizer[] {
  const { kind, apiVersion = "", authorizers = [] } = (document ?? {}) as ConfigFile;
  if (kind !== "AuthorizationConfiguration" || !API_VERSIONS.includes(apiVersion)) {
    throw new Error(
      `${file}: expected an AuthorizationConfiguration of apiserver.config.k8s.io/v1`,
    );
  }
  const root = Path.of("authorizers");
  const faults: FieldError[] =
    authorizers.length === 0
      ? [required(root, "at least one authorization mode must be defined")]
      : [];
  const types = new Set<string>();
  const names = new Set<string>();
  authorizers.forEach((entry, at) => {
    faults.push(...entryFaults(entry, root.index(at), types, names));
  });
  if (faults.length > 0) throw new Error(`${file}: ${formatFieldErrors(faults)}`);
  return authorizers.map(({ type, name = "", webhook }) =>
    type === "Webhook" ? webhookOf(name, webhook!) : (type as "Node"),
  );
}

function entryFaults(
  { type = "", name = "", webhook }: Entry,
  path: Path,
  types: Set<string>,
  names: Set<string>,
): FieldError[] {
  const at = path.child("type");
  if (type === "") return [required(at, "")];
  if (!TYPES.includes(type)) return [notSupported(at, type, TYPES)];
  if (types.has(type) && type !== "Webhook") return [duplicate(at, type)];
  types.add(type);
  const faults: FieldError[] = [];
  const badName = isDns1123Subdomain(name).join(", ");
  if (name === "") faults.push(required(path.child("name"), ""));
  else if (names.has(name)) faults.push(duplicate(path.child("name"), name));
  else if (badName !== "") {
    faults.push(invalid(path.child("name"), name, `authorizer name is invalid: ${badName}`));
  }
  names.add(name);
  if (type === "Webhook" && webhook === undefined) {
    return [...faults, required(path.child("webhook"), "required when type=Webhook")];
  }
  if (type !== "Webhook" && webhook !== undefined) {
    const detail = "may only be specified when type=Webhook";
    return [...faults, invalid(path.child("webhook"), "non-null", detail)];
  }
  return webhook === undefined ? faults : [...faults, ...webhookFaults(webhook, path)];
}

function webhookFaults(webhook: WebhookEntry, path: Path): FieldError[] {
  const { timeout = "", subjectAccessReviewVersion: version = "" } = webhook;
  const { failurePolicy = "", connectionInfo = {}, matchConditions = [] } = webhook;
  const faults: FieldError[] = [];
  const timeoutMs = msOf(timeout);
  if (timeoutMs === 0) faults.push(required(path.child("timeout"), ""));
  else if (!(timeoutMs > 0 && timeoutMs <= TIMEOUT_MS_MAX)) {
    faults.push(invalid(path.child("timeout"), timeout, "must be > 0s and <= 30s"));
  }
  for (const name of ["authorizedTTL", "unauthorizedTTL"] as const) {
    const text = webhook[name] ?? DEFAULT_REFUSED;
    if (!(msOf(text) > 0)) faults.push(invalid(path.child(name), text, "must be > 0s"));
  }
  faults.push(
    ...oneOf(path.child("subjectAccessReviewVersion"), version, ["v1", "v1beta1"]),
    ...oneOf(path.child("failurePolicy"), failurePolicy, ["NoOpinion", "Deny"]),
    ...oneOf(path.child("connectionInfo").child("type"), connectionInfo.type ?? "", [
      "KubeConfigFile",
    ]),
  );
  const { kubeConfigFile: file = "" } = connectionInfo;
  const at = path.child("connectionInfo").child("kubeConfigFile");
  if (file === "") faults.push(required(at, ""));
  else if (!file.startsWith("/")) faults.push(invalid(at, file, "must be an absolute path"));
  if (matchConditions.length > 0) {
    const detail = "CEL expressions are not supported here yet";
    faults.push(invalid(path.child("matchConditions"), "non-empty", detail));
  }
  return faults;
}

function oneOf(path: Path, value: string, allowed: readonly string[]): FieldError[] {
  if (value === "") return [required(path, "")];
  return allowed.includes(value) ? [] : [notSupported(path, value, allowed)];
}

function webhookOf(name: string, webhook: WebhookEntry): ConfiguredWebhook {
  const { cacheAuthorizedRequests = true, cacheUnauthorizedRequests = true } = webhook;
  return {
    name,
    kubeconfig: webhook.connectionInfo?.kubeConfigFile ?? "",
    timeoutMs: msOf(webhook.timeout ?? ""),
    allowedMs: cacheAuthorizedRequests ? msOf(webhook.authorizedTTL ?? DEFAULT_ALLOWED) : 0,
    refusedMs: cacheUnauthorizedRequests ? msOf(webhook.unauthorizedTTL ?? DEFAULT_REFUSED) : 0,
    version: webhook.subjectAccessReviewVersion === "v1" ? "v1" : "v1beta1",
    onFailure: webhook.failurePolicy === "Deny" ? "deny" : "noOpinion",
  };
}

/** NaN for what is no duration. */
function msOf(text: string): number {
  if (text === "") return 0;
  const parsed = parseDuration(text);
  return parsed.ok ? Number(parsed.nanos) / 1e6 : Number.NaN;
}
