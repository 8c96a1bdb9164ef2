/**
 * Follows the key `Corefile` of a ConfigMap, as CoreDNS's Deployment is set up with one. A text that
 * cannot be read is logged and leaves the last good configuration in place.
 */
import { configMapResource } from "#client/node-resources.ts";
import type { SharedInformers } from "#client/shared-informers.ts";
import { messageOf } from "#lib/caught.ts";
import type { Logger } from "#lib/logger.ts";
import type { DnsConfig } from "./config/dns-config.ts";
import { type ConfigSurroundings, readConfig } from "./config/read-config.ts";

export interface FollowedConfigMap {
  readonly namespace: string;
  readonly name: string;
}

const KEY = "Corefile";

export interface FollowOptions {
  readonly informers: SharedInformers;
  readonly logger: Logger;
  readonly surroundings: ConfigSurroundings;
  /** Undefined: there is no ConfigMap, or it has no Corefile. */
  onConfig(config: DnsConfig | undefined): void;
}

/** Resolves when the signal has aborted and nothing is watched any more. */
export function followCorefile(
  { namespace, name }: FollowedConfigMap,
  { informers, logger, surroundings, onConfig }: FollowOptions,
  signal: AbortSignal,
): Promise<void> {
  const scope = { namespace, fieldSelector: `metadata.name=${name}` };
  const { informer, released } = informers.hold(configMapResource, scope, signal);
  let last: string | undefined;
  informer.on(({ next }) => {
    const text = next?.data?.[KEY];
    if (text === last) return;
    last = text;
    try {
      onConfig(text === undefined ? undefined : readConfig(text, surroundings));
      logger.info("DNS is configured", { by: text === undefined ? "defaults" : KEY });
    } catch (error) {
      logger.error("the Corefile is not used", { configMap: name, why: messageOf(error) });
    }
  });
  return released;
}
