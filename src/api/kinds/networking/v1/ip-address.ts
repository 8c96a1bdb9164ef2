/** networking.k8s.io IPAddress: a Service address that is taken, and by whom. */

import { ageColumn, NONE, nameColumn } from "#api/columns.ts";
import type { IPAddress, ParentReference } from "#api/generated/networking.v1.ts";
import { defineKind, type KindSpec } from "#api/kind.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { invalidEach } from "#api/validation/faults.ts";
import { type FieldError, required } from "#api/validation/field-error.ts";
import { validateImmutableField } from "#api/validation/immutable.ts";
import { internalForm } from "#api/validation/internal-form.ts";
import { isCanonicalIp } from "#api/validation/ip.ts";
import {
  validateFinalizers,
  validateKubeMeta,
  validateKubeMetaUpdate,
} from "#api/validation/kube-meta.ts";
import { isDns1123Subdomain, isPathSegmentName } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { alsoServedAs } from "#api/versions.ts";
import { validatePathSegment } from "./ingress-backend.ts";

const META = { namespaced: false, nameRule: isCanonicalIp };

const spec: KindSpec<IPAddress> = {
  group: "networking.k8s.io",
  version: "v1",
  names: { kind: "IPAddress", plural: "ipaddresses", short: ["ip"] },
  scope: "Cluster",
  schema: builtInSchema("networking.v1.IPAddress"),
  nameRule: isCanonicalIp,
  namesAreGiven: true,
  unconditionalUpdate: true,
  validate: ({ metadata, spec }) => [
    ...validateFinalizers(metadata),
    ...validateParent(spec.parentRef),
  ],
  validateUpdate: (address, old) => [
    ...validateKubeMeta(address.metadata, META),
    ...validateParent(address.spec.parentRef),
    ...validateKubeMetaUpdate(address, old),
    ...validateImmutableField(
      parentForm(address.spec.parentRef),
      parentForm(old.spec.parentRef),
      Path.of("spec", "parentRef"),
    ),
  ],
  columns: [
    nameColumn,
    {
      name: "ParentRef",
      type: "string",
      describedBy: "networking.v1.IPAddressSpec.parentRef",
      cell: ({ spec }) => parentText(spec.parentRef),
    },
    { ...ageColumn, headless: true },
  ],
};

export const ipAddressKind = defineKind(spec);

export const ipAddressV1beta1Kind = alsoServedAs(spec, "v1beta1", "networking.v1beta1.IPAddress", {
  deprecation: "networking.k8s.io/v1beta1 IPAddress is deprecated in v1.34+, unavailable in v1.37+",
});

function validateParent(parent: ParentReference | undefined): FieldError[] {
  const path = Path.of("spec", "parentRef");
  if (parent === undefined) return [required(path, "")];
  const { group = "", resource = "", name = "", namespace = "" } = parent;
  const errors: FieldError[] = [];
  if (group !== "")
    errors.push(...invalidEach(path.child("group"), group, isDns1123Subdomain(group)));
  errors.push(...validatePathSegment(resource, path.child("resource")));
  errors.push(...validatePathSegment(name, path.child("name")));
  errors.push(...invalidEach(path.child("namespace"), namespace, isPathSegmentName(namespace)));
  return errors;
}

function parentForm(parent: ParentReference | undefined): unknown {
  return internalForm("*networking.v1.ParentReference", parent);
}

function parentText(parent: ParentReference | undefined): string {
  if (parent === undefined) return NONE;
  const { group = "", resource = "", namespace = "", name = "" } = parent;
  const kind = (group === "" ? resource : `${resource}.${group}`).toLowerCase();
  return [kind, ...(namespace === "" ? [] : [namespace]), name].join("/");
}
