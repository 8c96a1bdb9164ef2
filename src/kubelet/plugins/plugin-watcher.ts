/**
 * Registration of plug-ins: a plug-in places a socket into the folder `plugins_registry`; the kubelet
 * asks it for its type, name and endpoint, hands these to the handler of the type, and notifies
 * the plug-in of the outcome.
 *
 * Promises:
 * 1. Sockets that were there before the kubelet are registered too. One that is replaced is
 *    registered again, one that is removed is deregistered.
 * 2. A registration that fails is tried again with a growing pause while its socket is there.
 * 3. At most SOCKETS_MAX sockets are looked at.
 */
import { watch } from "node:fs";
import { mkdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { listFolder } from "#host/files.ts";
import { onAbort } from "#lib/async/aborted.ts";
import { Backoff } from "#lib/async/backoff.ts";
import { messageOf } from "#lib/caught.ts";
import { GrpcClient } from "#lib/grpc/grpc-client.ts";
import type { Logger } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import type { Clock, Timer } from "#lib/time/clock.ts";
import { registrationMethods } from "./registration-messages.ts";

export interface RegisteredPlugin {
  readonly name: string;
  /** The socket of the plug-in's service. */
  readonly endpoint: string;
  readonly versions: readonly string[];
}

/** Throws with the reason if a plug-in cannot be used. */
export interface PluginHandler {
  register(plugin: RegisteredPlugin): Promise<void>;
  deregister(plugin: RegisteredPlugin): Promise<void>;
}

export interface PluginWatcherOptions {
  readonly folder: string;
  /** By type: `CSIPlugin`, `DRAPlugin`. */
  readonly handlers: Readonly<Record<string, PluginHandler>>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

const SOCKETS_MAX = 1_000;
const CALL_TIMEOUT_MS = 10_000;
const RETRY_MS_MIN = 500;
const RETRY_MS_MAX = 122_000;

interface Socket {
  /** Differs between two sockets that had the same name. */
  readonly identity: string;
  readonly backoff: Backoff;
  retryAtMs: number;
  registered: { readonly type: string; readonly plugin: RegisteredPlugin } | undefined;
}

export class PluginWatcher {
  readonly #options: PluginWatcherOptions;
  readonly #sockets = new Map<string, Socket>();
  #pass: Promise<void> | undefined;
  #isDirty = false;
  #timer: Timer | undefined;
  #isEnded = false;

  constructor(options: PluginWatcherOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { folder, logger } = this.#options;
    await mkdir(folder, { recursive: true, mode: 0o750 });
    const watcher = watch(folder, () => this.#wake());
    watcher.on("error", (error) => logger.warn("plug-ins are not followed", { error }));
    onAbort(signal, () => {
      this.#isEnded = true;
      watcher.close();
      this.#timer?.cancel();
    });
    this.#wake();
  }

  #wake(): void {
    this.#isDirty = true;
    if (this.#isEnded) return;
    this.#pass ??= this.#reconcile().finally(() => {
      this.#pass = undefined;
      if (this.#isDirty) this.#wake();
    });
  }

  async #reconcile(): Promise<void> {
    this.#isDirty = false;
    this.#timer?.cancel();
    const present = await this.#present();
    for (const [path, socket] of this.#sockets) {
      if (present.get(path) === socket.identity) continue;
      this.#sockets.delete(path);
      await this.#deregister(path, socket);
    }
    for (const [path, identity] of present) {
      if (this.#sockets.has(path)) continue;
      const { random } = this.#options;
      const backoff = new Backoff({ baseMs: RETRY_MS_MIN, capMs: RETRY_MS_MAX, random });
      this.#sockets.set(path, { identity, backoff, retryAtMs: 0, registered: undefined });
    }
    const { clock } = this.#options;
    const due = [...this.#sockets].filter(
      ([, { registered, retryAtMs }]) => registered === undefined && retryAtMs <= clock.elapsedMs(),
    );
    await Promise.all(due.map(([path, socket]) => this.#register(path, socket)));
    this.#scheduleRetry();
  }

  #scheduleRetry(): void {
    const waiting = [...this.#sockets.values()].filter((one) => one.registered === undefined);
    if (waiting.length === 0 || this.#isEnded) return;
    const { clock } = this.#options;
    const atMs = Math.min(...waiting.map(({ retryAtMs }) => retryAtMs));
    this.#timer = clock.schedule(Math.max(0, atMs - clock.elapsedMs()), () => this.#wake());
  }

  async #present(): Promise<ReadonlyMap<string, string>> {
    const { folder } = this.#options;
    const present = new Map<string, string>();
    for (const name of (await listFolder(folder)).slice(0, SOCKETS_MAX)) {
      if (name.startsWith(".")) continue;
      const path = join(folder, name);
      const found = await stat(path).catch(() => undefined);
      if (found?.isSocket()) present.set(path, `${found.ino}/${found.birthtimeMs}`);
    }
    return present;
  }

  async #register(path: string, socket: Socket): Promise<void> {
    const { clock, logger } = this.#options;
    using client = new GrpcClient(path);
    try {
      const timeoutMs = CALL_TIMEOUT_MS;
      const info = await client.call(registrationMethods.getInfo, {}, { timeoutMs });
      const error = await this.#handle(path, socket, info).then(() => "", messageOf);
      const status = { pluginRegistered: error === "", error };
      await client.call(registrationMethods.notifyRegistrationStatus, status, { timeoutMs });
      if (error !== "") throw new Error(error);
      logger.info("a plug-in is registered", { type: info.type, name: info.name });
    } catch (error) {
      if (this.#isEnded) return;
      await this.#deregister(path, socket);
      socket.retryAtMs = clock.elapsedMs() + socket.backoff.nextMs();
      logger.warn("a plug-in is not registered", { socket: path, why: messageOf(error) });
    }
  }

  async #handle(
    path: string,
    socket: Socket,
    info: { type: string; name: string; endpoint: string; supportedVersions: readonly string[] },
  ): Promise<void> {
    const { type, name, endpoint, supportedVersions: versions } = info;
    const handler = this.#options.handlers[type];
    if (handler === undefined) {
      throw new Error(`no handler registered for plugin type: ${type} at socket ${path}`);
    }
    const plugin = { name, endpoint: endpoint === "" ? path : endpoint, versions };
    await handler.register(plugin);
    socket.registered = { type, plugin };
  }

  async #deregister(path: string, socket: Socket): Promise<void> {
    const { registered } = socket;
    if (registered === undefined) return;
    socket.registered = undefined;
    const { handlers, logger } = this.#options;
    try {
      await handlers[registered.type]?.deregister(registered.plugin);
    } catch (error) {
      logger.warn("a plug-in is not deregistered", { socket: path, why: messageOf(error) });
    }
  }
}
