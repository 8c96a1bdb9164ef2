/** batch/v1 Job: pods that run until as many as needed have succeeded. */

import { ageColumn, humanDuration, nameColumn } from "#api/columns.ts";
import { keep } from "#api/draft.ts";
import type { Job, JobSpec } from "#api/generated/batch.v1.ts";
import { type Draft, defineKind } from "#api/kind.ts";
import { containerColumns, selectorColumn } from "#api/kinds/core/v1/container-columns.ts";
import { defaultPodTemplate } from "#api/kinds/core/v1/pod/defaults.ts";
import { dropDisabledTemplateFields } from "#api/kinds/core/v1/pod/drop-disabled.ts";
import { countChange, podNameWarnings, specsDiffer } from "#api/kinds/core/v1/workload/workload.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { nameIsDnsSubdomain } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { validateJobCreate, validateJobUpdate } from "./job-rules.ts";
import { conditionIsTrue, validateJobStatusUpdate } from "./job-status.ts";
import { jobSpecWarnings, warnAboutPods } from "./job-warnings.ts";

const SPEC = Path.of("spec");
const INT32_MAX = 2 ** 31 - 1;
const NAME_LABELS = ["job-name", "batch.kubernetes.io/job-name"];
const UID_LABELS = ["controller-uid", "batch.kubernetes.io/controller-uid"];

export const jobKind = defineKind<Job>({
  group: "batch",
  version: "v1",
  names: { kind: "Job", plural: "jobs", categories: ["all"] },
  scope: "Namespaced",
  schema: builtInSchema("batch.v1.Job"),
  deletion: { garbageCollection: "orphan", warnings: warnAboutPods },
  unsupportedFieldText: (field) => `field label ${goQuote(field)} not supported for Job`,
  nameRule: nameIsDnsSubdomain,
  unconditionalUpdate: true,
  defaults: (job) => {
    defaultJobSpec(job.spec);
    defaultLabels(job);
  },
  prepareCreate: (draft, context) => {
    if (!draft.spec.manualSelector) generateSelector(draft);
    draft.status = {};
    draft.metadata.generation = 1;
    dropDisabledTemplateFields(draft.spec.template, context);
  },
  validate: validateJobCreate,
  prepareUpdate: (draft, old, context) => {
    draft.status = keep(old.status);
    dropDisabledTemplateFields(draft.spec.template, context, old.spec.template);
    countChange(draft, old, specsDiffer(draft.spec, old.spec));
  },
  validateUpdate: validateJobUpdate,
  canonicalize: defaultLabels,
  warnings: (job, old) => {
    if (old !== undefined && job.metadata.generation === old.metadata.generation) return [];
    const warnings = jobSpecWarnings(job.spec, SPEC);
    return old === undefined ? [...podNameWarnings(job), ...warnings] : warnings;
  },
  subresources: {
    status: {
      prepareUpdate: (draft, old) => {
        draft.spec = keep(old.spec);
      },
      validateUpdate: validateJobStatusUpdate,
    },
  },
  columns: [
    nameColumn,
    { name: "Status", type: "string", description: "Status of the job.", cell: statusCell },
    {
      name: "Completions",
      type: "string",
      describedBy: "batch.v1.JobStatus.succeeded",
      cell: completionsCell,
    },
    {
      name: "Duration",
      type: "string",
      description: "Time required to complete the job.",
      cell: ({ status: { startTime, completionTime } }, nowMs) => {
        if (startTime === undefined) return "";
        const endMs = completionTime === undefined ? nowMs : Date.parse(completionTime);
        return humanDuration(endMs - Date.parse(startTime));
      },
    },
    ageColumn,
    ...containerColumns<Job>(({ spec }) => spec.template),
    selectorColumn("batch.v1.JobSpec.selector", ({ spec }) => spec.selector),
  ],
  selectableFields: ({ status }) => ({ "status.successful": String(status.succeeded ?? 0) }),
});

/** Of a Job; a CronJob's template for Jobs stays as it is until one is made. */
function defaultJobSpec(spec: Draft<JobSpec>): void {
  if (spec.completions === undefined && spec.parallelism === undefined) spec.completions = 1;
  spec.parallelism ??= 1;
  spec.backoffLimit ??= spec.backoffLimitPerIndex === undefined ? 6 : INT32_MAX;
  spec.completionMode ??= "NonIndexed";
  spec.suspend ??= false;
  spec.podReplacementPolicy ??=
    spec.podFailurePolicy === undefined ? "TerminatingOrFailed" : "Failed";
  spec.manualSelector ??= false;
  defaultJobTemplateParts(spec);
}

/** What is filled in for Jobs and for templates of Jobs alike. */
export function defaultJobTemplateParts(spec: Draft<JobSpec>): void {
  defaultPodTemplate(spec.template);
  for (const { onPodConditions } of spec.podFailurePolicy?.rules ?? []) {
    for (const pattern of onPodConditions ?? []) pattern.status ||= "True";
  }
}

/** A Job without labels shares those of its template, and so gets the ones that are added there. */
function defaultLabels({ metadata, spec }: Draft<Job>): void {
  const { labels } = spec.template.metadata;
  if (labels === undefined || Object.keys(metadata.labels ?? {}).length > 0) return;
  metadata.labels = labels;
}

/** Labels that only this Job's pods have, and a selector for one of them. */
function generateSelector({ metadata, spec }: Draft<Job>): void {
  const labels: Record<string, string> = { ...spec.template.metadata.labels };
  for (const key of NAME_LABELS) labels[key] ??= metadata.name ?? "";
  for (const key of UID_LABELS) labels[key] ??= metadata.uid ?? "";
  const isShared =
    metadata.labels !== undefined && metadata.labels === spec.template.metadata.labels;
  spec.template.metadata.labels = inOrder(labels);
  if (isShared) metadata.labels = spec.template.metadata.labels;
  spec.selector ??= {};
  const own = { [UID_LABELS[1]!]: metadata.uid ?? "" };
  spec.selector.matchLabels = inOrder({ ...own, ...spec.selector.matchLabels });
}

/** Maps are kept in the order of their keys, since messages show them so. */
function inOrder(labels: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function statusCell({ metadata, status: { conditions } }: Job): string {
  if (conditionIsTrue(conditions, "Complete")) return "Complete";
  if (conditionIsTrue(conditions, "Failed")) return "Failed";
  if (metadata.deletionTimestamp !== undefined) return "Terminating";
  const running = ["Suspended", "FailureTarget", "SuccessCriteriaMet"];
  return running.find((type) => conditionIsTrue(conditions, type)) ?? "Running";
}

function completionsCell({ spec, status: { succeeded = 0 } }: Job): string {
  const { completions, parallelism = 0 } = spec;
  if (completions !== undefined) return `${succeeded}/${completions}`;
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}
