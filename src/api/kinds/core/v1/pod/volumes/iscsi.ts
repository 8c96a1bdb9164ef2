/** Disks over the network: names of targets and initiators. */
import type { ISCSIVolumeSource } from "#api/generated/core.v1.ts";
import { type FieldError, invalid, required } from "#api/validation/field-error.ts";
import type { Path } from "#api/validation/path.ts";

/** Each scheme of names, and what a name in it looks like. */
const NAME_FORMATS: Readonly<Record<string, RegExp>> = {
  iqn: /iqn\.\d{4}-\d{2}\.([A-Za-z0-9-.]+)(:[^,;*&$|\s]+)$/,
  eui: /^eui.[A-Za-z0-9]{16}$/,
  naa: /^naa.[A-Za-z0-9]{32}$/,
};
const SCHEME_FAULT = "must be valid format starting with iqn, eui, or naa";

export function validateIscsi(iscsi: ISCSIVolumeSource, path: Path, errors: FieldError[]): void {
  const { targetPortal, iqn, lun, initiatorName } = iscsi;
  if (targetPortal === "") errors.push(required(path.child("targetPortal"), ""));
  if (iqn === "") errors.push(required(path.child("iqn"), ""));
  else validateName(iqn, path.child("iqn"), errors);
  if (lun < 0 || lun > 255) {
    errors.push(invalid(path.child("lun"), lun, "must be between 0 and 255, inclusive"));
  }
  if ((iscsi.chapAuthDiscovery || iscsi.chapAuthSession) && iscsi.secretRef === undefined) {
    errors.push(required(path.child("secretRef"), ""));
  }
  if (initiatorName !== undefined) {
    validateName(initiatorName, path.child("initiatorname"), errors);
  }
}

/** A target's or an initiator's name in one of the schemes. */
export function isIscsiName(name: string): boolean {
  return NAME_FORMATS[name.slice(0, 3)]?.test(name) === true;
}

function validateName(name: string, path: Path, errors: FieldError[]): void {
  const format = NAME_FORMATS[name.slice(0, 3)];
  if (format === undefined) errors.push(invalid(path, name, SCHEME_FAULT));
  else if (!format.test(name)) errors.push(invalid(path, name, "must be valid format"));
}
