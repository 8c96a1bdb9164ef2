/** resource.k8s.io ResourceSlice: the devices that a driver has on a node or for many nodes. */

import { isEmptyCollection } from "#api/codec/empty-collections.ts";
import { ageColumn, nameColumn } from "#api/columns.ts";
import { RETURNS_OBJECT } from "#api/deletion-rules.ts";
import type {
  CounterSet,
  Device,
  ResourcePool,
  ResourceSlice,
  ResourceSliceSpec,
} from "#api/generated/resource.v1.ts";
import { type Draft, defineKind, type KindSpec } from "#api/kind.ts";
import { validateNodeSelector } from "#api/kinds/core/v1/pod/placement/affinity.ts";
import { unsupportedFieldText } from "#api/meta/field-selector.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { timeFromMs } from "#api/meta/time.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { invalidEach } from "#api/validation/faults.ts";
import { type FieldError, invalid, required } from "#api/validation/field-error.ts";
import { semanticEqual, validateImmutableField } from "#api/validation/immutable.ts";
import { internalForm } from "#api/validation/internal-form.ts";
import { validateFinalizers, validateKubeMetaUpdate } from "#api/validation/kube-meta.ts";
import { isDns1123Subdomain, nameIsDnsSubdomain } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { alsoServedAs } from "#api/versions.ts";
import { deprecationOf } from "../deprecation.ts";
import { hasListAttributes, validateCounters, validateDevice } from "./device.ts";
import { validateDriverName, validateLabelName, validatePoolName } from "./device-names.ts";
import { validateSet } from "./lists.ts";

const DEVICES_MAX = 128;
const ADVANCED_DEVICES_MAX = 64;
const COUNTER_SETS_MAX = 8;
const SPEC = Path.of("spec");

export const resourceSliceSpec: KindSpec<ResourceSlice> = {
  group: "resource.k8s.io",
  version: "v1",
  names: { kind: "ResourceSlice", plural: "resourceslices" },
  scope: "Cluster",
  schema: builtInSchema("resource.v1.ResourceSlice"),
  deletion: RETURNS_OBJECT,
  nameRule: nameIsDnsSubdomain,
  generation: true,
  unconditionalUpdate: true,
  defaults: ({ spec }) => {
    for (const { nodeAllocatableResourceMappings: mappings = {} } of spec.devices ?? []) {
      for (const mapping of Object.values(mappings)) mapping.allocationMultiplier ??= "1";
    }
  },
  prepareCreate: ({ spec }, { nowMs }) => {
    stampTaints(spec, nowMs);
    dropDisabledFields(spec, undefined);
  },
  prepareUpdate: ({ metadata, spec }, old, { nowMs }) => {
    stampTaints(spec, nowMs);
    // What is dropped afterwards was a change all the same.
    if (!semanticEqual(spec, old.spec)) metadata.generation = (old.metadata.generation ?? 0) + 1;
    dropDisabledFields(spec, old.spec);
  },
  validate: ({ metadata, spec }) => [
    ...validateFinalizers(metadata),
    ...validateSpec(spec, undefined),
  ],
  validateUpdate: (slice, old) => [
    ...validateKubeMetaUpdate(slice, old),
    ...validateSpec(slice.spec, old.spec),
  ],
  warnings: ({ spec: { driver } }) =>
    driver === driver.toLowerCase()
      ? []
      : [
          `spec.driver: driver names should be lowercase; ${goQuote(driver)} contains uppercase characters`,
        ],
  unsupportedFieldText: (field, apiVersion) =>
    unsupportedFieldText(field, `${apiVersion}, Kind=ResourceSlice`),
  triggerField: "spec.nodeName",
  selectableFields: ({ spec }) => ({
    "spec.nodeName": spec.nodeName ?? "",
    "spec.driver": spec.driver,
  }),
  columns: [
    nameColumn,
    {
      name: "Node",
      type: "string",
      describedBy: "resource.v1.ResourceSliceSpec.nodeName",
      cell: ({ spec }) => spec.nodeName ?? "",
    },
    {
      name: "Driver",
      type: "string",
      describedBy: "resource.v1.ResourceSliceSpec.driver",
      cell: ({ spec }) => spec.driver,
    },
    {
      name: "Pool",
      type: "string",
      describedBy: "resource.v1.ResourcePool.name",
      cell: ({ spec }) => spec.pool.name,
    },
    ageColumn,
  ],
};

export const resourceSliceKind = defineKind(resourceSliceSpec);
export const resourceSliceV1beta2Kind = alsoServedAs(
  resourceSliceSpec,
  "v1beta2",
  "resource.v1beta2.ResourceSlice",
  { deprecation: deprecationOf("v1beta2", "ResourceSlice") },
);

/** A default that needs the time, which is why it is not among the defaults. */
function stampTaints({ devices = [] }: Draft<ResourceSliceSpec>, nowMs: number): void {
  for (const { taints = [] } of devices) {
    for (const taint of taints) taint.timeAdded ??= timeFromMs(nowMs);
  }
}

/** Attributes that are lists, and mappings to node resources, are not on by default. */
function dropDisabledFields(
  { devices = [] }: Draft<ResourceSliceSpec>,
  old: ResourceSliceSpec | undefined,
): void {
  const before = old?.devices ?? [];
  const keepsMappings = before.some(
    ({ nodeAllocatableResourceMappings: mappings = {} }) => Object.keys(mappings).length > 0,
  );
  const keepsLists = before.some(hasListAttributes);
  for (const device of devices) {
    if (!keepsMappings) delete device.nodeAllocatableResourceMappings;
    for (const attribute of keepsLists ? [] : Object.values(device.attributes ?? {})) {
      delete attribute.bools;
      delete attribute.ints;
      delete attribute.strings;
      delete attribute.versions;
    }
  }
}

function validateSpec(spec: ResourceSliceSpec, old: ResourceSliceSpec | undefined): FieldError[] {
  const errors = [
    ...validateDriverName(spec.driver, SPEC.child("driver")),
    ...validatePool(spec.pool, SPEC.child("pool")),
  ];
  if (old !== undefined) {
    errors.push(
      ...validateImmutableField(spec.pool.name, old.pool.name, SPEC.child("pool", "name")),
      ...validateImmutableField(spec.driver, old.driver, SPEC.child("driver")),
      ...validateImmutableField(spec.nodeName, old.nodeName, SPEC.child("nodeName")),
    );
  }
  errors.push(...validateNodes(spec));
  const given = (field: "sharedCounters" | "devices") =>
    spec[field] !== undefined || isEmptyCollection(spec, field);
  if (given("sharedCounters") && given("devices")) {
    errors.push(invalid(SPEC, "", "only one of `sharedCounters` or `devices` is allowed"));
  }
  const perDevice = spec.perDeviceNodeSelection === true;
  const oldDevices = new Map((old?.devices ?? []).map((device) => [device.name, device]));
  errors.push(
    ...validateSet(
      spec.devices,
      (spec.devices ?? []).some(isAdvanced) ? ADVANCED_DEVICES_MAX : DEVICES_MAX,
      (device, at) => validateDevice(device, oldDevices.get(device.name), perDevice, at),
      ({ name }) => name,
      SPEC.child("devices"),
    ),
    ...validateSet(
      spec.sharedCounters,
      COUNTER_SETS_MAX,
      validateCounterSet,
      ({ name }) => name,
      SPEC.child("sharedCounters"),
    ),
  );
  return errors;
}

/** Devices that take more room in the slice. */
function isAdvanced(device: Device): boolean {
  const { taints = [], consumesCounters = [] } = device;
  return taints.length > 0 || consumesCounters.length > 0 || hasListAttributes(device);
}

function validatePool({ name, resourceSliceCount, generation }: ResourcePool, path: Path) {
  const errors = validatePoolName(name, path.child("name"));
  if (resourceSliceCount <= 0) {
    const at = path.child("resourceSliceCount");
    errors.push(invalid(at, resourceSliceCount, "must be greater than zero"));
  }
  if (generation < 0) {
    const at = path.child("generation");
    errors.push(invalid(at, generation, "must be greater than or equal to zero"));
  }
  return errors;
}

function validateNodes(spec: ResourceSliceSpec): FieldError[] {
  const { nodeName, nodeSelector } = spec;
  const errors: FieldError[] = [];
  const set: string[] = [];
  if (nodeName === "") {
    const detail = "must be either unset or set to a non-empty string";
    errors.push(invalid(SPEC.child("nodeName"), nodeName, detail));
  } else if (nodeName !== undefined) {
    set.push("`nodeName`");
    errors.push(...invalidEach(SPEC.child("nodeName"), nodeName, isDns1123Subdomain(nodeName)));
  }
  if (nodeSelector !== undefined) {
    set.push("`nodeSelector`");
    const at = SPEC.child("nodeSelector");
    validateNodeSelector(nodeSelector, false, at, errors);
    if ((nodeSelector.nodeSelectorTerms ?? []).length !== 1) {
      const terms = isEmptyCollection(nodeSelector, "nodeSelectorTerms")
        ? []
        : nodeSelector.nodeSelectorTerms;
      const value = internalForm("[]core.v1.NodeSelectorTerm", terms);
      const detail = "must have exactly one node selector term";
      errors.push(invalid(at.child("nodeSelectorTerms"), value, detail));
    }
  }
  for (const field of ["allNodes", "perDeviceNodeSelection"] as const) {
    if (spec[field]) set.push(`\`${field}\``);
    else if (spec[field] === false) {
      errors.push(invalid(SPEC.child(field), false, "must be either unset or set to true"));
    }
  }
  const detail =
    "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
  if (set.length === 0) errors.push(required(SPEC, detail));
  if (set.length > 1) {
    errors.push(invalid(SPEC, `{${set.join(", ")}}`, `${detail}, but multiple fields are set`));
  }
  return errors;
}

function validateCounterSet({ name, counters }: CounterSet, path: Path): FieldError[] {
  const at = path.child("name");
  const errors = name === "" ? [required(at, "")] : [...validateLabelName(name, at)];
  return [...errors, ...validateCounters(counters, path.child("counters"))];
}
