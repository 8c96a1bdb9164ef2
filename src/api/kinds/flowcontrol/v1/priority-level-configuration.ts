/** flowcontrol.apiserver.k8s.io/v1 PriorityLevelConfiguration: how many requests run, how many wait. */

import { STATUS_RESETS_METADATA } from "#api/apply/reset-fields.ts";
import { ageColumn, NONE, nameColumn } from "#api/columns.ts";
import type {
  LimitedPriorityLevelConfiguration,
  LimitResponse,
  PriorityLevelConfiguration,
  PriorityLevelConfigurationSpec,
  QueuingConfiguration,
} from "#api/generated/flowcontrol.v1.ts";
import { type Column, type Draft, defineKind } from "#api/kind.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import {
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
} from "#api/validation/field-error.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import { internalForm } from "#api/validation/internal-form.ts";
import { validateFinalizers, validateKubeMeta } from "#api/validation/kube-meta.ts";
import { nameIsDnsSubdomain } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { MANDATORY_PRIORITY_LEVELS } from "./mandatory.ts";
import { statusHooks, validateStatus } from "./status.ts";

const QUEUES_MAX = 10_000_000;
const HASH_BITS_MAX = 60;
/** Only an older version may have it, to say that zero was meant. */
const ZERO_SHARES_ANNOTATION = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares";

const META = { namespaced: false, nameRule: nameIsDnsSubdomain };

export const priorityLevelConfigurationKind = defineKind<PriorityLevelConfiguration>({
  group: "flowcontrol.apiserver.k8s.io",
  version: "v1",
  names: { kind: "PriorityLevelConfiguration", plural: "prioritylevelconfigurations" },
  scope: "Cluster",
  schema: builtInSchema("flowcontrol.v1.PriorityLevelConfiguration"),
  resetFields: STATUS_RESETS_METADATA,
  nameRule: nameIsDnsSubdomain,
  generation: true,
  unconditionalUpdate: true,
  defaults: ({ spec }) => setDefaults(spec),
  ...statusHooks,
  validate: (level) => [...validateFinalizers(level.metadata), ...validateLevel(level)],
  validateUpdate: (level) => [...validateKubeMeta(level.metadata, META), ...validateLevel(level)],
  columns: [
    nameColumn,
    {
      name: "Type",
      type: "string",
      describedBy: "flowcontrol.v1.PriorityLevelConfigurationSpec.type",
      cell: ({ spec }) => spec.type,
    },
    {
      name: "NominalConcurrencyShares",
      type: "string",
      describedBy: "flowcontrol.v1.LimitedPriorityLevelConfiguration.nominalConcurrencyShares",
      cell: ({ spec }) => spec.limited?.nominalConcurrencyShares ?? NONE,
    },
    queuingColumn("Queues", "queues"),
    queuingColumn("HandSize", "handSize"),
    queuingColumn("QueueLengthLimit", "queueLengthLimit"),
    ageColumn,
  ],
});

function queuingColumn(
  name: string,
  field: keyof QueuingConfiguration,
): Column<PriorityLevelConfiguration> {
  return {
    name,
    type: "string",
    describedBy: `flowcontrol.v1.QueuingConfiguration.${field}`,
    cell: ({ spec }) => spec.limited?.limitResponse.queuing?.[field] ?? NONE,
  };
}

function setDefaults({ exempt, limited }: Draft<PriorityLevelConfigurationSpec>): void {
  if (exempt !== undefined) {
    exempt.nominalConcurrencyShares ??= 0;
    exempt.lendablePercent ??= 0;
  }
  if (limited !== undefined) {
    limited.nominalConcurrencyShares ??= 30;
    limited.lendablePercent ??= 0;
    const { queuing } = limited.limitResponse;
    if (queuing !== undefined) {
      queuing.handSize ||= 8;
      queuing.queues ||= 64;
      queuing.queueLengthLimit ||= 50;
    }
  }
}

function validateLevel(level: PriorityLevelConfiguration): FieldError[] {
  const { metadata, spec } = level;
  const { name = "", annotations = {} } = metadata;
  const errors: FieldError[] = [];
  if (annotations[ZERO_SHARES_ANNOTATION] !== undefined) {
    const detail = `annotation '${ZERO_SHARES_ANNOTATION}' is forbidden`;
    errors.push(forbidden(Path.of("metadata", "annotations"), detail));
  }
  errors.push(...validateSpec(spec, name));
  errors.push(...validateMandatory(spec, name));
  return [...errors, ...validateStatus(level)];
}

function validateMandatory(spec: PriorityLevelConfigurationSpec, name: string): FieldError[] {
  const fixed = MANDATORY_PRIORITY_LEVELS.get(name);
  const { exempt: _, ...rest } = spec;
  const compared = name === "exempt" ? rest : spec;
  if (fixed === undefined || semanticEqual(compared, fixed)) return [];
  const except = name === "exempt" ? " except the 'spec.exempt' field" : "";
  const value = internalForm("flowcontrol.v1.PriorityLevelConfigurationSpec", spec);
  const detail = `spec of '${name}'${except} must equal the fixed value`;
  return [invalid(Path.of("spec"), value, detail)];
}

function validateSpec(spec: PriorityLevelConfigurationSpec, name: string): FieldError[] {
  const path = Path.of("spec");
  const { type, limited, exempt } = spec;
  const errors: FieldError[] = [];
  if ((name === "exempt") !== (type === "Exempt")) {
    const detail = "must be 'Exempt' if and only if `name` is 'exempt'";
    errors.push(invalid(path.child("type"), type, detail));
  }
  switch (type) {
    case "Exempt":
      if (limited !== undefined) {
        errors.push(forbidden(path.child("limited"), "must be nil if the type is not Limited"));
      }
      if (exempt !== undefined) {
        const shares = exempt.nominalConcurrencyShares ?? 0;
        errors.push(...validateShares(shares, path.child("exempt")));
        errors.push(...validateLendable(exempt.lendablePercent, path.child("exempt")));
      }
      break;
    case "Limited":
      if (exempt !== undefined) {
        errors.push(forbidden(path.child("exempt"), "must be nil if the type is Limited"));
      }
      if (limited === undefined) {
        errors.push(required(path.child("limited"), "must not be empty when type is Limited"));
      } else {
        errors.push(...validateLimited(limited, path.child("limited")));
      }
      break;
    case "":
      errors.push(required(path.child("type"), ""));
      break;
    default:
      errors.push(notSupported(path.child("type"), type, ["Exempt", "Limited"]));
  }
  return errors;
}

function validateLimited(limited: LimitedPriorityLevelConfiguration, path: Path): FieldError[] {
  const { nominalConcurrencyShares, limitResponse, lendablePercent } = limited;
  const { borrowingLimitPercent: borrowing } = limited;
  const errors = [
    ...validateShares(nominalConcurrencyShares ?? 0, path),
    ...validateLimitResponse(limitResponse, path.child("limitResponse")),
    ...validateLendable(lendablePercent, path),
  ];
  if (borrowing !== undefined && borrowing < 0) {
    const detail = "if specified, must be a non-negative integer";
    errors.push(invalid(path.child("borrowingLimitPercent"), borrowing, detail));
  }
  return errors;
}

function validateShares(shares: number, path: Path): FieldError[] {
  if (shares >= 0) return [];
  return [
    invalid(path.child("nominalConcurrencyShares"), shares, "must be a non-negative integer"),
  ];
}

function validateLendable(percent: number | undefined, path: Path): FieldError[] {
  if (percent === undefined || (percent >= 0 && percent <= 100)) return [];
  return [invalid(path.child("lendablePercent"), percent, "must be between 0 and 100, inclusive")];
}

function validateLimitResponse({ type, queuing }: LimitResponse, path: Path): FieldError[] {
  const at = path.child("queuing");
  switch (type) {
    case "Reject":
      if (queuing === undefined) return [];
      return [forbidden(at, "must be nil if limited.limitResponse.type is not Limited")];
    case "Queue":
      if (queuing !== undefined) return validateQueuing(queuing, at);
      return [required(at, "must not be empty if limited.limitResponse.type is Limited")];
    case "":
      return [required(path.child("type"), "")];
    default:
      return [notSupported(path.child("type"), type, ["Queue", "Reject"])];
  }
}

function validateQueuing(queuing: QueuingConfiguration, path: Path): FieldError[] {
  const { queueLengthLimit, queues, handSize } = queuing;
  const errors: FieldError[] = [];
  const fault = (field: keyof QueuingConfiguration, detail: string) =>
    errors.push(invalid(path.child(field), queuing[field], detail));
  if (queueLengthLimit <= 0) fault("queueLengthLimit", "must be positive");
  if (queues <= 0) fault("queues", "must be positive");
  else if (queues > QUEUES_MAX) fault("queues", `must not be greater than ${QUEUES_MAX}`);
  if (handSize <= 0) {
    fault("handSize", "must be positive");
  } else if (handSize > queues) {
    fault("handSize", `should not be greater than queues (${queues})`);
  } else if (Math.ceil(Math.log2(queues) * handSize) > HASH_BITS_MAX) {
    fault(
      "handSize",
      `required entropy bits of deckSize ${queues} and handSize ${handSize} should not be greater than ${HASH_BITS_MAX}`,
    );
  }
  return errors;
}
