/** Named formats of Kubernetes: `format.dns1123Label().validate(name)`. */

import type { Library } from "#api/cel/library.ts";
import { objectType } from "#api/cel/types/type.ts";
import { ArrayList, CelObject, Optional } from "#api/cel/values/value.ts";
import { formatCheck } from "#api/kinds/apiextensions/json-schema/formats.ts";
import {
  isLabelValue,
  isQualifiedName,
  nameIsDns1035Label,
  nameIsDnsLabel,
  nameIsDnsSubdomain,
} from "#api/validation/names.ts";
import { requestUriFault } from "./urls.ts";

const TYPE = objectType("kubernetes.NamedFormat");
type Check = (text: string) => readonly string[];

const FORMATS: Readonly<Record<string, Check>> = {
  dns1123Label: (text) => nameIsDnsLabel(text, false),
  dns1123Subdomain: (text) => nameIsDnsSubdomain(text, false),
  dns1035Label: (text) => nameIsDns1035Label(text, false),
  qualifiedName: isQualifiedName,
  dns1123LabelPrefix: (text) => nameIsDnsLabel(text, true),
  dns1123SubdomainPrefix: (text) => nameIsDnsSubdomain(text, true),
  dns1035LabelPrefix: (text) => nameIsDns1035Label(text, true),
  labelValue: isLabelValue,
  uri: (text) => [requestUriFault(text)].filter((fault) => fault !== undefined),
  uuid: schemaFormat("uuid", "does not match the UUID format"),
  byte: schemaFormat("byte", "invalid base64"),
  date: schemaFormat("date", "invalid date"),
  datetime: schemaFormat("datetime", "invalid datetime"),
};

class FormatValue extends CelObject {
  readonly type = TYPE;
  readonly check: Check;

  constructor(check: Check) {
    super();
    this.check = check;
  }

  equals(other: CelObject): boolean {
    return other instanceof FormatValue && other.check === this.check;
  }
}

export const formatLibrary: Library = {
  functions: {
    "format-validate kubernetes.NamedFormat.validate(string) -> optional(list(string))": (
      { check }: FormatValue,
      text: string,
    ) => {
      const faults = check(text);
      return faults.length === 0 ? Optional.none : new Optional(new ArrayList(faults));
    },
    "format-named format.named(string) -> optional(kubernetes.NamedFormat)": (name: string) => {
      const check = Object.hasOwn(FORMATS, name) ? FORMATS[name] : undefined;
      return check === undefined ? Optional.none : new Optional(new FormatValue(check));
    },
    ...Object.fromEntries(
      Object.entries(FORMATS).map(([name, check]) => [
        `format.${name} format.${name}() -> kubernetes.NamedFormat`,
        () => new FormatValue(check),
      ]),
    ),
  },
};

function schemaFormat(name: string, fault: string): Check {
  const check = formatCheck(name);
  return (text) => (check === undefined || check(text) ? [] : [fault]);
}
