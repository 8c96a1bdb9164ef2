/**
 * Finds upstreams that lead back to this server: each is asked, once, for a name that no other query
 * has. If that query arrives here, the upstream is no longer used, and a line says so.
 */

import type { Logger } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import { typeNumber } from "../wire/codes.ts";
import { encodeQuestion } from "../wire/encode-question.ts";
import { askUpstream } from "./ask-upstream.ts";
import type { Forwarder } from "./forwarder.ts";
import type { Upstream } from "./resolv-conf.ts";

export interface LoopProbeOptions {
  readonly forwarder: Forwarder;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

const TIMEOUT_MS = 2_000;
const LABEL_MAX = 2 ** 48;

export class LoopProbe {
  readonly #options: LoopProbeOptions;
  readonly #names = new Map<string, Upstream>();

  constructor(options: LoopProbeOptions) {
    this.#options = options;
  }

  /** True for the name of a probe: it has come back. */
  sees(name: string): boolean {
    const upstream = this.#names.get(name);
    if (upstream === undefined) return false;
    const { forwarder, logger } = this.#options;
    forwarder.markLooping(upstream);
    logger.error("an upstream DNS server leads back to this one and is not used", {
      upstream: `${upstream.address}:${upstream.port}`,
    });
    return true;
  }

  /** Resolves when every upstream was asked, whether or not it answered. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#options.forwarder.upstreams.map((each) => this.#probe(each, signal)));
    this.#names.clear();
  }

  async #probe(upstream: Upstream, signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#options;
    const name = `${random.integer(LABEL_MAX)}.${random.integer(LABEL_MAX)}`;
    this.#names.set(name, upstream);
    const type = typeNumber("HINFO");
    const query = {
      ...{ id: 0, name, type, class: 1, recursionDesired: true, checkingDisabled: false },
      question: encodeQuestion(name, type),
      edns: undefined,
    };
    const options = { clock, timeoutMs: TIMEOUT_MS, id: random.integer(65_536) };
    await askUpstream(upstream, query, options, signal).catch(() => undefined);
  }
}
