/**
 * The file of `--egress-selector-config-file`: how the server reaches the cluster (kubelets, pods,
 * Services, webhooks, aggregated APIs), the control plane (webhooks for authentication, authorization,
 * audit and image policy) and etcd: directly or through a tunnel.
 */
import { duplicate, type FieldError, invalid, notSupported } from "#api/validation/field-error.ts";
import { formatFieldErrors } from "#api/validation/format-field-error.ts";
import { Path } from "#api/validation/path.ts";
import { messageOf } from "#lib/caught.ts";
import {
  type ConfigKind,
  configSchema,
  decodeConfig,
  listOf,
  STRING,
  struct,
} from "./config-file.ts";
import {
  type EgressTlsFiles,
  type EgressTransport,
  type FileExists,
  transportFaults,
} from "./egress-transport.ts";

interface Selection {
  readonly name?: string;
  readonly connection?: { readonly proxyProtocol?: string; readonly transport?: EgressTransport };
}

const EGRESS_CONFIGURATION: ConfigKind = {
  kind: "EgressSelectorConfiguration",
  apiVersions: ["apiserver.k8s.io/v1beta1", "apiserver.k8s.io/v1alpha1"],
  schema: configSchema("v1beta1.EgressSelectorConfiguration", {
    egressSelections: listOf(
      struct("v1beta1.EgressSelection", {
        name: STRING,
        connection: struct("v1beta1.Connection", {
          proxyProtocol: STRING,
          transport: {
            optional: struct("v1beta1.Transport", {
              tcp: {
                optional: struct("v1beta1.TCPTransport", {
                  url: STRING,
                  tlsConfig: {
                    optional: struct("v1beta1.TLSConfig", {
                      ...{ caBundle: STRING, clientKey: STRING, clientCert: STRING },
                      tlsServerName: STRING,
                    }),
                  },
                }),
              },
              uds: { optional: struct("v1beta1.UDSTransport", { udsName: STRING }) },
            }),
          },
        }),
      }),
    ),
  }),
};

const NAMES = ["cluster", "controlplane", "etcd"] as const;
export type EgressName = (typeof NAMES)[number];
/** What the oldest version calls the control plane. */
const OLD_NAME = "master";
const PROTOCOLS = ["Direct", "HTTPConnect", "GRPC"];
const PLACE = Path.of("service").child("connection");

/** The server of a tunnel. */
export type EgressProxy = {
  readonly protocol: "HTTPConnect" | "GRPC";
} & (
  | { readonly path: string }
  | { readonly host: string; readonly port: number; readonly tls: EgressTlsFiles | undefined }
);

/** The ways that do not lead there directly. */
export type EgressProxies = Readonly<Partial<Record<EgressName, EgressProxy>>>;

/** Throws, naming every fault. */
export function parseEgressConfig(text: string, exists: FileExists): EgressProxies {
  const selections = decode(text);
  const faults = [
    ...selections.flatMap((selection) => connectionFaults(selection, exists)),
    ...nameFaults(selections),
  ];
  if (faults.length > 0) {
    throw new Error(
      `failed to validate egress selector configuration: ${formatFieldErrors(faults)}`,
    );
  }
  return Object.fromEntries(
    selections
      .filter(({ connection }) => connection?.proxyProtocol !== "Direct")
      .map((selection) => [canonicalName(selection.name), proxyOf(selection)]),
  );
}

function proxyOf({ connection }: Selection): EgressProxy {
  const protocol = connection?.proxyProtocol === "GRPC" ? "GRPC" : "HTTPConnect";
  const { uds, tcp } = connection?.transport ?? {};
  const path = uds?.udsName ?? "";
  if (path !== "") return { protocol, path };
  const url = URL.canParse(tcp?.url ?? "") ? new URL(tcp?.url ?? "") : undefined;
  if (url === undefined) throw new Error(`the URL of the proxy is invalid: ${tcp?.url}`);
  const tls = url.protocol === "https:" ? (tcp?.tlsConfig ?? {}) : undefined;
  const host = url.hostname.replace(/^\[|\]$/g, "");
  return { protocol, host, port: Number(url.port) || (tls === undefined ? 80 : 443), tls };
}

function decode(text: string): readonly Selection[] {
  try {
    const config = decodeConfig(text, EGRESS_CONFIGURATION);
    return (config as { egressSelections?: readonly Selection[] }).egressSelections ?? [];
  } catch (error) {
    throw new Error(`failed to read egress selector config: ${messageOf(error)}`);
  }
}

function connectionFaults({ connection }: Selection, exists: FileExists): readonly FieldError[] {
  const { proxyProtocol = "", transport } = connection ?? {};
  if (!PROTOCOLS.includes(proxyProtocol)) {
    return [notSupported(PLACE.child("protocol"), proxyProtocol, PROTOCOLS)];
  }
  if (proxyProtocol === "HTTPConnect" || proxyProtocol === "GRPC") {
    return transportFaults(proxyProtocol, transport, PLACE, exists);
  }
  if (transport === undefined) return [];
  const why = "config must be absent for direct connect";
  return [invalid(PLACE.child("transport"), "direct", why)];
}

function nameFaults(selections: readonly Selection[]): FieldError[] {
  const seen = new Set<string>();
  return selections.flatMap(({ name }, at) => {
    const canonical = canonicalName(name);
    if (seen.has(canonical)) return [duplicate(PLACE.index(at), canonical)];
    seen.add(canonical);
    return (NAMES as readonly string[]).includes(canonical)
      ? []
      : [notSupported(PLACE, canonical, NAMES)];
  });
}

function canonicalName(name = ""): string {
  const called = name.toLowerCase();
  return called === OLD_NAME ? "controlplane" : called;
}
