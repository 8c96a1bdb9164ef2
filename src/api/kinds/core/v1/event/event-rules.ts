/**
 * Validation of Events. Writes through the core group have the old, lenient rules; events.k8s.io has
 * stricter ones. Both work on the core form, which is the one that is stored.
 */
import type { Event } from "#api/generated/core.v1.ts";
import { type FieldError, invalid, required } from "#api/validation/field-error.ts";
import { semanticEqual, validateImmutableField } from "#api/validation/immutable.ts";
import { internalForm } from "#api/validation/internal-form.ts";
import { validateFinalizers, validateKubeMetaUpdate } from "#api/validation/kube-meta.ts";
import { isDns1123Subdomain, isQualifiedName } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { utf8Length } from "#lib/text/utf8-length.ts";

const SHORT_TEXT_MAX = 128;
const MESSAGE_MAX = 1024;

/** `reporter`: the name of the field reportingController in the requested version. */
export function validateLegacyEvent(event: Event, reporter: string): FieldError[] {
  const { metadata, involvedObject, eventTime } = event;
  const namespace = metadata.namespace ?? "";
  const about = involvedObject.namespace ?? "";
  const isNew = Boolean(eventTime);
  const errors: FieldError[] = [];
  // About an object without a namespace, an event is written in the default one.
  const mayDiffer = isNew ? ["default", "kube-system"] : ["", "default"];
  const fits = about === "" ? mayDiffer.includes(namespace) : isNew || namespace === about;
  if (!fits) {
    const path = Path.of("involvedObject", "namespace");
    errors.push(invalid(path, about, "does not match event.namespace"));
  }
  if (isNew) errors.push(...validateNewFields(event, reporter));
  for (const fault of isDns1123Subdomain(namespace)) {
    errors.push(invalid(Path.of("namespace"), namespace, fault));
  }
  return errors;
}

/** What events.k8s.io asks of a new event, beside its metadata. */
export function validateStrictEvent(event: Event): FieldError[] {
  const errors = [
    ...validateLegacyEvent(event, "reportingController"),
    ...validateFinalizers(event.metadata),
    ...validateSeries(event),
  ];
  if (!event.eventTime) errors.push(required(Path.of("eventTime"), ""));
  if (event.type !== "Normal" && event.type !== "Warning") {
    errors.push(invalid(Path.of("type"), "", `has invalid value: ${event.type ?? ""}`));
  }
  const { firstTimestamp, lastTimestamp, count, source } = event;
  const old = { firstTimestamp, lastTimestamp, count, source: source.component || source.host };
  for (const [field, value] of Object.entries(old)) {
    if (value) errors.push(invalid(Path.of(field), "", "needs to be unset"));
  }
  return errors;
}

/** Only the series of an event goes on; all else is history. */
export function validateStrictEventUpdate(next: Event, old: Event): FieldError[] {
  const errors = [
    ...validateLegacyEvent(next, "reportingController"),
    ...validateKubeMetaUpdate(next, old),
  ];
  if (!semanticEqual(next.series, old.series)) errors.push(...validateSeries(next));
  for (const [field, type, name = field] of FIXED) {
    const [now, before] = [next[field] ?? undefined, old[field] ?? undefined];
    for (const error of validateImmutableField(now, before, Path.of(name))) {
      errors.push({ ...error, badValue: internalForm(type, now) });
    }
  }
  return errors;
}

/** Field, its type, and its path where that differs. */
const FIXED: readonly (readonly [field: keyof Event, type: string, name?: string])[] = [
  ["involvedObject", "core.v1.ObjectReference"],
  ["reason", "string"],
  ["message", "string"],
  ["source", "core.v1.EventSource"],
  ["firstTimestamp", "*string"],
  ["lastTimestamp", "*string"],
  ["count", "int32"],
  ["reason", "string"],
  ["type", "string"],
  ["eventTime", "*string"],
  ["action", "string"],
  ["related", "*core.v1.ObjectReference"],
  ["reportingComponent", "string", "reportingController"],
  ["reportingInstance", "string"],
];

function validateNewFields(event: Event, reporter: string): FieldError[] {
  const { reportingComponent, reportingInstance, action = "", reason = "", message = "" } = event;
  const errors: FieldError[] = [];
  const path = Path.of(reporter);
  if (reportingComponent === "") errors.push(required(path, ""));
  for (const fault of isQualifiedName(reportingComponent)) {
    errors.push(invalid(path, reportingComponent, fault));
  }
  for (const [field, text] of Object.entries({ reportingInstance, action, reason })) {
    if (text === "") errors.push(required(Path.of(field), ""));
    errors.push(...validateLength(text, SHORT_TEXT_MAX, Path.of(field)));
  }
  errors.push(...validateLength(message, MESSAGE_MAX, Path.of("message")));
  return errors;
}

function validateLength(text: string, max: number, path: Path): FieldError[] {
  if (utf8Length(text) <= max) return [];
  return [invalid(path, "", `can have at most ${max} characters`)];
}

function validateSeries({ series }: Event): FieldError[] {
  if (series === undefined) return [];
  const errors: FieldError[] = [];
  if ((series.count ?? 0) < 2) {
    errors.push(invalid(Path.of("series.count"), "", "should be at least 2"));
  }
  if (!series.lastObservedTime) errors.push(required(Path.of("series.lastObservedTime"), ""));
  return errors;
}
