/** The benchmark's results as one HTML page with charts. It loads nothing from elsewhere. */
import type { Row } from "./row.ts";
import { figure, higherIsBetter, isMissed, ratioOf } from "./table.ts";

export interface BenchResult {
  readonly bench: string;
  readonly rows: readonly Row[];
}

interface PageFacts {
  /** For people: when, on which Node, on how many processors. */
  readonly caption: string;
}

const BAR_PX = 260;

const STYLE = `
body { font: 14px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 70em; padding: 0 1em; color: #222; background: #fff }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: .25em .75em .25em 0; border-bottom: 1px solid #ddd; vertical-align: middle }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
rect.value { fill: #3b7dd8 } rect.limit { fill: #bbb } .missed { color: #b00020; font-weight: bold } .missed rect.value { fill: #b00020 }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #181818 } th, td { border-color: #444 } rect.limit { fill: #666 } }
`;

export function htmlPage(results: readonly BenchResult[], { caption }: PageFacts): string {
  const sections = results.map(
    ({ bench, rows }) => `<h2>${escaped(bench)}</h2>
<table>
<tr><th>measure</th><th>value</th><th>limit in the same run</th><th>ratio</th><th>target</th><th>value and limit</th></tr>
${rows.map(rowHtml).join("\n")}
</table>`,
  );
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>k8ts: benchmark</title><style>${STYLE}</style></head>
<body>
<h1>k8ts: benchmark</h1>
<p>${escaped(caption)}</p>
${sections.join("\n")}
</body>
</html>
`;
}

function rowHtml(row: Row): string {
  const { name, value, unit, limit, limitName = "limit", target } = row;
  const ratio = ratioOf(row);
  const cells = [
    `<td>${escaped(name)}</td>`,
    numberCell(`${figure(value)} ${unit}`),
    numberCell(limit === undefined ? "" : `${figure(limit)} ${limitName}`),
    numberCell(ratio === undefined ? "" : `${figure(ratio)}×`),
    numberCell(target === undefined ? "" : `${higherIsBetter(row) ? "≥" : "≤"} ${target}`),
    `<td>${limit === undefined ? "" : chart(value, limit)}</td>`,
  ];
  return `<tr${isMissed(row) ? ' class="missed"' : ""}>${cells.join("")}</tr>`;
}

/** Two bars on one scale: the value above its limit. */
function chart(value: number, limit: number): string {
  const most = Math.max(value, limit);
  const width = (one: number): number => (most <= 0 ? 0 : Math.max(1, (one / most) * BAR_PX));
  const bar = (kind: string, y: number, one: number): string =>
    `<rect class="${kind}" x="0" y="${y}" width="${width(one).toFixed(1)}" height="8"/>`;
  return `<svg width="${BAR_PX}" height="20" role="img">${bar("value", 1, value)}${bar("limit", 11, limit)}</svg>`;
}

function numberCell(text: string): string {
  return `<td class="number">${escaped(text)}</td>`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
