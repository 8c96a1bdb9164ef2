/**
 * Where a pod serves its metrics, by the usual annotations: `prometheus.io/scrape: "true"`,
 * `prometheus.io/port`, `prometheus.io/path` (`/metrics`). Only the pod's own address is ever used: what is
 * in annotations cannot lead anywhere else. Pure.
 */
import type { Pod } from "#api/generated/core.v1.ts";

export interface ScrapeTarget {
  readonly host: string;
  readonly port: number;
  readonly path: string;
}

/** Undefined: the pod offers no metrics, or does not run. */
export function scrapeTarget({ metadata, spec, status }: Pod): ScrapeTarget | undefined {
  const annotations = metadata.annotations ?? {};
  if (annotations["prometheus.io/scrape"] !== "true") return undefined;
  if (status?.phase !== "Running" || metadata.deletionTimestamp !== undefined) return undefined;
  const host = status.podIP ?? "";
  const first = (spec.containers ?? []).flatMap(({ ports }) => ports ?? [])[0]?.containerPort;
  const port = Number(annotations["prometheus.io/port"] ?? first ?? 0);
  const path = annotations["prometheus.io/path"] ?? "/metrics";
  if (host === "" || !Number.isInteger(port) || port < 1 || port > 65_535) return undefined;
  return PATH.test(path) ? { host, port, path } : undefined;
}

const PATH = /^\/[\x21-\x7e]*$/;
