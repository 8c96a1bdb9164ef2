/** The decisions of a running cluster, for `k8ts why`: in words or as JSON. */
import type { DecisionRecord, WriteRecord } from "#runtime/decision-record.ts";
import type { Runtime } from "#runtime/run.ts";
import type { DecisionRecords } from "#scheduler/explain/decision-records.ts";
import { explainPod } from "#scheduler/explain/explain-pod.ts";

/** Those that decide, while they run. They announce themselves when they start. */
export interface Deciders {
  scheduler: DecisionRecords | undefined;
  controllers: Runtime | undefined;
}

const RECORDS_MAX = 20;

/** `/why/RESOURCE/NAMESPACE/NAME` in words, with `.json` as data; undefined for other paths. */
export function whyPage(deciders: Deciders, path: string): string | undefined {
  const match = /^\/why\/([^/]+)\/([^/]*)\/([^/]+?)(\.json)?$/.exec(path);
  if (match === null) return undefined;
  const [, resource = "", namespace = "", name = "", isJson] = match;
  const attempts = resource === "pod" ? deciders.scheduler?.of(namespace, name) : undefined;
  const records = controllerRecords(deciders.controllers, resource, namespace, name);
  if (isJson !== undefined) {
    const decisions = records.map(plainRecord);
    return `${JSON.stringify({ resource, namespace, name, scheduler: attempts, decisions }, undefined, 2)}\n`;
  }
  const parts: string[] = [];
  if (attempts !== undefined) parts.push(explainPod(attempts));
  else if (resource === "pod") {
    parts.push(`No attempt to schedule pod ${namespace}/${name} is known.\n`);
  }
  if (records.length > 0) parts.push(["Controllers:", ...records.map(inWords)].join("\n"), "\n");
  else if (resource !== "pod") {
    parts.push(`No decision about ${resource} ${key(namespace, name)} is known.\n`);
  }
  return parts.join(parts.length > 2 ? "\n" : "");
}

/** A controller's keys name objects of its own kind, which its name begins with. */
function controllerRecords(
  runtime: Runtime | undefined,
  resource: string,
  namespace: string,
  name: string,
): readonly DecisionRecord[] {
  const records = runtime?.decisions.about({ name }) ?? [];
  return records
    .filter((record) => (record.key.namespace ?? "") === namespace)
    .filter(({ controller }) => resource === "pod" || isAbout(controller, resource))
    .slice(-RECORDS_MAX);
}

function isAbout(controller: string, resource: string): boolean {
  return controller.replaceAll("-", "").startsWith(resource.toLowerCase().replaceAll("-", ""));
}

function inWords(record: DecisionRecord): string {
  const { atMs, controller, because, observed, writes, intended, done, refused, error } = record;
  const what =
    error === undefined
      ? `${done} write(s)${done < intended ? ` of ${intended}` : ""}`
      : `failed: ${error}`;
  const more = intended > writes.length ? ", …" : "";
  const which = writes.length === 0 ? "" : ` (${writes.map(writeInWords).join(", ")}${more})`;
  const rule = because === undefined ? "" : `, because ${because}`;
  const refusal = refused === undefined ? "" : `, refused: ${refused.why}`;
  const basis = observed.map(
    ({ kind, namespace, name, resourceVersion }) =>
      `${kind} ${key(namespace, name)}@${resourceVersion}`,
  );
  const saw = basis.length === 0 ? "" : `; saw ${basis.join(", ")}`;
  return `  ${new Date(atMs).toISOString()} ${controller}: ${what}${which}${rule}${refusal}${saw}`;
}

function writeInWords({ op, resource, namespace, name }: WriteRecord): string {
  return `${op} ${resource} ${key(namespace, name)}`;
}

function plainRecord({ atMs, key: _, ...record }: DecisionRecord): object {
  return { at: new Date(atMs).toISOString(), ...record };
}

function key(namespace: string, name: string): string {
  return namespace === "" ? name : `${namespace}/${name}`;
}
