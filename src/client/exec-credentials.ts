/**
 * Credentials that a program hands out, as `users[].user.exec` of a kubeconfig names it. It is asked
 * when they are needed first, when they have expired, and after the server refused them.
 */
import { execFile } from "node:child_process";
import { isAbsolute, resolve } from "node:path";
import { timeToMs } from "#api/meta/time.ts";
import { codeOf, messageOf } from "#lib/caught.ts";
import type { Clock } from "#lib/time/clock.ts";

const VERSIONS = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"];
const OUTPUT_BYTES_MAX = 1 << 20;

export interface Credentials {
  readonly token?: string;
  readonly certificate?: { readonly certPem: string; readonly keyPem: string };
}

export interface ExecSpec {
  readonly apiVersion?: string;
  readonly command?: string;
  readonly args?: readonly string[] | null;
  readonly env?: readonly { readonly name: string; readonly value: string }[] | null;
  readonly installHint?: string;
  readonly provideClusterInfo?: boolean;
  readonly interactiveMode?: string;
}

export class ExecError extends Error {
  override readonly name = "ExecError";
}

export interface ExecOptions {
  /** Programs with a path of their own are looked up from here. */
  readonly folder: string;
  /** The cluster in KUBERNETES_EXEC_INFO, if `provideClusterInfo` is set. */
  readonly cluster: Readonly<Record<string, unknown>>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
}

export class ExecCredentials {
  readonly #spec: ExecSpec;
  readonly #options: ExecOptions;
  #current: { readonly credentials: Promise<Credentials>; endMs: number } | undefined;

  /** Throws ExecError if the program can never do. */
  constructor(spec: ExecSpec, options: ExecOptions) {
    if (!VERSIONS.includes(spec.apiVersion ?? "")) {
      throw new ExecError(`exec plugin: invalid apiVersion "${spec.apiVersion ?? ""}"`);
    }
    if (spec.interactiveMode === "Always") {
      const why = "standard input is not a terminal";
      throw new ExecError(`exec plugin cannot support interactive mode: ${why}`);
    }
    this.#spec = spec;
    this.#options = options;
  }

  get(): Promise<Credentials> {
    const { clock } = this.#options;
    if (this.#current !== undefined && clock.nowMs() < this.#current.endMs)
      return this.#current.credentials;
    const asked = this.#ask();
    const current = {
      credentials: asked.then(({ credentials }) => credentials),
      endMs: Number.POSITIVE_INFINITY,
    };
    this.#current = current;
    asked.then(
      ({ endMs }) => {
        current.endMs = endMs;
      },
      () => this.forget(), // the next one tries again
    );
    return current.credentials;
  }

  /** The server does not take them any more. */
  forget(): void {
    this.#current = undefined;
  }

  async #ask(): Promise<{ readonly credentials: Credentials; readonly endMs: number }> {
    const { apiVersion, provideClusterInfo } = this.#spec;
    const { cluster } = this.#options;
    const spec = { interactive: false, ...(provideClusterInfo === true ? { cluster } : {}) };
    const output = await this.#run(JSON.stringify({ kind: "ExecCredential", apiVersion, spec }));
    let answer: ExecCredential;
    try {
      answer = JSON.parse(output) as ExecCredential;
    } catch (error) {
      throw new ExecError(`decoding stdout: ${messageOf(error)}`);
    }
    if (answer.apiVersion !== apiVersion) {
      throw new ExecError(
        `exec plugin is configured to use API version ${apiVersion}, plugin returned version ${answer.apiVersion}`,
      );
    }
    const { status } = answer;
    if (!status) throw new ExecError("exec plugin didn't return a status field");
    return { credentials: credentialsIn(status), endMs: endOf(status) };
  }

  #run(info: string): Promise<string> {
    const { command = "", args, env, installHint = "" } = this.#spec;
    const { folder, environment } = this.#options;
    const isPath = command.includes("/") && !isAbsolute(command);
    const own = Object.fromEntries((env ?? []).map(({ name, value }) => [name, value]));
    const options = {
      env: { ...environment, ...own, KUBERNETES_EXEC_INFO: info },
      maxBuffer: OUTPUT_BYTES_MAX,
    };
    return new Promise((resolved, reject) => {
      execFile(
        isPath ? resolve(folder, command) : command,
        args ?? [],
        options,
        (error, stdout) => {
          if (error === null) return resolved(stdout);
          const isMissing = codeOf(error) === "ENOENT";
          const hint = isMissing && installHint !== "" ? `\n\n${installHint}` : "";
          const why = isMissing
            ? `executable ${command} not found`
            : `executable ${command} failed: ${error.message.trim()}`;
          reject(new ExecError(`getting credentials: exec: ${why}${hint}`));
        },
      );
    });
  }
}

interface ExecCredential {
  readonly apiVersion?: string;
  readonly status?: {
    readonly token?: string;
    readonly clientCertificateData?: string;
    readonly clientKeyData?: string;
    readonly expirationTimestamp?: string;
  };
}

type Status = NonNullable<ExecCredential["status"]>;

function credentialsIn({ token = "", ...status }: Status): Credentials {
  const { clientCertificateData: certPem = "", clientKeyData: keyPem = "" } = status;
  if (token === "" && certPem === "" && keyPem === "") {
    throw new ExecError("exec plugin didn't return a token or cert/key pair");
  }
  if ((certPem === "") !== (keyPem === "")) {
    throw new ExecError("exec plugin returned only certificate or key, not both");
  }
  return {
    ...(token === "" ? {} : { token }),
    ...(certPem === "" ? {} : { certificate: { certPem, keyPem } }),
  };
}

function endOf({ expirationTimestamp }: Status): number {
  return expirationTimestamp === undefined
    ? Number.POSITIVE_INFINITY
    : timeToMs(expirationTimestamp);
}
