/** The images of nodes as a table for people. */
import type { CriImage } from "#kubelet/cri/image-methods.ts";

interface Row {
  readonly node: string;
  readonly image: Pick<CriImage, "id" | "repoTags" | "repoDigests" | "size">;
}

const HEADER = ["NODE", "IMAGE", "ID", "SIZE"];
const SHORT_ID = 12;

export function imageTable(rows: readonly Row[]): string {
  const cells = rows.flatMap(({ node, image }) =>
    namesOf(image).map((name) => [node, name, shortId(image.id), sizeText(image.size)]),
  );
  const lines = [HEADER, ...cells.sort((a, b) => (a.join() < b.join() ? -1 : 1))];
  const widths = HEADER.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  return lines
    .map(
      (line) =>
        `${line
          .map((cell, column) => cell.padEnd(widths[column]! + 2))
          .join("")
          .trimEnd()}\n`,
    )
    .join("");
}

function namesOf({ repoTags, repoDigests }: Row["image"]): readonly string[] {
  return repoTags.length > 0
    ? repoTags
    : repoDigests.length > 0
      ? repoDigests.slice(0, 1)
      : ["<none>"];
}

function shortId(id: string): string {
  return id.replace(/^sha256:/, "").slice(0, SHORT_ID);
}

/** In decimal units, as `docker images` shows them. */
function sizeText(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}
