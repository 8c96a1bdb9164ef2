/** The fields that lists, watches and deletes of a custom resource can be restricted by. */
import type { CustomResourceDefinitionVersion } from "#api/generated/apiextensions.v1.ts";
import { evaluateJsonPath, jsonPathText } from "#api/json-path/evaluate.ts";
import { parseJsonPath } from "#api/json-path/parse.ts";
import type { KindSpec, KubeObject } from "#api/kind.ts";

type Selectable = Pick<KindSpec<KubeObject>, "selectableFields" | "unsupportedFieldText">;

export function selectableFieldsOf({
  selectableFields,
}: CustomResourceDefinitionVersion): Selectable {
  const paths = (selectableFields ?? []).flatMap(({ jsonPath }) => {
    const parsed = parseJsonPath(`{${jsonPath}}`);
    return parsed.ok ? [{ name: jsonPath.replace(/^\./, ""), template: parsed.template }] : [];
  });
  return {
    selectableFields: (object) =>
      Object.fromEntries(
        paths.map(({ name, template }) => {
          const first = evaluateJsonPath(template, object)[0]?.[0];
          return [name, first === undefined || first === null ? "" : jsonPathText(first)];
        }),
      ),
    unsupportedFieldText: (field) => `field label not supported: ${field}`,
  };
}
