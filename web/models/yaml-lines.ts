/** An object as lines of YAML that know which field they show, so that a line can name its owner. Pure. */
import { dump } from "js-yaml";

export interface YamlLine {
  readonly text: string;
  readonly path: FieldPath;
}

/** Keys of maps and indexes of lists. */
export type FieldPath = readonly (string | number)[];

export function yamlLines(value: unknown): readonly YamlLine[] {
  return lines(value, [], "");
}

function lines(value: unknown, path: FieldPath, indent: string): YamlLine[] {
  if (Array.isArray(value) && value.length > 0) {
    return value.flatMap((item, index) => {
      const inner = lines(item, [...path, index], `${indent}  `);
      const [first, ...rest] = inner;
      if (first === undefined) return [];
      const text = `${indent}- ${first.text.slice(indent.length + 2)}`;
      return [{ ...first, text }, ...rest];
    });
  }
  if (isMap(value) && Object.keys(value).length > 0) {
    return Object.entries(value).flatMap(([key, child]) => {
      const at = [...path, key];
      const name = scalar(key);
      if (!isMap(child) && !Array.isArray(child)) {
        const [first = "", ...rest] = scalarLines(child);
        return [`${indent}${name}: ${first}`, ...rest.map((line) => `${indent}${line}`)].map(
          (text) => ({ text, path: at }),
        );
      }
      const isEmpty = Object.keys(child).length === 0;
      if (isEmpty)
        return [{ text: `${indent}${name}: ${Array.isArray(child) ? "[]" : "{}"}`, path: at }];
      const deeper = Array.isArray(child) ? indent : `${indent}  `;
      return [{ text: `${indent}${name}:`, path: at }, ...lines(child, at, deeper)];
    });
  }
  if (isMap(value) || Array.isArray(value))
    return [{ text: `${indent}${Array.isArray(value) ? "[]" : "{}"}`, path }];
  return scalarLines(value).map((line) => ({ text: `${indent}${line}`, path }));
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function scalar(value: unknown): string {
  return dump(value, { lineWidth: -1 }).trimEnd();
}

/** Text of several lines is a block. */
function scalarLines(value: unknown): readonly string[] {
  if (value === undefined) return ["null"];
  return dump({ x: value }, { lineWidth: -1 }).replace(/\n$/, "").slice("x: ".length).split("\n");
}
