/**
 * Credential provider plug-ins (CredentialProviderConfig, kubelet.config.k8s.io/v1): programs that are
 * asked for the credentials of a registry.
 *
 * Promises:
 * 1. A plug-in is run only for images that one of its matchImages is for, and once for equal
 *    questions at the same time; an answer is kept as long as the plug-in says.
 * 2. A plug-in that fails is logged, and the pull goes on without it.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { load } from "js-yaml";
import { parseDuration } from "#api/meta/duration.ts";
import { runProgram } from "#host/run-program.ts";
import type { AuthConfig } from "#kubelet/cri/image-methods.ts";
import { matchesImage } from "#kubelet/decide/inputs/image-match.ts";
import { registryOf } from "#kubelet/decide/inputs/image-name.ts";
import { messageOf } from "#lib/caught.ts";
import type { Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";

const TIMEOUT_MS = 60_000;
const CACHE_MAX = 1_000;

interface Provider {
  readonly name: string;
  readonly matchImages: readonly string[];
  readonly defaultCacheDuration: string;
  readonly apiVersion: string;
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value: string }[];
}

type Auths = Readonly<Record<string, { readonly username?: string; readonly password?: string }>>;

interface Answer {
  readonly kind?: string;
  readonly cacheKeyType?: string;
  readonly cacheDuration?: string;
  readonly auth?: Auths | null;
}

export interface CredentialProvidersOptions {
  readonly providers: readonly Provider[];
  /** Where the programs are. */
  readonly folder: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Throws when the file cannot be used; the message is for the user. */
export async function readCredentialProviders(path: string): Promise<readonly Provider[]> {
  const document = load(await readFile(path, "utf8")) as { kind?: string; providers?: Provider[] };
  if (document?.kind !== "CredentialProviderConfig") {
    throw new Error(
      `error decoding config "${path}": failed to decode "${document?.kind}" (wrong Kind)`,
    );
  }
  const { providers = [] } = document;
  if (providers.length === 0) {
    throw new Error("providers: Required value: at least 1 item in plugins is required");
  }
  for (const [i, { name = "", matchImages = [], defaultCacheDuration }] of providers.entries()) {
    const field = `providers[${i}]`;
    if (/[/ ]/.test(name) || name === "" || name === "." || name === "..") {
      throw new Error(`${field}.name: Invalid value: "${name}": provider name cannot contain '/'`);
    }
    if (matchImages.length === 0) {
      throw new Error(
        `${field}.matchImages: Required value: at least 1 item in matchImages is required`,
      );
    }
    if (defaultCacheDuration === undefined) {
      throw new Error(`${field}.defaultCacheDuration: Required value`);
    }
  }
  return providers;
}

export class CredentialProviders {
  readonly #options: CredentialProvidersOptions;
  readonly #cache = new Map<string, { readonly auths: Auths; readonly untilMs: number }>();
  readonly #running = new Map<string, Promise<Auths>>();

  constructor(options: CredentialProvidersOptions) {
    this.#options = options;
  }

  /** The longest match first. */
  async credentialsFor(image: string): Promise<AuthConfig[]> {
    const { providers, logger } = this.#options;
    const found: [pattern: string, auth: AuthConfig][] = [];
    for (const provider of providers) {
      if (!provider.matchImages.some((pattern) => matchesImage(pattern, image))) continue;
      try {
        for (const [pattern, { username = "", password = "" }] of Object.entries(
          await this.#ask(provider, image),
        )) {
          if (!matchesImage(pattern, image)) continue;
          found.push([pattern, { username, password }]);
        }
      } catch (error) {
        const why = messageOf(error);
        logger.warn("Failed to provide credentials for image", {
          provider: provider.name,
          image,
          why,
        });
      }
    }
    return found.sort(([a], [b]) => b.length - a.length).map(([, auth]) => auth);
  }

  async #ask(provider: Provider, image: string): Promise<Auths> {
    const nowMs = this.#options.clock.elapsedMs();
    for (const part of [image, registryOf(image), GLOBAL]) {
      const known = this.#cache.get(`${provider.name} ${part}`);
      if (known !== undefined && nowMs <= known.untilMs) return known.auths;
    }
    const key = `${provider.name} ${image}`;
    const asked = this.#running.get(key) ?? this.#run(provider, image);
    this.#running.set(key, asked);
    try {
      return await asked;
    } finally {
      this.#running.delete(key);
    }
  }

  async #run(provider: Provider, image: string): Promise<Auths> {
    const { folder } = this.#options;
    const { name, apiVersion, args = [], env = [] } = provider;
    const given = Object.fromEntries(env.map((one) => [one.name, one.value]));
    const result = await runProgram(join(folder, name), args, {
      input: JSON.stringify({ kind: "CredentialProviderRequest", apiVersion, image }),
      env: { ...(process.env as Record<string, string>), ...given },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (result.exitCode !== 0) {
      throw new Error(
        `error execing credential provider plugin ${name} for image ${image}: exit status ${result.exitCode}: ${result.stderr.slice(0, 1000)}`,
      );
    }
    const answer = JSON.parse(result.stdout) as Answer;
    const auths = answer.auth ?? {};
    this.#keep(provider, image, answer, auths);
    return auths;
  }

  #keep(provider: Provider, image: string, answer: Answer, auths: Auths): void {
    const { cacheKeyType = "", cacheDuration = provider.defaultCacheDuration } = answer;
    const part = { Image: image, Registry: registryOf(image), Global: GLOBAL }[cacheKeyType];
    if (part === undefined) {
      throw new Error(
        `credential provider plugin did not return a valid cacheKeyType: ${cacheKeyType}`,
      );
    }
    const parsed = parseDuration(cacheDuration);
    const keepMs = parsed.ok ? Number(parsed.nanos / 1_000_000n) : 0;
    if (keepMs <= 0) return;
    this.#cache.set(`${provider.name} ${part}`, {
      auths,
      untilMs: this.#options.clock.elapsedMs() + keepMs,
    });
    if (this.#cache.size <= CACHE_MAX) return;
    const [oldest = ""] = this.#cache.keys();
    this.#cache.delete(oldest);
  }
}

const GLOBAL = "global";
