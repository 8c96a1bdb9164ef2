/** networking.k8s.io/v1 IngressClass: which controller serves an Ingress. */

import { ageColumn, NONE, nameColumn } from "#api/columns.ts";
import type {
  IngressClass,
  IngressClassParametersReference,
  IngressClassSpec,
} from "#api/generated/networking.v1.ts";
import { defineKind } from "#api/kind.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { validateDomainPrefixedPath } from "#api/validation/domain-prefixed.ts";
import { invalidEach } from "#api/validation/faults.ts";
import {
  type FieldError,
  forbidden,
  notSupported,
  required,
  tooLong,
} from "#api/validation/field-error.ts";
import { validateImmutableField } from "#api/validation/immutable.ts";
import {
  validateFinalizers,
  validateKubeMeta,
  validateKubeMetaUpdate,
} from "#api/validation/kube-meta.ts";
import { isDns1123Label, isDns1123Subdomain, nameIsDnsSubdomain } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { utf8Length } from "#lib/text/utf8-length.ts";
import { validatePathSegment } from "./ingress-backend.ts";

const CONTROLLER_BYTES_MAX = 250;
const DEFAULT_ANNOTATION = "ingressclass.kubernetes.io/is-default-class";

const META = { namespaced: false, nameRule: nameIsDnsSubdomain };

export const ingressClassKind = defineKind<IngressClass>({
  group: "networking.k8s.io",
  version: "v1",
  names: { kind: "IngressClass", plural: "ingressclasses" },
  scope: "Cluster",
  schema: builtInSchema("networking.v1.IngressClass"),
  nameRule: nameIsDnsSubdomain,
  generation: true,
  unconditionalUpdate: true,
  defaults: ({ spec }) => {
    if (spec.parameters !== undefined) spec.parameters.scope ??= "Cluster";
  },
  validate: ({ metadata, spec }) => [...validateFinalizers(metadata), ...validateSpec(spec)],
  validateUpdate: (ingressClass, old) => [
    ...validateKubeMetaUpdate(ingressClass, old),
    ...validateImmutableField(
      ingressClass.spec.controller ?? "",
      old.spec.controller ?? "",
      Path.of("spec", "controller"),
    ),
    ...validateKubeMeta(ingressClass.metadata, META),
    ...validateSpec(ingressClass.spec),
  ],
  columns: [
    {
      ...nameColumn,
      cell: ({ metadata }) =>
        metadata.annotations?.[DEFAULT_ANNOTATION] === "true"
          ? `${metadata.name} (default)`
          : (metadata.name ?? ""),
    },
    {
      name: "Controller",
      type: "string",
      description: "Controller that is responsible for handling this class",
      cell: ({ spec }) => spec.controller ?? "",
    },
    {
      name: "Parameters",
      type: "string",
      description: "A reference to a resource with additional parameters",
      cell: ({ spec }) => parametersText(spec.parameters),
    },
    ageColumn,
  ],
});

function validateSpec({ controller = "", parameters }: IngressClassSpec): FieldError[] {
  const path = Path.of("spec");
  const errors: FieldError[] = [];
  if (utf8Length(controller) > CONTROLLER_BYTES_MAX) {
    errors.push(tooLong(path.child("controller"), CONTROLLER_BYTES_MAX));
  }
  errors.push(...validateDomainPrefixedPath(controller, path.child("controller")));
  if (parameters !== undefined) {
    errors.push(...validateParameters(parameters, path.child("parameters")));
  }
  return errors;
}

function validateParameters(reference: IngressClassParametersReference, path: Path): FieldError[] {
  const { apiGroup, kind, name, scope, namespace } = reference;
  const errors: FieldError[] = [];
  if (apiGroup !== undefined) {
    errors.push(...invalidEach(path.child("apiGroup"), apiGroup, isDns1123Subdomain(apiGroup)));
  }
  errors.push(...validatePathSegment(kind, path.child("kind")));
  errors.push(...validatePathSegment(name, path.child("name")));
  const at = path.child("namespace");
  switch (scope) {
    case null:
      errors.push(required(path.child("scope"), ""));
      break;
    case "Cluster":
      if (namespace !== undefined) {
        errors.push(forbidden(at, "`parameters.scope` is set to 'Cluster'"));
      }
      break;
    case "Namespace":
      if (namespace === undefined) {
        errors.push(required(at, "`parameters.scope` is set to 'Namespace'"));
      } else {
        errors.push(...invalidEach(at, namespace, isDns1123Label(namespace)));
      }
      break;
    default:
      errors.push(notSupported(path.child("scope"), scope, ["Cluster", "Namespace"]));
  }
  return errors;
}

function parametersText(reference: IngressClassParametersReference | undefined): string {
  if (reference === undefined) return NONE;
  const { kind, apiGroup, name } = reference;
  return apiGroup === undefined ? `${kind}/${name}` : `${kind}.${apiGroup}/${name}`;
}
