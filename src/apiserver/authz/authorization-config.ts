/**
 * The file of `--authorization-config`: who decides on access, in order; webhooks may come several
 * times. Match conditions are compiled when the file is read.
 */
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
import { messageOf } from "#lib/caught.ts";
import { aggregateText } from "../config/aggregate-text.ts";
import {
  type ConfigKind,
  configSchema,
  decodeConfig,
  listOf,
  STRING,
  struct,
} from "../config/config-file.ts";
import {
  type ConfiguredWebhook,
  type FileFault,
  readWebhook,
  WEBHOOK_SCHEMA,
  type WebhookEntry,
} from "./webhook-config.ts";

export type ConfiguredAuthorizer = ConfiguredMode | ConfiguredWebhook;
type ConfiguredMode = "Node" | "RBAC" | "AlwaysAllow" | "AlwaysDeny";

interface Entry {
  readonly type?: string;
  readonly name?: string;
  readonly webhook?: WebhookEntry;
}

const AUTHORIZATION_CONFIGURATION: ConfigKind = {
  kind: "AuthorizationConfiguration",
  apiVersions: ["v1", "v1beta1", "v1alpha1"].map((one) => `apiserver.config.k8s.io/${one}`),
  schema: configSchema("v1.AuthorizationConfiguration", {
    authorizers: listOf(
      struct("v1.AuthorizerConfiguration", {
        type: STRING,
        name: STRING,
        webhook: { optional: WEBHOOK_SCHEMA },
      }),
    ),
  }),
};

const TYPES = ["AlwaysAllow", "AlwaysDeny", "Node", "RBAC", "Webhook"];

export interface AuthorizationConfigSource {
  readonly text: string;
  readonly fileFault: FileFault;
  /** Those in use before must stay; others cannot come while the server runs. */
  readonly before?: readonly ConfiguredAuthorizer[];
}

/** Throws, naming every fault. */
export function readAuthorizationConfig(
  source: AuthorizationConfigSource,
): readonly ConfiguredAuthorizer[] {
  const { authorizers = [] } = decode(source.text);
  const root = Path.of("authorizers");
  const faults: FieldError[] =
    authorizers.length === 0
      ? [required(root, "at least one authorization mode must be defined")]
      : [];
  const seen = { types: new Set<string>(), names: new Set<string>() };
  const read = authorizers.flatMap((entry, at) =>
    readEntry(entry, root.index(at), seen, source, faults),
  );
  if (faults.length > 0) throw new Error(formatFieldErrors(faults));
  const wrong = [...nameFaults(authorizers), ...changeFaults(read, source.before)];
  if (wrong.length > 0) throw new Error(aggregateText(wrong));
  return read;
}

function decode(text: string): { readonly authorizers?: readonly Entry[] } {
  if (text === "") return {};
  try {
    return decodeConfig(text, AUTHORIZATION_CONFIGURATION) as { authorizers?: readonly Entry[] };
  } catch (error) {
    const message = messageOf(error);
    throw new Error(`failed to load AuthorizationConfiguration from file: ${message}`);
  }
}

/** Only webhooks have names of their own. */
function nameFaults(authorizers: readonly Entry[]): string[] {
  return authorizers.flatMap(({ type = "", name = "" }) => {
    const expected = type.toLowerCase();
    return type === "Webhook" || name === expected
      ? []
      : [`expected name ${expected} for authorizer ${type} instead of ${name}`];
  });
}

function changeFaults(
  now: readonly ConfiguredAuthorizer[],
  before: readonly ConfiguredAuthorizer[] | undefined,
): string[] {
  if (before === undefined) return [];
  const missing = before.filter((one) => typeof one === "string" && !now.includes(one)).sort();
  const added = now.filter((one) => one === "Node" || one === "RBAC");
  return [
    ...(missing.length === 0 ? [] : [`missing required types: [${missing.join(" ")}]`]),
    ...added
      .filter((one) => !before.includes(one))
      .map(
        (one) =>
          `authorizer type ${one} is not allowed if it was not enabled at initial server startup`,
      ),
  ];
}

function readEntry(
  { type = "", name = "", webhook }: Entry,
  path: Path,
  seen: { readonly types: Set<string>; readonly names: Set<string> },
  source: AuthorizationConfigSource,
  faults: FieldError[],
): ConfiguredAuthorizer[] {
  const typeFault = typeFaultOf(type, path.child("type"), seen.types);
  if (typeFault !== undefined) {
    faults.push(typeFault);
    return [];
  }
  seen.types.add(type);
  const badName = isDns1123Subdomain(name).join(", ");
  if (name === "") faults.push(required(path.child("name"), ""));
  else if (seen.names.has(name)) faults.push(duplicate(path.child("name"), name));
  else if (badName !== "") {
    faults.push(invalid(path.child("name"), name, `authorizer name is invalid: ${badName}`));
  }
  seen.names.add(name);
  if (type === "Webhook" && webhook === undefined) {
    faults.push(required(path.child("webhook"), "required when type=Webhook"));
  }
  if (type !== "Webhook" && webhook !== undefined) {
    const detail = "may only be specified when type=Webhook";
    faults.push(invalid(path.child("webhook"), "non-null", detail));
  }
  if (type !== "Webhook") return [type as ConfiguredMode];
  return webhook === undefined ? [] : [readWebhook(name, webhook, path, source.fileFault, faults)];
}

function typeFaultOf(type: string, at: Path, seen: ReadonlySet<string>): FieldError | undefined {
  if (type === "") return required(at, "");
  if (!TYPES.includes(type)) return notSupported(at, type, TYPES);
  return seen.has(type) && type !== "Webhook" ? duplicate(at, type) : undefined;
}
