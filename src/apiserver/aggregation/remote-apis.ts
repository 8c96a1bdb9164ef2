/**
 * The group versions that other servers serve: APIServices with a Service. Follows the stored
 * APIServices; a look-up costs the same however many there are, and nothing while there are none.
 */
import type { APIService, APIServiceSpec } from "#api/generated/apiregistration.v1.ts";
import { apiServiceKind } from "#api/kinds/apiregistration/v1/api-service.ts";
import { type Result, success } from "#api/meta/status.ts";
import { Emitter } from "#lib/events.ts";
import type { Objects } from "../storage/objects.ts";
import type { HttpsEndpoint } from "../webhook/https-caller.ts";
import type { ServicePort, ServiceResolver } from "../webhook/service-resolver.ts";

export interface RemoteApi {
  /** Of the APIService. */
  readonly name: string;
  readonly group: string;
  readonly version: string;
  readonly groupPriority: number;
  readonly versionPriority: number;
  readonly service: ServicePort;
  readonly isAvailable: boolean;
  readonly insecure: boolean;
  /** PEM. */
  readonly ca: string | undefined;
}

/** What the server shows to the others: its front-proxy client certificate, in PEM. */
export interface ClientCertificate {
  readonly certificatePem: string;
  readonly keyPem: string;
}

export class RemoteApis {
  readonly #byName = new Map<string, RemoteApi>();
  /** By `GROUP/VERSION`. */
  readonly #byVersion = new Map<string, RemoteApi>();
  readonly #changes = new Emitter<{
    change: { next?: RemoteApi; old?: RemoteApi };
    failure: RemoteApi;
  }>();
  readonly #services: ServiceResolver;
  readonly #certificate: () => ClientCertificate | undefined;

  constructor(services: ServiceResolver, certificate: () => ClientCertificate | undefined) {
    this.#services = services;
    this.#certificate = certificate;
  }

  start(objects: Objects, signal: AbortSignal): void {
    const follow = (next: APIService | undefined, old: APIService | undefined): void =>
      this.#set((next ?? old)?.metadata.name ?? "", next && remoteApiOf(next));
    objects.onChange(apiServiceKind, follow, signal);
    for (const apiService of objects.list(apiServiceKind)) follow(apiService, undefined);
  }

  /** Called after a change, in the turn in which look-ups show it. */
  onChange(listener: (change: { next?: RemoteApi; old?: RemoteApi }) => void): void {
    this.#changes.on("change", listener);
  }

  /** Called when a request could not be handed on. */
  onFailure(listener: (api: RemoteApi) => void): void {
    this.#changes.on("failure", listener);
  }

  reportFailure(api: RemoteApi): void {
    this.#changes.emit("failure", api);
  }

  all(): Iterable<RemoteApi> {
    return this.#byName.values();
  }

  get(name: string): RemoteApi | undefined {
    return this.#byName.get(name);
  }

  /** Whose path it is: `/apis/GROUP/VERSION` or below it. */
  findByPath(path: string): RemoteApi | undefined {
    if (this.#byVersion.size === 0 || !path.startsWith("/apis/")) return undefined;
    const [, , group = "", version = ""] = path.split("/", 4);
    return this.#byVersion.get(`${group}/${version}`);
  }

  /** Where a request for the API goes. */
  endpointOf({ service, insecure, ca }: RemoteApi): Result<HttpsEndpoint> {
    const address = this.#services.resolve(service);
    if (!address.ok) return address;
    const shown = this.#certificate();
    return success({
      ...address.value,
      serverName: `${service.name}.${service.namespace}.svc`,
      insecure,
      ...(ca === undefined ? {} : { ca }),
      ...(shown === undefined ? {} : { cert: shown.certificatePem, key: shown.keyPem }),
    });
  }

  #set(name: string, next: RemoteApi | undefined): void {
    const old = this.#byName.get(name);
    if (old !== undefined) this.#byVersion.delete(versionKey(old));
    this.#byName.delete(name);
    if (next !== undefined) {
      this.#byName.set(name, next);
      this.#byVersion.set(versionKey(next), next);
    }
    if (next === undefined && old === undefined) return;
    this.#changes.emit("change", { ...(next && { next }), ...(old && { old }) });
  }
}

function versionKey({ group, version }: RemoteApi): string {
  return `${group}/${version}`;
}

/** Undefined for what this server serves itself. */
function remoteApiOf({ metadata, spec, status }: APIService): RemoteApi | undefined {
  const { service, group = "", version = "" } = spec;
  if (service === undefined || group === "") return undefined;
  const { namespace = "", name = "", port = 443 } = service;
  const available = status?.conditions?.find(({ type }) => type === "Available");
  return {
    name: metadata.name ?? "",
    group,
    version,
    groupPriority: spec.groupPriorityMinimum,
    versionPriority: spec.versionPriority,
    service: { namespace, name, port },
    isAvailable: available?.status === "True",
    insecure: spec.insecureSkipTLSVerify === true,
    ca: caOf(spec),
  };
}

function caOf({ caBundle = "" }: APIServiceSpec): string | undefined {
  return caBundle === "" ? undefined : Buffer.from(caBundle, "base64").toString();
}
