/**
 * Keeps the condition Available of every APIService true. Those that this server serves itself always
 * are. Others are checked when they, their Service or its EndpointSlices change, when a request could
 * not be handed on, every CHECK_MS, and after a failed discovery check with growing waits.
 *
 * A discovery check asks the API's own discovery path. It has CHECK_TIMEOUT_MS. One success is enough: when
 * the first try has failed or is late, up to TRIES are under way at once (endpoints are chosen at random).
 */
import type { APIService } from "#api/generated/apiregistration.v1.ts";
import { apiServiceKind } from "#api/kinds/apiregistration/v1/api-service.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { endpointSliceKind } from "#api/kinds/discovery/v1/endpoint-slice.ts";
import { timeFromMs } from "#api/meta/time.ts";
import { jsonEqual } from "#api/patch/json-value.ts";
import { onAbort } from "#lib/async/aborted.ts";
import { Backoff } from "#lib/async/backoff.ts";
import { withTimeout } from "#lib/async/sleep.ts";
import { messageOf } from "#lib/caught.ts";
import type { Logger } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import type { Clock, Timer } from "#lib/time/clock.ts";
import type { Objects } from "../storage/objects.ts";
import type { HttpsCaller } from "../webhook/https-caller.ts";
import type { ServiceResolver } from "../webhook/service-resolver.ts";
import {
  type Availability,
  LOCAL,
  PASSED,
  unavailable,
  whyUnavailable,
} from "./decide-availability.ts";
import type { RemoteApi, RemoteApis } from "./remote-apis.ts";
import { AGGREGATOR, userHeaders } from "./user-headers.ts";

const CHECK_MS = 30_000;
const CHECK_TIMEOUT_MS = 5_000;
const TRIES = 5;
/** The other tries begin this long after the first at the latest. */
const LATE_MS = 500;
const RETRY = { baseMs: 5, capMs: 30_000 } as const;
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;

export interface AvailabilityOptions {
  readonly objects: Objects;
  readonly apis: RemoteApis;
  readonly services: ServiceResolver;
  readonly caller: Pick<HttpsCaller, "call">;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** What is under way for one APIService. */
interface Check {
  readonly backoff: Backoff;
  timer: Timer | undefined;
  isRunning: boolean;
  /** It changed while it was checked. */
  isDirty: boolean;
}

export class AvailabilityChecks {
  readonly #options: AvailabilityOptions;
  /** One for each remote APIService. */
  readonly #checks = new Map<string, Check>();
  #signal: AbortSignal = AbortSignal.abort();

  constructor(options: AvailabilityOptions) {
    this.#options = options;
  }

  /** Until the signal aborts. */
  start(signal: AbortSignal): void {
    const { objects } = this.#options;
    this.#signal = signal;
    const follow = (next: APIService | undefined, old: APIService | undefined): void =>
      this.#changed((next ?? old)?.metadata.name ?? "", next, old);
    objects.onChange(apiServiceKind, follow, signal);
    objects.onChange(
      serviceKind,
      (next, old) => {
        const { namespace, name } = (next ?? old)!.metadata;
        this.#backendChanged(namespace, name);
      },
      signal,
    );
    objects.onChange(
      endpointSliceKind,
      (next, old) => {
        if (this.#checks.size === 0) return;
        const { namespace, labels } = (next ?? old)!.metadata;
        this.#backendChanged(namespace, labels?.["kubernetes.io/service-name"]);
      },
      signal,
    );
    this.#options.apis.onFailure(({ name, isAvailable }) => {
      // What is known to be unavailable is looked at in its own time.
      if (isAvailable && this.#checks.get(name)?.isRunning === false) this.#check(name);
    });
    onAbort(signal, () => {
      for (const { timer } of this.#checks.values()) timer?.cancel();
      this.#checks.clear();
    });
    for (const apiService of objects.list(apiServiceKind)) follow(apiService, undefined);
  }

  #changed(name: string, next: APIService | undefined, old: APIService | undefined): void {
    if (next?.spec.service === undefined) {
      this.#checks.get(name)?.timer?.cancel();
      this.#checks.delete(name);
      if (next !== undefined) void this.#write(name, LOCAL);
      return;
    }
    // Its own status is no reason to look again.
    if (this.#checks.has(name) && old !== undefined && jsonEqual(old.spec, next.spec)) return;
    this.#check(name);
  }

  #backendChanged(namespace: string | undefined, service: string | undefined): void {
    for (const api of this.#options.apis.all()) {
      if (api.service.namespace !== namespace || api.service.name !== service) continue;
      this.#checks.get(api.name)?.backoff.reset();
      this.#check(api.name);
    }
  }

  #check(name: string): void {
    const { random } = this.#options;
    const fresh = (): Check => ({
      backoff: new Backoff({ ...RETRY, random }),
      timer: undefined,
      isRunning: false,
      isDirty: false,
    });
    const check = this.#checks.get(name) ?? fresh();
    this.#checks.set(name, check);
    check.timer?.cancel();
    if (check.isRunning) check.isDirty = true;
    else void this.#run(name, check);
  }

  async #run(name: string, check: Check): Promise<void> {
    const { clock, logger, apis } = this.#options;
    check.isRunning = true;
    check.isDirty = false;
    let waitMs = CHECK_MS;
    try {
      const api = apis.get(name);
      if (api === undefined) return;
      const found = await this.#availabilityOf(api);
      if (this.#signal.aborted) return;
      await this.#write(name, found);
      if (found.reason === "FailedDiscoveryCheck") waitMs = check.backoff.nextMs();
      else check.backoff.reset();
    } catch (error) {
      logger.error("an APIService could not be checked", { name, error });
    } finally {
      check.isRunning = false;
      if (this.#checks.get(name) === check && !this.#signal.aborted) {
        const delayMs = check.isDirty ? 0 : waitMs;
        check.timer = clock.schedule(delayMs, () => this.#check(name));
      }
    }
  }

  async #availabilityOf(api: RemoteApi): Promise<Availability> {
    const { objects, services } = this.#options;
    const { namespace, name } = api.service;
    const service = objects.get(serviceKind, namespace, name);
    const slices = services.slicesOf(namespace, name);
    return whyUnavailable(api.service, { service, slices }) ?? (await this.#ask(api));
  }

  async #ask(api: RemoteApi): Promise<Availability> {
    const first = this.#askOnce(api);
    if (await this.#isInTime(first)) return PASSED;
    const others = Array.from({ length: TRIES - 1 }, () => this.#askOnce(api));
    const tries = [first, ...others];
    try {
      await Promise.any(tries);
      return PASSED;
    } catch (error) {
      const all = error instanceof AggregateError ? error.errors : [error];
      return unavailable("FailedDiscoveryCheck", messageOf(all.at(-1)));
    }
  }

  /** False when the try fails, or is not done after LATE_MS. */
  async #isInTime(first: Promise<void>): Promise<boolean> {
    const inTime = withTimeout(this.#options.clock, LATE_MS, () => first, this.#signal);
    return await inTime.then(
      () => true,
      () => false,
    );
  }

  async #askOnce(api: RemoteApi): Promise<void> {
    const endpoint = this.#options.apis.endpointOf(api);
    if (!endpoint.ok) throw new Error(endpoint.status.message);
    const { host, port } = endpoint.value;
    const path = `/apis/${api.group}/${api.version}`;
    const url = `https://${host.includes(":") ? `[${host}]` : host}:${port}${path}`;
    const failed = (why: string): Error =>
      new Error(`failing or missing response from ${url}: ${why}`);
    const answer = await this.#options.caller
      .call({
        endpoint: endpoint.value,
        method: "GET",
        path,
        headers: { ...userHeaders(AGGREGATOR), accept: "application/json" },
        timeoutMs: CHECK_TIMEOUT_MS,
        answerBytesMax: ANSWER_BYTES_MAX,
        signal: this.#signal,
      })
      .catch((error: unknown) => {
        throw failed(`Get "${url}": ${messageOf(error)}`);
      });
    if (answer.code < 200 || answer.code >= 300) {
      throw failed(`bad status from ${url}: ${answer.code}`);
    }
  }

  async #write(name: string, wanted: Availability): Promise<void> {
    const { objects, clock, logger } = this.#options;
    const apiService = objects.get(apiServiceKind, "", name);
    if (apiService === undefined || says(apiService, wanted)) return;
    const written = await objects.mutate(apiServiceKind, "", name, (draft) => {
      const before = draft.status?.conditions?.find(({ type }) => type === "Available");
      const others = (draft.status?.conditions ?? []).filter(({ type }) => type !== "Available");
      const lastTransitionTime =
        before?.status === wanted.status && before.lastTransitionTime !== undefined
          ? before.lastTransitionTime
          : timeFromMs(clock.nowMs());
      const condition = { type: "Available", ...wanted, lastTransitionTime };
      draft.status = { ...draft.status, conditions: [...others, condition] };
      return undefined;
    });
    if (written.ok || written.status.reason === "NotFound") return;
    const why = written.status.message;
    logger.warn("the status of an APIService could not be written", { name, why });
  }
}

function says({ status }: APIService, wanted: Availability): boolean {
  const now = status?.conditions?.find(({ type }) => type === "Available");
  return (
    now?.status === wanted.status && now.reason === wanted.reason && now.message === wanted.message
  );
}
