/**
 * SSH tunnels to all nodes, and connections through them.
 *
 * Promises:
 * 1. There is one tunnel to each target of the last `update`; one that ends, or whose health check
 *    fails, is opened again: at once if it was open for 15 seconds, else after 0.2 seconds, twice as
 *    long each time up to 15.
 * 2. A connection to an address of a node goes through that node's tunnel, every other one through a
 *    tunnel that is chosen at random. Without an open tunnel it fails at once.
 * 3. Each tunnel is checked every minute: the node's kubelet must answer through it.
 */
import type { Duplex } from "node:stream";
import { onAbort } from "#lib/async/aborted.ts";
import { Backoff } from "#lib/async/backoff.ts";
import { messageOf } from "#lib/caught.ts";
import type { Logger } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { OpenSshConnection, SshConnection } from "./ssh-connection.ts";

export interface TunnelTarget {
  /** Of the SSH server. */
  readonly host: string;
  /** All names and addresses of the node: connections to them go through its tunnel. */
  readonly addresses: readonly string[];
  /** Where its kubelet serves `/healthz`, seen from the node. */
  readonly kubelet: { readonly host: string; readonly port: number };
}

export interface SshTunnelsOptions {
  readonly user: string;
  /** Read for each tunnel. */
  privateKey(): string;
  readonly port?: number;
  readonly open: OpenSshConnection;
  /** Rejects unless the kubelet answers. */
  check(target: TunnelTarget, tunnel: SshConnection, signal: AbortSignal): Promise<void>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Called for each attempt to open a tunnel. */
  attempted?(ok: boolean): void;
}

const SSH_PORT = 22;
const HEALTH_CHECK_EVERY_MS = 60_000;
const HEALTH_CHECK_TIMEOUT_MS = 30_000;
const REDIAL = { baseMs: 200, capMs: 15_000, jitter: 0.1 };
const TARGETS_MAX = 5_000;

interface Tunnel {
  readonly life: AbortController;
  readonly done: Promise<void>;
  target: TunnelTarget;
  connection: SshConnection | undefined;
}

export class SshTunnels implements AsyncDisposable {
  readonly #options: SshTunnelsOptions;
  readonly #tunnels = new Map<string, Tunnel>();

  constructor(options: SshTunnelsOptions) {
    this.#options = options;
  }

  /** How many are open. */
  get open(): number {
    return this.#openTunnels().length;
  }

  /** Opens tunnels to new targets and closes those to targets that are gone; others stay as they are. */
  update(targets: readonly TunnelTarget[]): void {
    const wanted = new Map(targets.slice(0, TARGETS_MAX).map((target) => [target.host, target]));
    for (const [host, { life }] of this.#tunnels) {
      if (wanted.has(host)) continue;
      this.#options.logger.info("the SSH tunnel to a node that is gone is closed", { host });
      this.#tunnels.delete(host);
      life.abort();
    }
    for (const [host, target] of wanted) {
      const known = this.#tunnels.get(host);
      if (known === undefined) this.#add(target);
      else known.target = target;
    }
  }

  async dial(host: string, port: number): Promise<Duplex> {
    const { user, random } = this.#options;
    const open = this.#openTunnels();
    if (open.length === 0) {
      throw new Error(
        `No SSH tunnels currently open. Were the targets able to accept an ssh-key for user ${JSON.stringify(user)}?`,
      );
    }
    const own = open.find(({ target }) => target.host === host || target.addresses.includes(host));
    const { connection } = own ?? open[random.integer(open.length)]!;
    return await connection!.dial(host, port);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const tunnels = [...this.#tunnels.values()];
    this.#tunnels.clear();
    for (const { life } of tunnels) life.abort();
    await Promise.all(tunnels.map(({ done }) => done));
  }

  #openTunnels(): Tunnel[] {
    return [...this.#tunnels.values()].filter(({ connection }) => connection !== undefined);
  }

  #add(target: TunnelTarget): void {
    const life = new AbortController();
    const start = Promise.resolve();
    const done = start.then(() => this.#keepOpen(tunnel));
    const tunnel: Tunnel = { life, target, connection: undefined, done };
    this.#tunnels.set(target.host, tunnel);
  }

  /** Lives until the tunnel's signal aborts. */
  async #keepOpen(tunnel: Tunnel): Promise<void> {
    const { clock, random, logger } = this.#options;
    const { signal } = tunnel.life;
    const { host } = tunnel.target;
    const backoff = new Backoff({ ...REDIAL, random });
    while (!signal.aborted) {
      try {
        const connection = await this.#open(host, signal);
        const openedMs = clock.elapsedMs();
        tunnel.connection = connection;
        logger.info("an SSH tunnel is open", { host });
        const why = await this.#untilBroken(tunnel, connection);
        tunnel.connection = undefined;
        connection.close();
        if (signal.aborted) return;
        logger.warn("an SSH tunnel has ended", { host, error: why });
        if (clock.elapsedMs() - openedMs >= REDIAL.capMs) {
          backoff.reset();
          continue;
        }
      } catch (error) {
        if (signal.aborted) return;
        logger.warn("an SSH tunnel could not be opened", { host, error: messageOf(error) });
      }
      await clock.sleep(backoff.nextMs(), signal).catch(() => undefined);
    }
  }

  async #open(host: string, signal: AbortSignal): Promise<SshConnection> {
    const { user, open, port = SSH_PORT, attempted, privateKey } = this.#options;
    try {
      const opened = await open({ host, port, user, privateKey: privateKey() }, signal);
      attempted?.(true);
      return opened;
    } catch (error) {
      attempted?.(false);
      throw error;
    }
  }

  /** Answers why the tunnel cannot be used any more. */
  async #untilBroken(tunnel: Tunnel, connection: SshConnection): Promise<string> {
    const { clock, check } = this.#options;
    const over = new AbortController();
    const close = (): void => connection.close();
    onAbort(tunnel.life.signal, close);
    const ended = connection.ended.then((error) => error?.message ?? "closed by the node");
    void ended.then(() => over.abort());
    const checks = async (): Promise<string> => {
      for (;;) {
        await clock.sleep(HEALTH_CHECK_EVERY_MS, over.signal);
        const late = new AbortController();
        const timeout = clock.schedule(HEALTH_CHECK_TIMEOUT_MS, () =>
          late.abort(new Error("the kubelet did not answer in time")),
        );
        try {
          await check(tunnel.target, connection, late.signal);
        } catch (error) {
          return `health check failed: ${messageOf(error)}`;
        } finally {
          timeout.cancel();
        }
      }
    };
    try {
      return await Promise.race([ended, checks().catch(() => ended)]);
    } finally {
      over.abort();
      tunnel.life.signal.removeEventListener("abort", close);
    }
  }
}
