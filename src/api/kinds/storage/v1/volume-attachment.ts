/** storage.k8s.io/v1 VolumeAttachment: the wish to attach a volume to a node, and what came of it. */

import { STATUS_RESETS_METADATA } from "#api/apply/reset-fields.ts";
import { ageColumn, nameColumn } from "#api/columns.ts";
import { RETURNS_OBJECT } from "#api/deletion-rules.ts";
import { keep, keepMetadata } from "#api/draft.ts";
import type {
  VolumeAttachment,
  VolumeAttachmentSource,
  VolumeAttachmentStatus,
} from "#api/generated/storage.v1.ts";
import { defineKind } from "#api/kind.ts";
import { validateCsiDriver } from "#api/kinds/core/v1/persistent-volume/disk-sources.ts";
import { defaultVolumeSource } from "#api/kinds/core/v1/persistent-volume/sources.ts";
import { validateInlineVolumeSpec } from "#api/kinds/core/v1/persistent-volume/spec.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import {
  type FieldError,
  forbidden,
  invalid,
  required,
  tooLong,
} from "#api/validation/field-error.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import { internalForm } from "#api/validation/internal-form.ts";
import { validateFinalizers, validateKubeMeta } from "#api/validation/kube-meta.ts";
import { isDns1123Subdomain, nameIsDnsSubdomain } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { utf8Length } from "#lib/text/utf8-length.ts";

const METADATA_BYTES_MAX = 256 * 1024;
const MESSAGE_MAX = 1024;
const SPEC = Path.of("spec");

export const volumeAttachmentKind = defineKind<VolumeAttachment>({
  group: "storage.k8s.io",
  version: "v1",
  names: { kind: "VolumeAttachment", plural: "volumeattachments" },
  scope: "Cluster",
  schema: builtInSchema("storage.v1.VolumeAttachment"),
  resetFields: STATUS_RESETS_METADATA,
  deletion: RETURNS_OBJECT,
  nameRule: nameIsDnsSubdomain,

  defaults({ spec: { source } }) {
    if (source.inlineVolumeSpec !== undefined) defaultVolumeSource(source.inlineVolumeSpec);
  },
  prepareCreate(draft) {
    draft.status = { attached: false };
  },
  validate: (attachment) => [
    ...validateFinalizers(attachment.metadata),
    ...validateAttachment(attachment),
  ],
  prepareUpdate(draft, old) {
    draft.status = keep(old.status);
  },
  validateUpdate,

  subresources: {
    status: {
      prepareUpdate(draft, old) {
        draft.spec = keep(old.spec);
        keepMetadata(draft, old);
      },
      validateUpdate,
    },
  },

  columns: [
    nameColumn,
    {
      name: "Attacher",
      type: "string",
      format: "name",
      describedBy: "storage.v1.VolumeAttachmentSpec.attacher",
      cell: ({ spec }) => spec.attacher,
    },
    {
      name: "PV",
      type: "string",
      describedBy: "storage.v1.VolumeAttachmentSource.persistentVolumeName",
      cell: ({ spec }) => spec.source.persistentVolumeName ?? "",
    },
    {
      name: "Node",
      type: "string",
      describedBy: "storage.v1.VolumeAttachmentSpec.nodeName",
      cell: ({ spec }) => spec.nodeName,
    },
    {
      name: "Attached",
      type: "boolean",
      describedBy: "storage.v1.VolumeAttachmentStatus.attached",
      cell: ({ status }) => status.attached,
    },
    ageColumn,
  ],
});

function validateUpdate(next: VolumeAttachment, old: VolumeAttachment): FieldError[] {
  const errors = [
    ...validateKubeMeta(next.metadata, { namespaced: false, nameRule: nameIsDnsSubdomain }),
    ...validateAttachment(next),
  ];
  if (semanticEqual(next.spec, old.spec)) return errors;
  const shown = internalForm("storage.v1.VolumeAttachmentSpec", next.spec);
  return [...errors, invalid(SPEC, shown, "field is immutable")];
}

function validateAttachment({ spec, status }: VolumeAttachment): FieldError[] {
  const errors: FieldError[] = [];
  validateCsiDriver(spec.attacher, SPEC.child("attacher"), errors);
  errors.push(...validateSource(spec.source, SPEC.child("source")));
  for (const fault of isDns1123Subdomain(spec.nodeName)) {
    errors.push(invalid(SPEC.child("nodeName"), spec.nodeName, fault));
  }
  errors.push(...validateStatus(status));
  const { persistentVolumeName: volume } = spec.source;
  if (volume === undefined) return errors;
  for (const fault of isDns1123Subdomain(volume)) {
    errors.push(invalid(Path.of("spec.source.persistentVolumeName"), volume, fault));
  }
  return errors;
}

function validateSource(
  { inlineVolumeSpec, persistentVolumeName }: VolumeAttachmentSource,
  path: Path,
): FieldError[] {
  const detail = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
  if (persistentVolumeName === undefined) {
    if (inlineVolumeSpec === undefined) return [required(path, detail)];
    return validateInlineVolumeSpec(inlineVolumeSpec, path.child("inlineVolumeSpec"));
  }
  if (inlineVolumeSpec !== undefined) return [forbidden(path, detail)];
  if (persistentVolumeName !== "") return [];
  const at = path.child("persistentVolumeName");
  return [required(at, "must specify non empty persistentVolumeName")];
}

function validateStatus(status: VolumeAttachmentStatus): FieldError[] {
  const path = Path.of("status");
  const errors: FieldError[] = [];
  let bytes = 0;
  for (const [key, value] of Object.entries(status.attachmentMetadata ?? {})) {
    bytes += utf8Length(key) + utf8Length(value);
  }
  if (bytes > METADATA_BYTES_MAX) {
    errors.push(tooLong(path.child("attachmentMetadata"), METADATA_BYTES_MAX));
  }
  for (const field of ["attachError", "detachError"] as const) {
    const { message = "", errorCode = 0 } = status[field] ?? {};
    // The limit that is named is not the one that is meant; clients see it so.
    if (utf8Length(message) > MESSAGE_MAX) {
      errors.push(tooLong(path.child(field, "message"), METADATA_BYTES_MAX));
    }
    if (errorCode < 0) {
      const detail = "must be between 0 and 2147483647, inclusive";
      errors.push(invalid(path.child(field, "errorCode"), errorCode, detail));
    }
  }
  return errors;
}
