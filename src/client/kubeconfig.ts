/**
 * Where the API server is and how to prove who we are: from a kubeconfig file, or from the service
 * account that is mounted into every pod. Files are read when they are needed; tokens from files are
 * read again, because they rotate.
 */
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { load } from "js-yaml";
import { messageOf } from "#lib/caught.ts";
import type { Clock } from "#lib/time/clock.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { ExecCredentials, ExecError } from "./exec-credentials.ts";
import { FileCertificate } from "./file-certificate.ts";

export interface Connection {
  /** `https://127.0.0.1:6443` */
  readonly server: string;
  readonly ca?: string;
  readonly insecure?: boolean;
  readonly serverName?: string;
  readonly clientCertificate?: string;
  readonly clientKey?: string;
  /** Asked before each request. */
  token?(): string | undefined | Promise<string>;
  readonly username?: string;
  readonly password?: string;
  /** From a program, or a certificate that may be renewed; asked before each request. */
  readonly credentials?: Pick<ExecCredentials, "get" | "forget">;
}

export interface KubeconfigOptions {
  /** Instead of the current one. */
  readonly context?: string;
  /** By which credentials expire. */
  readonly clock?: Clock;
}

interface Kubeconfig {
  readonly "current-context"?: string;
  readonly clusters?: readonly { readonly name: string; readonly cluster: Fields }[];
  readonly contexts?: readonly { readonly name: string; readonly context: Fields }[];
  readonly users?: readonly { readonly name: string; readonly user: Fields }[];
}

type Fields = Readonly<Record<string, unknown>>;

export class KubeconfigError extends Error {
  override readonly name = "KubeconfigError";
}

export function connectionFromFile(path: string, options: KubeconfigOptions = {}): Connection {
  const read = (): Connection => connectionFrom(readConfig(path), dirname(path), options);
  const connection = read();
  if (connection.clientCertificate === undefined || connection.credentials) return connection;
  const { clock = systemClock } = options;
  return {
    ...connection,
    credentials: new FileCertificate({ clock, read: () => certificateOf(read()) }),
  };
}

/** One user of a kubeconfig file. */
export interface UserCredentials {
  readonly clientCertificate?: string;
  readonly clientKey?: string;
  readonly username?: string;
  readonly password?: string;
  token(): string | undefined;
}

/** All users of a file by their names, and that of the current context, if there is one. */
export function usersFromFile(path: string): {
  readonly users: ReadonlyMap<string, UserCredentials>;
  readonly current: string | undefined;
} {
  const config = readConfig(path);
  const context = config.contexts?.find(({ name }) => name === config["current-context"])?.context;
  const users = (config.users ?? []).map(
    ({ name, user }) => [name, userCredentials(user, dirname(path))] as const,
  );
  return { users: new Map(users), current: context && textOf(context, "user") };
}

function userCredentials(user: Fields, folder: string): UserCredentials {
  const tokenFile = textOf(user, "tokenFile");
  const token = textOf(user, "token");
  return withoutUndefined({
    clientCertificate: dataOf(user, "client-certificate", folder),
    clientKey: dataOf(user, "client-key", folder),
    username: textOf(user, "username"),
    password: textOf(user, "password"),
    token:
      tokenFile === undefined
        ? () => token
        : () => readFileSync(resolve(folder, tokenFile), "utf8").trim(),
  });
}

function readConfig(path: string): Kubeconfig {
  try {
    return (load(readFileSync(path, "utf8")) ?? {}) as Kubeconfig;
  } catch (error) {
    throw new KubeconfigError(`cannot read kubeconfig ${path}: ${messageOf(error)}`);
  }
}

function certificateOf({ clientCertificate: certPem, clientKey: keyPem }: Connection) {
  return certPem === undefined || keyPem === undefined ? undefined : { certPem, keyPem };
}

function connectionFrom(
  config: Kubeconfig,
  folder: string,
  options: KubeconfigOptions,
): Connection {
  const wanted = options.context ?? config["current-context"];
  if (wanted === undefined || wanted === "") throw new KubeconfigError("no current-context is set");
  const context = config.contexts?.find(({ name }) => name === wanted)?.context;
  if (context === undefined) throw new KubeconfigError(`context "${wanted}" does not exist`);
  const cluster = config.clusters?.find(({ name }) => name === context.cluster)?.cluster;
  if (cluster === undefined)
    throw new KubeconfigError(`cluster "${context.cluster}" does not exist`);
  const user = config.users?.find(({ name }) => name === context.user)?.user ?? {};
  const server = textOf(cluster, "server");
  if (server === undefined) throw new KubeconfigError(`cluster "${context.cluster}" has no server`);

  const ca = dataOf(cluster, "certificate-authority", folder);
  return withoutUndefined<Connection>({
    ...userCredentials(user, folder),
    server: server.replace(/\/+$/, ""),
    ca,
    insecure: cluster["insecure-skip-tls-verify"] === true,
    serverName: textOf(cluster, "tls-server-name"),
    credentials: credentialsOf(user, cluster, ca, folder, options.clock ?? systemClock),
  });
}

function credentialsOf(
  { exec }: Fields,
  cluster: Fields,
  ca: string | undefined,
  folder: string,
  clock: Clock,
): ExecCredentials | undefined {
  if (typeof exec !== "object" || exec === null) return undefined;
  const clusterInfo = withoutUndefined<Fields>({
    server: (textOf(cluster, "server") ?? "").replace(/\/+$/, ""),
    "tls-server-name": textOf(cluster, "tls-server-name"),
    "insecure-skip-tls-verify": cluster["insecure-skip-tls-verify"] === true || undefined,
    "certificate-authority-data": ca && Buffer.from(ca).toString("base64"),
  });
  try {
    return new ExecCredentials(exec, {
      folder,
      cluster: clusterInfo,
      environment: process.env,
      clock,
    });
  } catch (error) {
    throw error instanceof ExecError ? new KubeconfigError(error.message) : error;
  }
}

const SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

/** Inside a pod; `folder` is where its service account is mounted. */
export function connectionInCluster(
  environment: Readonly<Record<string, string | undefined>>,
  folder = SERVICE_ACCOUNT,
): Connection {
  const host = environment.KUBERNETES_SERVICE_HOST;
  const port = environment.KUBERNETES_SERVICE_PORT;
  if (host === undefined || port === undefined) {
    throw new KubeconfigError("not in a cluster: KUBERNETES_SERVICE_HOST and _PORT are not set");
  }
  return {
    server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
    ca: readFileSync(`${folder}/ca.crt`, "utf8"),
    token: () => readFileSync(`${folder}/token`, "utf8").trim(),
  };
}

function textOf(fields: Fields, name: string): string | undefined {
  const value = fields[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Inline base64 data wins over a file. */
function dataOf(fields: Fields, name: string, folder: string): string | undefined {
  const data = textOf(fields, `${name}-data`);
  if (data !== undefined) return Buffer.from(data, "base64").toString("utf8");
  const file = textOf(fields, name);
  return file === undefined ? undefined : readFileSync(resolve(folder, file), "utf8");
}

function withoutUndefined<T extends object>(fields: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(fields).filter(([, v]) => v !== undefined)) as T;
}
