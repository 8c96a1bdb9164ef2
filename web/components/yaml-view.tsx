/** An object as YAML; beside each line who owns the field. Values of Secrets only on request. */
import { useState } from "preact/hooks";
import { fieldOwners, ownersOf } from "../models/field-owners.ts";
import { isSecret, withHiddenValues } from "../models/hidden-values.ts";
import type { KubeObject } from "../models/kube-object.ts";
import { yamlLines } from "../models/yaml-lines.ts";

export function YamlView({ object }: { readonly object: KubeObject }) {
  const [showsOwners, setShowsOwners] = useState(true);
  const [showsValues, setShowsValues] = useState(false);
  const { managedFields: _, ...metadata } = object.metadata;
  const visible = showsValues ? object : withHiddenValues(object);
  const shown = {
    ...visible,
    metadata: { ...metadata, ...withoutManagedFields(visible.metadata) },
  };
  const owners = fieldOwners(object);
  return (
    <>
      <div class="tools">
        <label>
          <input
            type="checkbox"
            checked={showsOwners}
            onChange={() => setShowsOwners(!showsOwners)}
          />{" "}
          owners of fields
        </label>
        {isSecret(object) && (
          <button type="button" onClick={() => setShowsValues(!showsValues)}>
            {showsValues ? "Hide values" : "Show values"}
          </button>
        )}
      </div>
      <table class="yaml" aria-label="YAML">
        <tbody>
          {yamlLines(shown).map(({ text, path }, index) => (
            <tr key={index}>
              <td>{text}</td>
              {showsOwners && <td class="owner">{ownersOf(owners, path).join(", ")}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

function withoutManagedFields(metadata: KubeObject["metadata"]): object {
  const { managedFields: _, ...others } = metadata;
  return others;
}
