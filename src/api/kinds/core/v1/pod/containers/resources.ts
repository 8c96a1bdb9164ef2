/** What containers, and pods as a whole, may ask for. */
import { isEmptyCollection } from "#api/codec/empty-collections.ts";
import type {
  PodSpec,
  ResourceClaim,
  ResourceList,
  ResourceRequirements,
} from "#api/generated/core.v1.ts";
import {
  compareAmounts,
  isWhole,
  sumOverContainers,
  validateResourceQuantity,
} from "#api/kinds/core/v1/resources/resource-lists.ts";
import {
  HUGE_PAGES_PREFIX,
  isHugePages,
  isOvercommitAllowed,
  validateContainerResourceName,
  validatePodResourceName,
} from "#api/kinds/core/v1/resources/resource-names.ts";
import { parseQuantity, quantityOf, quantitySign, quantityValue } from "#api/meta/quantity.ts";
import {
  duplicate,
  type FieldError,
  forbidden,
  invalid,
  notFound,
  required,
} from "#api/validation/field-error.ts";
import { isDns1123Label } from "#api/validation/names.ts";
import type { Path } from "#api/validation/path.ts";
import { ownValue } from "#lib/own-value.ts";

/** The two leniencies that amounts know. */
interface ResourceRules {
  readonly allowPartialHugePages: boolean;
}

type NameRule = (name: string, path: Path) => readonly FieldError[];

export function validateContainerResources(
  requirements: ResourceRequirements,
  claimNames: ReadonlySet<string>,
  rules: ResourceRules,
  path: Path,
  errors: FieldError[],
): void {
  validateRequirements(requirements, validateContainerResourceName, rules, path, errors);
  if (requirements.claims !== undefined) {
    validateClaims(requirements.claims, claimNames, path.child("claims"), errors);
  }
}

/** What a runtime needs beside the containers. */
export function validateOverhead(
  overhead: ResourceList,
  rules: ResourceRules,
  path: Path,
  errors: FieldError[],
): void {
  validateRequirements({ limits: overhead }, validateContainerResourceName, rules, path, errors);
}

export function validatePodResources(
  spec: PodSpec,
  claimNames: ReadonlySet<string>,
  rules: ResourceRules,
  path: Path,
  errors: FieldError[],
): void {
  const { resources } = spec;
  if (resources === undefined) return;
  if (spec.os?.name === "windows") {
    errors.push(forbidden(path, "may not be set for a windows pod"));
    return;
  }
  if (resources.claims !== undefined || isEmptyCollection(resources, "claims")) {
    const at = path.child("claims");
    errors.push(forbidden(at, "claims may not be set for Resources at pod-level"));
  }
  validateRequirements(resources, validatePodResourceName, rules, path, errors);
  if (resources.claims !== undefined) {
    validateClaims(resources.claims, claimNames, path.child("claims"), errors);
  }
  validatePodCoversContainers(spec, resources, path, errors);
}

/** True unless the amount is of huge pages and not of whole ones. */
export function isHugePagesMultiple(name: string, amount: string): boolean {
  if (!isHugePages(name)) return true;
  const size = parseQuantity(name.slice(HUGE_PAGES_PREFIX.length));
  if (!size.ok || quantitySign(size.value) <= 0 || !isWhole(size.value)) return false;
  return quantityValue(quantityOf(amount)) % quantityValue(size.value) === 0;
}

function validateRequirements(
  { limits = {}, requests = {} }: ResourceRequirements,
  nameRule: NameRule,
  rules: ResourceRules,
  path: Path,
  errors: FieldError[],
): void {
  for (const [name, amount] of Object.entries(limits)) {
    validateAmount(name, amount, nameRule, rules, path.child("limits").key(name), errors);
  }
  for (const [name, amount] of Object.entries(requests)) {
    validateNameAndQuantity(name, amount, nameRule, path.child("requests").key(name), errors);
    validateRequestWithinLimit(name, amount, ownValue(limits, name), path, errors);
    validateHugePages(name, amount, rules, path.child("requests").key(name), errors);
  }
  const hasCompute = [limits, requests].some(({ cpu, memory }) => cpu ?? memory);
  if (!hasCompute && Object.keys({ ...limits, ...requests }).some(isHugePages)) {
    errors.push(forbidden(path, "HugePages require cpu or memory"));
  }
}

function validateAmount(
  name: string,
  amount: string,
  nameRule: NameRule,
  rules: ResourceRules,
  path: Path,
  errors: FieldError[],
): void {
  validateNameAndQuantity(name, amount, nameRule, path, errors);
  validateHugePages(name, amount, rules, path, errors);
}

function validateNameAndQuantity(
  name: string,
  amount: string,
  nameRule: NameRule,
  path: Path,
  errors: FieldError[],
): void {
  errors.push(...nameRule(name, path), ...validateResourceQuantity(name, amount, path));
}

function validateHugePages(
  name: string,
  amount: string,
  { allowPartialHugePages }: ResourceRules,
  path: Path,
  errors: FieldError[],
): void {
  if (allowPartialHugePages || isHugePagesMultiple(name, amount)) return;
  const detail = `${amount} is not positive integer multiple of ${name}`;
  errors.push(invalid(path, amount, detail));
}

function validateRequestWithinLimit(
  name: string,
  amount: string,
  limit: string | undefined,
  path: Path,
  errors: FieldError[],
): void {
  if (limit === undefined) {
    if (isOvercommitAllowed(name)) return;
    const detail = "Limit must be set for non overcommitable resources";
    errors.push(required(path.child("limits"), detail));
    return;
  }
  const order = compareAmounts(amount, limit);
  if (order !== 0 && !isOvercommitAllowed(name)) {
    const detail = `must be equal to ${name} limit of ${limit}`;
    errors.push(invalid(path.child("requests"), amount, detail));
  } else if (order > 0) {
    const detail = `must be less than or equal to ${name} limit of ${limit}`;
    errors.push(invalid(path.child("requests"), amount, detail));
  }
}

function validatePodCoversContainers(
  spec: PodSpec,
  { requests = {}, limits = {} }: ResourceRequirements,
  path: Path,
  errors: FieldError[],
): void {
  const needed = sumOverContainers(spec, ({ resources }) => resources.requests);
  for (const [name, amount] of Object.entries(needed)) {
    const given = ownValue(requests, name);
    if (given === undefined || compareAmounts(amount, given) <= 0) continue;
    const detail = `must be greater than or equal to aggregate container requests of ${amount}`;
    errors.push(invalid(path.child("requests").key(name), given, detail));
  }
  const most = sumOverContainers(spec, ({ resources }) => resources.limits);
  for (const [name, amount] of Object.entries(most)) {
    const given = ownValue(limits, name);
    if (!isHugePages(name) || given === undefined || compareAmounts(amount, given) <= 0) continue;
    const detail = `must be greater than or equal to aggregate container limits of ${amount}`;
    errors.push(invalid(path.child("limits").key(name), given, detail));
  }
  for (const [i, { resources }] of (spec.containers ?? []).entries()) {
    for (const [name, amount] of Object.entries(resources.limits ?? {})) {
      const given = ownValue(limits, name);
      if (given === undefined || compareAmounts(amount, given) <= 0) continue;
      const at = path.child("containers").index(i).key(name).child("limits");
      errors.push(invalid(at, amount, `must be less than or equal to pod limits of ${given}`));
    }
  }
}

/** A claim, or one request of it: `name` or `name/request`, each at most once. */
function validateClaims(
  claims: readonly ResourceClaim[],
  podClaimNames: ReadonlySet<string>,
  path: Path,
  errors: FieldError[],
): void {
  const seen = new Set<string>();
  for (const [i, claim] of claims.entries()) {
    const at = path.index(i);
    if (claim.name === "") {
      errors.push(required(at, ""));
      continue;
    }
    validateClaimOnce(claim, seen, at, errors);
    if (!podClaimNames.has(claim.name)) {
      const known = [...podClaimNames].sort().join(", ");
      const detail = `must be one of the names in pod.spec.resourceClaims${known === "" ? " which is empty" : `: ${known}`}`;
      errors.push({ ...notFound(at, claim.name), detail });
    }
  }
}

function validateClaimOnce(
  { name, request = "" }: ResourceClaim,
  seen: Set<string>,
  path: Path,
  errors: FieldError[],
): void {
  if (seen.has(name)) {
    errors.push(duplicate(path, name));
    return;
  }
  const key = request === "" ? name : `${name}/${request}`;
  if (request !== "") {
    const at = path.child("request");
    for (const fault of isDns1123Label(request)) errors.push(invalid(at, request, fault));
  }
  if (seen.has(key)) errors.push(duplicate(path, key));
  else if (request === "") {
    for (const other of seen) {
      if (other.startsWith(`${name}/`)) errors.push(duplicate(path, name));
    }
  }
  seen.add(key);
}
