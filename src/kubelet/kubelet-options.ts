/** What a kubelet is given: its configuration, a client of the API server, time and randomness. */
import type { Client } from "#client/client.ts";
import type { Logger } from "#lib/logger.ts";
import type { Metrics } from "#lib/metrics.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { ImportImage } from "./images/built-in-images.ts";
import type { KubeletConfig } from "./kubelet-config.ts";

export interface KubeletOptions {
  readonly config: KubeletConfig;
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Shows what the kubelet measures. */
  readonly metrics?: Metrics;
  /** By name: images that are made here instead of pulled. */
  readonly builtInImages?: ReadonlyMap<string, ImportImage>;
}
