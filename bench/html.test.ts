import assert from "node:assert/strict";
import { test } from "vitest";
import { htmlPage } from "./html.ts";

test("benchmark page: value, limit, ratio and a bar chart for each row, nothing from elsewhere", () => {
  const rows = [
    { name: "GET <pod>", value: 50, unit: "/s", limit: 100, limitName: "bare", target: 0.8 },
    { name: "start", value: 0.25, unit: "s" },
  ];
  const page = htmlPage([{ bench: "api", rows }], { caption: "Node & co" });
  assert.match(
    page,
    /<tr class="missed"><td>GET &lt;pod><\/td>.*50 \/s.*100 bare.*0\.500×.*≥ 0\.8/,
  );
  assert.match(page, /<rect class="value" x="0" y="1" width="130\.0"/);
  assert.match(page, /<rect class="limit" x="0" y="11" width="260\.0"/);
  assert.match(page, /<td>start<\/td><td class="number">0\.250 s<\/td>/);
  assert.match(page, /Node &amp; co/);
  assert.doesNotMatch(page, /https?:|src=|href=|@import/);
});
