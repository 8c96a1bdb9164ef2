/** batch/v1 CronJob: Jobs at given times. */

import { ageColumn, ageOf, NONE, nameColumn } from "#api/columns.ts";
import { keep } from "#api/draft.ts";
import type { CronJob, CronJobSpec } from "#api/generated/batch.v1.ts";
import { type Draft, defineKind, type RuleContext } from "#api/kind.ts";
import { containerColumns, selectorColumn } from "#api/kinds/core/v1/container-columns.ts";
import { dropDisabledTemplateFields } from "#api/kinds/core/v1/pod/drop-disabled.ts";
import {
  type TemplateRules,
  templateRules,
} from "#api/kinds/core/v1/workload/pod-template-validation.ts";
import {
  countChange,
  podNameWarnings,
  specsDiffer,
  validateCounts,
} from "#api/kinds/core/v1/workload/workload.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { type FieldError, invalid, notSupported, required } from "#api/validation/field-error.ts";
import { validateFinalizers, validateKubeMetaUpdate } from "#api/validation/kube-meta.ts";
import { nameIsDnsSubdomain } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { defaultJobTemplateParts } from "./job.ts";
import { validateJobParts } from "./job-spec.ts";
import { jobSpecWarnings } from "./job-warnings.ts";
import { parseSchedule } from "./schedule.ts";
import { timeZoneFaults } from "./time-zone.ts";

const SPEC = Path.of("spec");
const JOB_SPEC = SPEC.child("jobTemplate", "spec");
const CONCURRENCY_POLICIES = ["Allow", "Forbid", "Replace"];
/** Names of Jobs get a tail of eleven characters. */
const NAME_MAX = 52;

export const cronJobKind = defineKind<CronJob>({
  group: "batch",
  version: "v1",
  names: { kind: "CronJob", plural: "cronjobs", short: ["cj"], categories: ["all"] },
  scope: "Namespaced",
  schema: builtInSchema("batch.v1.CronJob"),
  nameRule: nameIsDnsSubdomain,
  unconditionalUpdate: true,
  defaults,
  prepareCreate: (draft, context) => {
    draft.status = {};
    draft.metadata.generation = 1;
    dropDisabledTemplateFields(draft.spec.jobTemplate.spec.template, context);
  },
  validate: validateCreate,
  prepareUpdate: (draft, old, context) => {
    draft.status = keep(old.status);
    const { template } = old.spec.jobTemplate.spec;
    dropDisabledTemplateFields(draft.spec.jobTemplate.spec.template, context, template);
    countChange(draft, old, specsDiffer(draft.spec, old.spec));
  },
  validateUpdate: (cronJob, old, context) => [
    ...validateKubeMetaUpdate(cronJob, old),
    ...validateSpec(
      cronJob.spec,
      old.spec,
      templateRules(context, old.spec.jobTemplate.spec.template),
    ),
  ],
  warnings: cronJobWarnings,
  subresources: {
    status: {
      prepareUpdate: (draft, old) => {
        draft.spec = keep(old.spec);
      },
    },
  },
  columns: [
    nameColumn,
    {
      name: "Schedule",
      type: "string",
      describedBy: "batch.v1.CronJobSpec.schedule",
      cell: ({ spec }) => spec.schedule,
    },
    {
      name: "Timezone",
      type: "string",
      describedBy: "batch.v1.CronJobSpec.timeZone",
      cell: ({ spec }) => spec.timeZone ?? NONE,
    },
    {
      name: "Suspend",
      type: "boolean",
      describedBy: "batch.v1.CronJobSpec.suspend",
      cell: ({ spec }) =>
        spec.suspend === undefined ? "<unset>" : spec.suspend ? "True" : "False",
    },
    {
      name: "Active",
      type: "integer",
      describedBy: "batch.v1.CronJobStatus.active",
      cell: ({ status }) => (status.active ?? []).length,
    },
    {
      name: "Last Schedule",
      type: "string",
      describedBy: "batch.v1.CronJobStatus.lastScheduleTime",
      cell: ({ status: { lastScheduleTime } }, nowMs) =>
        lastScheduleTime === undefined ? NONE : ageOf(lastScheduleTime, nowMs),
    },
    ageColumn,
    ...containerColumns<CronJob>(({ spec }) => spec.jobTemplate.spec.template),
    selectorColumn("batch.v1.JobSpec.selector", ({ spec }) => spec.jobTemplate.spec.selector),
  ],
});

function defaults({ spec }: Draft<CronJob>): void {
  spec.concurrencyPolicy ||= "Allow";
  spec.suspend ??= false;
  spec.successfulJobsHistoryLimit ??= 3;
  spec.failedJobsHistoryLimit ??= 1;
  defaultJobTemplateParts(spec.jobTemplate.spec);
}

function validateCreate(cronJob: CronJob, context: RuleContext): FieldError[] {
  const { metadata, spec } = cronJob;
  const errors = [
    ...validateFinalizers(metadata),
    ...validateSpec(spec, undefined, templateRules(context)),
  ];
  if ((metadata.name ?? "").length > NAME_MAX) {
    const detail = `must be no more than ${NAME_MAX} characters`;
    errors.push(invalid(Path.of("metadata", "name"), metadata.name, detail));
  }
  return errors;
}

function validateSpec(
  spec: CronJobSpec,
  old: CronJobSpec | undefined,
  rules: TemplateRules,
): FieldError[] {
  const errors = validateSchedule(spec, old, SPEC.child("schedule"));
  errors.push(...validateCounts(spec, ["startingDeadlineSeconds"], SPEC));
  if (spec.timeZone !== undefined && spec.timeZone !== old?.timeZone) {
    const at = SPEC.child("timeZone");
    for (const fault of timeZoneFaults(spec.timeZone)) {
      errors.push(invalid(at, spec.timeZone, fault));
    }
  }
  const { concurrencyPolicy = "" } = spec;
  const at = SPEC.child("concurrencyPolicy");
  if (concurrencyPolicy === "") errors.push(required(at, ""));
  else if (!CONCURRENCY_POLICIES.includes(concurrencyPolicy)) {
    errors.push(notSupported(at, concurrencyPolicy, CONCURRENCY_POLICIES));
  }
  errors.push(...validateJobTemplate(spec, rules));
  const limits = ["successfulJobsHistoryLimit", "failedJobsHistoryLimit"] as const;
  return [...errors, ...validateCounts(spec, limits, SPEC)];
}

/** Zones in schedules are a thing of the past; those that are there may stay. */
function validateSchedule(
  { schedule, timeZone }: CronJobSpec,
  old: CronJobSpec | undefined,
  path: Path,
): FieldError[] {
  if (schedule === "") return [required(path, "")];
  const parsed = parseSchedule(schedule);
  const errors = parsed.ok ? [] : [invalid(path, schedule, parsed.error)];
  if (!schedule.includes("TZ")) return errors;
  const allowed = old?.schedule.includes("TZ") ?? false;
  if (!allowed) {
    const detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
    errors.push(invalid(path, schedule, detail));
  } else if (timeZone !== undefined) {
    const detail = "cannot use both timeZone field and TZ or CRON_TZ in schedule";
    errors.push(invalid(path, schedule, detail));
  }
  return errors;
}

function validateJobTemplate({ jobTemplate }: CronJobSpec, rules: TemplateRules): FieldError[] {
  const { selector, manualSelector } = jobTemplate.spec;
  const errors = validateJobParts(jobTemplate.spec, rules, JOB_SPEC);
  if (selector !== undefined) {
    const detail = "`selector` will be auto-generated";
    errors.push(invalid(JOB_SPEC.child("selector"), selector, detail));
  }
  if (manualSelector === true) {
    const at = JOB_SPEC.child("manualSelector");
    errors.push(notSupported(at, manualSelector, ["nil", "false"]));
  }
  return errors;
}

function cronJobWarnings(cronJob: CronJob, old: CronJob | undefined): string[] {
  const { metadata, spec } = cronJob;
  const warnings: string[] = old === undefined ? podNameWarnings(cronJob) : [];
  if (old === undefined || metadata.generation !== old.metadata.generation) {
    warnings.push(...jobSpecWarnings(spec.jobTemplate.spec, JOB_SPEC));
  }
  if (old !== undefined && spec.schedule.includes("TZ")) {
    warnings.push(
      "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details",
    );
  }
  return warnings;
}
