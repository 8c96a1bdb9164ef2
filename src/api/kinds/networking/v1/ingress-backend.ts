/** Where an Ingress sends requests: a Service's port, or another object of the namespace. */
import type { TypedLocalObjectReference } from "#api/generated/core.v1.ts";
import type { IngressBackend, IngressServiceBackend } from "#api/generated/networking.v1.ts";
import { invalidEach } from "#api/validation/faults.ts";
import { type FieldError, invalid, required } from "#api/validation/field-error.ts";
import {
  isDns1123Label,
  isDns1123Subdomain,
  isPathSegmentName,
  isPortName,
  isPortNumber,
} from "#api/validation/names.ts";
import type { Path } from "#api/validation/path.ts";

export function validateIngressBackend(backend: IngressBackend, path: Path): FieldError[] {
  const { resource, service } = backend;
  if (resource !== undefined && service !== undefined) {
    return [invalid(path, "", "cannot set both resource and service backends")];
  }
  if (resource !== undefined) return validateObjectReference(resource, path.child("resource"));
  if (service !== undefined) return validateService(service, path);
  return [invalid(path, "", "resource or service backend is required")];
}

/** A required name that can stand in a URL. */
export function validatePathSegment(value: string, path: Path): readonly FieldError[] {
  if (value === "") return [required(path, "")];
  return invalidEach(path, value, isPathSegmentName(value));
}

function validateService({ name, port }: IngressServiceBackend, path: Path): FieldError[] {
  const errors: FieldError[] = [];
  const namePath = path.child("service", "name");
  if (name === "") errors.push(required(namePath, ""));
  else errors.push(...invalidEach(namePath, name, isDns1123Label(name)));

  const { name: portName = "", number = 0 } = port;
  const portPath = path.child("service", "port");
  if (portName !== "" && number !== 0) {
    errors.push(invalid(path, "", "cannot set both port name & port number"));
  } else if (portName !== "") {
    errors.push(...invalidEach(portPath.child("name"), portName, isPortName(portName)));
  } else if (number !== 0) {
    errors.push(...invalidEach(portPath.child("number"), number, isPortNumber(number)));
  } else {
    errors.push(required(path, "port name or number is required"));
  }
  return errors;
}

function validateObjectReference(reference: TypedLocalObjectReference, path: Path): FieldError[] {
  const errors: FieldError[] = [];
  const { apiGroup, kind, name } = reference;
  if (apiGroup !== undefined && apiGroup !== null) {
    errors.push(...invalidEach(path.child("apiGroup"), apiGroup, isDns1123Subdomain(apiGroup)));
  }
  errors.push(...validatePathSegment(kind, path.child("kind")));
  errors.push(...validatePathSegment(name, path.child("name")));
  return errors;
}
