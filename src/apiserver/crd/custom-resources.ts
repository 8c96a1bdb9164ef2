/**
 * Keeps the registry of kinds equal to the stored CustomResourceDefinitions, and their status true.
 *
 * Promises:
 * 1. A definition is served as soon as its names are accepted, and its status says Established after
 *    that: a client that waits for the condition finds the resource.
 * 2. A change of a definition replaces all versions at once. Watches of the resource end then.
 * 3. A deleted definition takes no new objects. It is removed after its last object, and its watches
 *    end then.
 * 4. Definitions are looked at one after another, each again after every change of its own and when a
 *    name in its group becomes free.
 */
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionStatus,
} from "#api/generated/apiextensions.v1.ts";
import type { Draft, Kind } from "#api/kind.ts";
import { customResourceKinds } from "#api/kinds/apiextensions/custom-resource/custom-resource-kind.ts";
import { isTrue, withCondition } from "#api/kinds/apiextensions/v1/conditions.ts";
import { customResourceDefinitionKind } from "#api/kinds/apiextensions/v1/custom-resource-definition.ts";
import { CLEANUP_FINALIZER } from "#api/kinds/apiextensions/v1/deletion.ts";
import { jsonEqual } from "#api/patch/json-value.ts";
import { WorkPace } from "#lib/async/work-pace.ts";
import { messageOf } from "#lib/caught.ts";
import type { Logger } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { KindRegistry } from "../registry/kind-registry.ts";
import type { ObjectStore } from "../storage/object-store.ts";
import type { Objects } from "../storage/objects.ts";
import type { StoredResource } from "../storage/resources.ts";
import type { Revision } from "../storage/revision.ts";
import type { ResourceCache } from "../watch/resource-cache.ts";
import type { WebhookClient } from "../webhook/webhook-client.ts";
import { conversionOf } from "./conversion-webhook.ts";
import { syncApiServices } from "./custom-api-services.ts";
import { decideStatus } from "./decide-status.ts";
import { DefinitionGroups } from "./definition-groups.ts";
import { summaryOf } from "./definition-summary.ts";
import { deleteInstances } from "./delete-instances.ts";
import { lazyDefinition } from "./lazy-definition.ts";

export interface CustomResourcesOptions {
  readonly objects: Objects;
  readonly store: ObjectStore;
  readonly resources: KindRegistry;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: Random;
  /** Converts between versions. */
  readonly webhooks: WebhookClient;
}

/** A definition whose work failed is tried again after this time. */
const RETRY_MS = 1_000;

export class CustomResources {
  readonly #options: CustomResourcesOptions;
  /** What is served, by the name of its definition. */
  readonly #served = new Map<string, CustomResourceDefinition>();
  /** Of all definitions that are stored. */
  readonly #groups = new DefinitionGroups();
  /** Names of definitions that are being deleted. */
  readonly #terminating = new Set<string>();
  /** At most one entry for each definition. */
  readonly #pending = new Set<string>();
  /** Groups whose APIServices may have to change; written when no definition is pending. */
  readonly #pendingGroups = new Set<string>();
  #signal: AbortSignal = AbortSignal.abort();
  #isBusy = false;

  constructor(options: CustomResourcesOptions) {
    this.#options = options;
  }

  /** Resolves when all established definitions are served; goes on until the signal aborts. */
  async start(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    this.#signal = signal;
    const stored = this.#cache().list(this.#stored().prefix);
    this.#cache().observe((next, old) => {
      const name = this.#nameOf((next ?? old)!);
      if (next === undefined) this.#groups.delete(name);
      else this.#groups.set(summaryOf(lazyDefinition(next)));
      this.#look(name);
    }, signal);
    const pace = new WorkPace(clock);
    const definitions: CustomResourceDefinition[] = [];
    for (const revision of stored) {
      const definition = lazyDefinition(revision);
      definitions.push(definition);
      this.#groups.set(summaryOf(definition));
      this.#pendingGroups.add(definition.spec.group);
      if (pace.isDue) await pace.rest();
    }
    for (const definition of definitions) {
      await this.#resume(definition);
      if (pace.isDue) await pace.rest();
    }
    this.#begin();
  }

  /**
   * Serves what was served before the process ended. The status of a definition whose names were accepted
   * was decided when it last changed.
   */
  async #resume(definition: CustomResourceDefinition): Promise<void> {
    const isEstablished = isTrue(definition, "Established");
    if (isEstablished) await this.#tryToServe(definition);
    const isDecided = isEstablished && isTrue(definition, "NamesAccepted");
    const { name = "", deletionTimestamp } = definition.metadata;
    if (!isDecided || deletionTimestamp !== undefined) this.#look(name);
  }

  #stored(): StoredResource {
    return this.#options.resources.storedOf(customResourceDefinitionKind);
  }

  #cache(): ResourceCache {
    return this.#options.store.cacheOf(this.#stored());
  }

  #nameOf({ key }: Revision): string {
    return key.slice(this.#stored().prefix.length);
  }

  #look(name: string): void {
    this.#pending.add(name);
    this.#begin();
  }

  #begin(): void {
    if (this.#isBusy) return;
    this.#isBusy = true;
    void this.#work();
  }

  async #work(): Promise<void> {
    const pace = new WorkPace(this.#options.clock);
    while (this.#pending.size + this.#pendingGroups.size > 0 && !this.#signal.aborted) {
      await (pace.isDue && pace.rest()); // never within the call of `#begin`
      const [name] = this.#pending;
      if (name === undefined) await this.#syncNextGroup();
      else await this.#reconcileNext(name);
    }
    this.#isBusy = false;
  }

  async #reconcileNext(name: string): Promise<void> {
    this.#pending.delete(name);
    try {
      await this.#reconcile(name);
    } catch (error) {
      this.#failed(name, error, () => this.#look(name));
    }
  }

  async #syncNextGroup(): Promise<void> {
    const [group = ""] = this.#pendingGroups;
    this.#pendingGroups.delete(group);
    try {
      await this.#syncApiServices(group);
    } catch (error) {
      this.#failed(group, error, () => this.#lookAtServices(group));
    }
  }

  #lookAtServices(group: string): void {
    this.#pendingGroups.add(group);
    this.#begin();
  }

  #failed(name: string, error: unknown, retry: () => void): void {
    const { logger, clock } = this.#options;
    logger.error("custom resource definition", { name, error: messageOf(error) });
    clock.schedule(RETRY_MS, () => {
      if (!this.#signal.aborted) retry();
    });
  }

  async #reconcile(name: string): Promise<void> {
    const { objects } = this.#options;
    const definition = objects.get(customResourceDefinitionKind, "", name);
    if (definition === undefined) return await this.#forget(name);
    if (definition.metadata.deletionTimestamp !== undefined) {
      return await this.#terminate(name, definition);
    }
    const named = this.#decide(definition);
    if (isTrue(named, "Established")) await this.#serve(this.#withoutSchemas(name, named));
    if (named.status !== definition.status) {
      await this.#writeStatus(name, (draft) => this.#decide(draft).status);
      this.#lookAtGroup(definition);
    }
    this.#pendingGroups.add(definition.spec.group);
  }

  /** The same, with schemas that take no memory as long as they are not used. */
  #withoutSchemas(name: string, definition: CustomResourceDefinition): CustomResourceDefinition {
    const revision = this.#cache().get(`${this.#stored().prefix}${name}`);
    if (revision === undefined) return definition;
    return { ...lazyDefinition(revision), status: definition.status };
  }

  #decide(definition: CustomResourceDefinition): CustomResourceDefinition {
    const { spec, metadata } = definition;
    const used = this.#groups.usedByOthers(spec.group, metadata.name ?? "");
    const status = decideStatus(definition, used, this.#options.clock.nowMs());
    return status === definition.status ? definition : { ...definition, status };
  }

  /** Another definition of the group may have waited for a name. */
  #lookAtGroup({ spec, metadata }: CustomResourceDefinition): void {
    for (const { name, namesAreAccepted } of this.#groups.inGroup(spec.group)) {
      if (!namesAreAccepted && name !== metadata.name) this.#look(name);
    }
  }

  async #syncApiServices(group: string): Promise<void> {
    const { objects, clock } = this.#options;
    const versions = new Set<string>();
    for (const { servedVersions } of this.#groups.inGroup(group)) {
      for (const version of servedVersions) versions.add(version);
    }
    await syncApiServices(objects, group, versions, clock.nowMs());
  }

  async #tryToServe(definition: CustomResourceDefinition): Promise<void> {
    try {
      await this.#serve(definition);
    } catch (error) {
      const { name = "" } = definition.metadata;
      this.#failed(name, error, () => this.#look(name));
    }
  }

  async #serve(definition: CustomResourceDefinition): Promise<void> {
    const { resources } = this.#options;
    const { name = "" } = definition.metadata;
    const served = this.#served.get(name);
    if (served !== undefined && isServedAlike(served, definition)) return;
    const convert = conversionOf(this.#options, definition);
    const kinds = customResourceKinds(definition, () => this.#terminating.has(name), convert);
    const isServed = ({ version }: Kind): boolean =>
      definition.spec.versions?.some((one) => one.name === version && one.served) === true;
    if (served === undefined) await resources.add({ kinds, isServed });
    else await resources.replace({ kinds, isServed });
    this.#served.set(name, definition);
  }

  async #forget(name: string): Promise<void> {
    this.#terminating.delete(name);
    const served = this.#served.get(name);
    if (served === undefined) return;
    this.#served.delete(name);
    const { spec, status } = served;
    await this.#options.resources.remove(spec.group, status.acceptedNames.plural);
    this.#pendingGroups.add(spec.group);
    this.#lookAtGroup(served);
  }

  async #terminate(name: string, definition: CustomResourceDefinition): Promise<void> {
    if (!definition.metadata.finalizers?.includes(CLEANUP_FINALIZER)) return;
    this.#terminating.add(name);
    const { objects, resources } = this.#options;
    const { spec, status } = definition;
    const served = this.#served.has(name)
      ? resources.resource(spec.group, status.acceptedNames.plural)
      : undefined;
    if (served !== undefined) {
      await this.#setTerminating(name, "True", IN_PROGRESS);
      const left = await deleteInstances(this.#options, served.stored, this.#signal, () =>
        this.#look(name),
      );
      if (left > 0) return; // looked at again when the last one is gone
    }
    const isLast = definition.metadata.finalizers.every((one) => one === CLEANUP_FINALIZER);
    if (isLast) {
      const deleted = await objects.delete(customResourceDefinitionKind, "", name);
      if (!deleted.ok && deleted.status.code !== 404) throw new Error(deleted.status.message);
      return;
    }
    const done = served === undefined ? NEVER_ESTABLISHED : COMPLETED;
    await this.#setTerminating(name, "False", done, (draft) => {
      const others = (draft.metadata.finalizers ?? []).filter((one) => one !== CLEANUP_FINALIZER);
      draft.metadata.finalizers = others;
    });
  }

  async #setTerminating(
    name: string,
    value: "True" | "False",
    texts: { readonly reason: string; readonly message: string },
    change?: (draft: Draft<CustomResourceDefinition>) => void,
  ): Promise<void> {
    await this.#writeStatus(name, (draft) => {
      change?.(draft);
      const condition = { type: "Terminating", status: value, ...texts };
      return withCondition(draft.status, condition, this.#options.clock.nowMs());
    });
  }

  async #writeStatus(
    name: string,
    decide: (draft: Draft<CustomResourceDefinition>) => CustomResourceDefinitionStatus,
  ): Promise<void> {
    const written = await this.#options.objects.mutate(
      customResourceDefinitionKind,
      "",
      name,
      (draft) => {
        draft.status = structuredClone(decide(draft)) as typeof draft.status;
        return undefined;
      },
      "status",
    );
    if (!written.ok && written.status.code !== 404) throw new Error(written.status.message);
  }
}

const IN_PROGRESS = {
  reason: "InstanceDeletionInProgress",
  message: "CustomResource deletion is in progress",
};
const COMPLETED = { reason: "InstanceDeletionCompleted", message: "removed all instances" };
const NEVER_ESTABLISHED = {
  reason: "NeverEstablished",
  message: "resource was never established",
};

/** The generation counts the changes of the spec. */
function isServedAlike(a: CustomResourceDefinition, b: CustomResourceDefinition): boolean {
  return (
    a.metadata.uid === b.metadata.uid &&
    a.metadata.generation === b.metadata.generation &&
    jsonEqual(a.status.acceptedNames, b.status.acceptedNames)
  );
}
