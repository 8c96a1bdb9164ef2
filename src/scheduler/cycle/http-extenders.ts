/** Asks extenders over HTTP for their verdicts and scores, and lets one of them bind. */
import { readFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Node, Pod } from "#api/generated/core.v1.ts";
import type { ExtenderConfig } from "#scheduler/config/extender-config.ts";
import { type Rejected, rejected, unresolvable } from "#scheduler/plugin.ts";
import type { NodeInfo } from "#scheduler/snapshot/node-info.ts";
import type { PodInfo } from "#scheduler/snapshot/pod-info.ts";
import type { ExtenderBinder } from "./binding-cycle.ts";
import type { Extenders } from "./decide-node.ts";
import { reviewPreemption } from "./extender-preemption.ts";
import type { FoundNodes } from "./find-nodes.ts";
import type { ScoredNodes } from "./score-nodes.ts";

const ANSWER_BYTES_MAX = 64 * 1024 * 1024;
/** Extenders score to 10, plugins to 100. */
const SCORE_FACTOR = 10;
const NAME = "Extender";

interface FilterResult {
  readonly nodes?: { readonly items?: readonly Node[] };
  readonly nodenames?: readonly string[];
  readonly failedNodes?: Readonly<Record<string, string>>;
  readonly failedAndUnresolvableNodes?: Readonly<Record<string, string>>;
  readonly error?: string;
}

/** Reads the certificates that the extenders name; one that cannot be read is an error. */
export function httpExtenders(given: readonly ExtenderConfig[]): Extenders & ExtenderBinder {
  const configs = given.map(withCertificates);
  const interested = (pod: PodInfo): readonly ExtenderConfig[] =>
    configs.filter((config) => isInterested(config, pod));
  return {
    hasFilters: configs.some(({ filterVerb }) => filterVerb !== ""),
    hasScores: configs.some(({ prioritizeVerb }) => prioritizeVerb !== ""),
    review: configs.every(({ preemptVerb }) => preemptVerb === "")
      ? undefined
      : (snapshot) => (pod, candidates) =>
          reviewPreemption(interested(pod), pod, candidates, snapshot, send),
    filter: async (pod, found) => {
      for (const config of interested(pod)) {
        if (config.filterVerb === "" || found.feasible.length === 0) continue;
        try {
          found = await filterBy(config, pod, found);
        } catch (error) {
          if (!config.ignorable) throw error;
        }
      }
      return found;
    },
    score: async (pod, scored) => {
      const asked = interested(pod).filter(({ prioritizeVerb }) => prioritizeVerb !== "");
      await Promise.all(asked.map((config) => addScores(config, pod, scored)));
      return scored;
    },
    bind: async (pod, node, signal) => {
      const binder = interested(pod).find(({ bindVerb }) => bindVerb !== "");
      if (binder === undefined) return false;
      const { name, namespace, uid } = pod;
      const args = { podName: name, podNamespace: namespace, podUID: uid, node: node.name };
      try {
        const { error = "" } = (await send(binder, binder.bindVerb, args, signal)) as FilterResult;
        if (error !== "") throw new Error(error);
        return true;
      } catch (error) {
        if (binder.ignorable) return false;
        throw error;
      }
    },
  };
}

function withCertificates(config: ExtenderConfig): ExtenderConfig {
  const { tls } = config;
  const read = (data: string | undefined, file: string): string | undefined =>
    data === undefined && file !== "" ? readFileSync(file, "utf8") : data;
  const ca = read(tls.ca, tls.caFile);
  const cert = read(tls.cert, tls.certFile);
  return { ...config, tls: { ...tls, ca, cert, key: read(tls.key, tls.keyFile) } };
}

function isInterested({ managedResources }: ExtenderConfig, { pod }: PodInfo): boolean {
  if (managedResources.length === 0) return true;
  return [...(pod.spec.containers ?? []), ...(pod.spec.initContainers ?? [])].some(
    ({ resources }) =>
      managedResources.some(
        (name) =>
          resources?.requests?.[name] !== undefined || resources?.limits?.[name] !== undefined,
      ),
  );
}

async function filterBy(
  config: ExtenderConfig,
  pod: PodInfo,
  found: FoundNodes,
): Promise<FoundNodes> {
  const result = (await send(
    config,
    config.filterVerb,
    argsOf(config, pod.pod, found.feasible),
  )) as FilterResult;
  if (result.error !== undefined && result.error !== "") throw new Error(result.error);
  const names =
    result.nodenames ?? (result.nodes?.items ?? []).map(({ metadata }) => metadata.name ?? "");
  const byName = new Map(found.feasible.map((node) => [node.name, node]));
  const feasible = names.map((name) => {
    const node = byName.get(name);
    if (node !== undefined) return node;
    throw new Error(
      `extender "${config.urlPrefix}" claims a filtered node "${name}" which is not found in the input node list`,
    );
  });
  const verdicts = new Map(found.verdicts);
  const refuse = (
    reasons: Readonly<Record<string, string>> = {},
    verdict: (text: string) => Rejected,
  ): void => {
    for (const [name, text] of Object.entries(reasons)) {
      const node = byName.get(name);
      if (node !== undefined) verdicts.set(node, verdict(text));
    }
  };
  refuse(result.failedNodes, rejected);
  refuse(result.failedAndUnresolvableNodes, unresolvable);
  const refused = found.feasible.length - feasible.length;
  const rejections = new Map(found.rejections);
  if (refused > 0) rejections.set(NAME, (rejections.get(NAME) ?? 0) + refused);
  return { ...found, feasible, verdicts, rejections };
}

/** An extender that fails gives no scores. */
async function addScores(
  config: ExtenderConfig,
  pod: PodInfo,
  { nodes, totals }: ScoredNodes,
): Promise<void> {
  try {
    const list = (await send(
      config,
      config.prioritizeVerb,
      argsOf(config, pod.pod, nodes),
    )) as readonly {
      readonly host: string;
      readonly score: number;
    }[];
    const scores = new Map(list.map(({ host, score }) => [host, score]));
    for (const [index, { name }] of nodes.entries()) {
      totals[index]! += (scores.get(name) ?? 0) * config.weight * SCORE_FACTOR;
    }
  } catch {
    return;
  }
}

function argsOf(
  { nodeCacheCapable }: ExtenderConfig,
  pod: Pod,
  nodes: readonly NodeInfo[],
): unknown {
  return nodeCacheCapable
    ? { pod, nodenames: nodes.map(({ name }) => name) }
    : { pod, nodes: { kind: "NodeList", apiVersion: "v1", items: nodes.map(({ node }) => node) } };
}

function send(
  config: ExtenderConfig,
  verb: string,
  body: unknown,
  signal?: AbortSignal,
): Promise<unknown> {
  const url = `${config.urlPrefix.replace(/\/+$/, "")}/${verb}`;
  const { tls, httpTimeoutMs } = config;
  const secure = {
    rejectUnauthorized: !tls.insecure,
    ...(tls.ca === undefined ? {} : { ca: tls.ca }),
    ...(tls.cert === undefined ? {} : { cert: tls.cert }),
    ...(tls.key === undefined ? {} : { key: tls.key }),
    ...(tls.serverName === "" ? {} : { servername: tls.serverName }),
  };
  const options = {
    method: "POST",
    headers: { "content-type": "application/json" },
    timeout: httpTimeoutMs,
    ...(signal === undefined ? {} : { signal }),
  };
  return new Promise((resolve, reject) => {
    const isSecure = url.startsWith("https:");
    const asked = isSecure
      ? httpsRequest(url, { ...options, ...secure })
      : httpRequest(url, options);
    asked.on("timeout", () => asked.destroy(new Error(`extender at ${url} does not answer`)));
    asked.on("error", reject);
    asked.on("response", (answer) => {
      const parts: Buffer[] = [];
      let bytes = 0;
      answer.on("data", (part: Buffer) => {
        bytes += part.length;
        if (bytes > ANSWER_BYTES_MAX) asked.destroy(new Error(`the answer of ${url} is too large`));
        else parts.push(part);
      });
      answer.on("error", reject);
      answer.on("end", () => {
        if (answer.statusCode !== 200) {
          reject(
            new Error(`failed ${verb} with extender at URL ${url}, code ${answer.statusCode}`),
          );
          return;
        }
        try {
          resolve(JSON.parse(Buffer.concat(parts).toString("utf8")));
        } catch (error) {
          reject(error);
        }
      });
    });
    asked.end(JSON.stringify(body));
  });
}
