/** What a claim asks for: requests, constraints between them, and configuration for them. */
import type {
  DeviceClaim,
  DeviceConstraint,
  DeviceRequest,
  DeviceSubRequest,
  ExactDeviceRequest,
  ResourceClaimSpec,
} from "#api/generated/resource.v1.ts";
import type { Draft, RuleContext } from "#api/kind.ts";
import {
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
} from "#api/validation/field-error.ts";
import { Path } from "#api/validation/path.ts";
import {
  validateClassName,
  validateFullyQualifiedName,
  validateLabelName,
} from "./device-names.ts";
import {
  CONFIGS_MAX,
  defaultTolerations,
  validateConfiguration,
  validateSelectors,
  validateToleration,
} from "./device-parts.ts";
import { validateList, validateSet } from "./lists.ts";

const REQUESTS_MAX = 32;
const CONSTRAINTS_MAX = 32;
const FIRST_AVAILABLE_MAX = 8;
const ADMIN_LABEL = "resource.kubernetes.io/admin-access";

export function defaultClaim({ devices }: Draft<ResourceClaimSpec>): void {
  for (const { exactly, firstAvailable = [] } of devices.requests ?? []) {
    for (const request of [...(exactly === undefined ? [] : [exactly]), ...firstAvailable]) {
      request.allocationMode ??= "ExactCount";
      if (request.allocationMode === "ExactCount" && (request.count ?? 0) === 0) request.count = 1;
      defaultTolerations(request.tolerations);
    }
  }
}

/** Asks whether a request (`r`) or one of its alternatives (`r/s`) is in the claim. */
export type HasRequest = (name: string) => boolean;

export function requestNames({ requests }: DeviceClaim): HasRequest {
  const names = new Set<string>();
  for (const { name, firstAvailable = [] } of requests ?? []) {
    names.add(name);
    for (const alternative of firstAvailable) names.add(`${name}/${alternative.name}`);
  }
  return (name) => names.has(name);
}

export function validateClaim(claim: DeviceClaim, context: RuleContext, path: Path): FieldError[] {
  const hasRequest = requestNames(claim);
  return [
    ...validateSet(
      claim.requests,
      REQUESTS_MAX,
      (request, at) => validateRequest(request, context, at),
      ({ name }) => name,
      path.child("requests"),
    ),
    ...validateList(
      claim.constraints,
      CONSTRAINTS_MAX,
      (constraint, at) => validateConstraint(constraint, hasRequest, at),
      path.child("constraints"),
    ),
    ...validateList(
      claim.config,
      CONFIGS_MAX,
      (config, at) => [
        ...validateRequestNames(config.requests, hasRequest, at.child("requests")),
        ...validateConfiguration(config, false, at),
      ],
      path.child("config"),
    ),
  ];
}

/** Access to devices that others use is for namespaces that are marked for it. */
export function validateAdminAccess(
  { requests }: DeviceClaim,
  { namespaceLabels }: RuleContext,
): FieldError[] {
  const index = (requests ?? []).findIndex(({ exactly }) => exactly?.adminAccess === true);
  if (index < 0) return [];
  const path = Path.of("spec", "devices", "requests").index(index).child("adminAccess");
  return adminAccessFault(path, namespaceLabels?.());
}

export function adminAccessFault(
  path: Path,
  labels: Readonly<Record<string, string>> | undefined,
): FieldError[] {
  if (labels === undefined || labels[ADMIN_LABEL] === "true") return [];
  const detail = `admin access to devices requires the \`${ADMIN_LABEL}: true\` label on the containing namespace`;
  return [forbidden(path, detail)];
}

/** Names of requests that something else in the claim is about. */
export function validateRequestNames(
  names: readonly string[] | undefined,
  hasRequest: HasRequest,
  path: Path,
): FieldError[] {
  return validateSet(
    names,
    REQUESTS_MAX,
    (name, at) => validateRequestName(name, hasRequest, at),
    (name) => name,
    path,
  );
}

export function validateRequestName(
  name: string,
  hasRequest: HasRequest,
  path: Path,
): FieldError[] {
  const detail =
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";
  const parts = name.split("/");
  if (parts.length > 2) return [invalid(path, name, detail)];
  const errors = parts.flatMap((part) => validateLabelName(part, path));
  if (!hasRequest(name)) errors.push(invalid(path, name, detail));
  return errors;
}

function validateRequest(request: DeviceRequest, context: RuleContext, path: Path): FieldError[] {
  const { name, exactly, firstAvailable = [] } = request;
  const errors = [...validateLabelName(name, path.child("name"))];
  const detail = "exactly one of `exactly` or `firstAvailable` is required";
  if (exactly === undefined && firstAvailable.length === 0) {
    return [...errors, required(path, detail)];
  }
  if (exactly !== undefined && firstAvailable.length > 0) {
    return [...errors, invalid(path, null, `${detail}, but multiple fields are set`)];
  }
  if (exactly !== undefined) {
    return [...errors, ...validateDevices(exactly, context, path.child("exactly"))];
  }
  return [
    ...errors,
    ...validateSet(
      firstAvailable,
      FIRST_AVAILABLE_MAX,
      (alternative, at) => [
        ...validateLabelName(alternative.name, at.child("name")),
        ...validateDevices(alternative, context, at),
      ],
      (alternative) => alternative.name,
      path.child("firstAvailable"),
    ),
  ];
}

function validateDevices(
  request: ExactDeviceRequest | DeviceSubRequest,
  context: RuleContext,
  path: Path,
): FieldError[] {
  const { deviceClassName, selectors, allocationMode = "", count = 0, tolerations = [] } = request;
  const errors = [
    ...validateClassName(deviceClassName, path.child("deviceClassName")),
    ...validateSelectors(selectors, false, context, path.child("selectors")),
  ];
  const countPath = path.child("count");
  switch (allocationMode) {
    case "All":
      if (count !== 0) {
        const detail = `must not be specified when allocationMode is '${allocationMode}'`;
        errors.push(invalid(countPath, count, detail));
      }
      break;
    case "ExactCount":
      if (count <= 0) errors.push(invalid(countPath, count, "must be greater than zero"));
      break;
    default:
      errors.push(
        notSupported(path.child("allocationMode"), allocationMode, ["All", "ExactCount"]),
      );
  }
  const tolerationsPath = path.child("tolerations");
  errors.push(...tolerations.flatMap((t, i) => validateToleration(t, tolerationsPath.index(i))));
  return errors;
}

function validateConstraint(
  { requests, matchAttribute, distinctAttribute }: DeviceConstraint,
  hasRequest: HasRequest,
  path: Path,
): FieldError[] {
  const errors = validateRequestNames(requests, hasRequest, path.child("requests"));
  if (matchAttribute !== undefined) {
    errors.push(...validateFullyQualifiedName(matchAttribute, path.child("matchAttribute")));
  } else if (distinctAttribute !== undefined) {
    errors.push(...validateFullyQualifiedName(distinctAttribute, path.child("distinctAttribute")));
  } else {
    const detail =
      'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set';
    errors.push(required(path, detail));
  }
  return errors;
}
