import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { seededRandom } from "#lib/random.ts";
import { CONFIG_MAPS, configMap, startTestApi, type TestApi } from "../api.testing.ts";

async function fill(t: TestApi, names: readonly string[]): Promise<void> {
  for (const name of names) await t.want(201, "POST", CONFIG_MAPS, { body: configMap(name) });
}

const namesOf = (list: { items: { metadata: { name: string } }[] }): string[] =>
  list.items.map(({ metadata }) => metadata.name);

/** Creates, replaces and deletes ConfigMaps. Returns what a list showed after each change, by revision. */
async function changeAtRandom(t: TestApi): Promise<ReadonlyMap<string, readonly string[]>> {
  const random = seededRandom(7);
  const alive = new Set<string>();
  const remembered = new Map<string, readonly string[]>();
  for (let step = 0; step < 60; step++) {
    const name = `m${random.integer(20)}`;
    const url = `${CONFIG_MAPS}/${name}`;
    const labels = { form: random.next() < 0.5 ? "odd" : "even" };
    const body = configMap(name, { metadata: { labels }, data: { step: String(step) } });
    if (!alive.has(name)) {
      await t.want(201, "POST", CONFIG_MAPS, { body });
      alive.add(name);
    } else if (random.next() < 0.5) {
      await t.want(200, "DELETE", url);
      alive.delete(name);
    } else await t.want(200, "PUT", url, { body });
    const list = await t.want(200, "GET", CONFIG_MAPS);
    remembered.set(list.metadata.resourceVersion, shownIn(list));
  }
  return remembered;
}

/** All pages of a list at a revision. */
async function listAt(t: TestApi, revision: string, selector: string): Promise<string[]> {
  const exact = `resourceVersion=${revision}&resourceVersionMatch=Exact`;
  const url = `${CONFIG_MAPS}?limit=3${selector}`;
  const shown: string[] = [];
  let page = await t.want(200, "GET", `${url}&${exact}`);
  for (;;) {
    shown.push(...shownIn(page));
    const { continue: token, remainingItemCount: remaining } = page.metadata;
    if (token === undefined) return shown;
    page = await t.want(200, "GET", `${url}&continue=${token}`);
    if (selector === "")
      assert.equal(remaining, page.items.length + (page.metadata.remainingItemCount ?? 0));
  }
}

interface ShownMap {
  readonly metadata: { readonly name: string; readonly labels: { readonly form: string } };
  readonly data: { readonly step: string };
}

const shownIn = ({ items }: { readonly items: readonly ShownMap[] }): string[] =>
  items.map(({ metadata, data }) => `${metadata.name} ${data.step} ${metadata.labels.form}`);

describe("LIST", () => {
  test("items are in the order of their keys and have no kind field", async () => {
    await using t = await startTestApi();
    await fill(t, ["m0", "m-1", "zz", "m.1", "a"]);
    const list = await t.want(200, "GET", CONFIG_MAPS);
    assert.deepEqual(namesOf(list), ["a", "m-1", "m.1", "m0", "zz"]);
    assert.equal(list.kind, "ConfigMapList");
    assert.equal(list.items[0].kind, undefined);
    assert.equal(list.items[0].metadata.resourceVersion, String(t.api.store.cache.revision));
  });

  test("all namespaces, one namespace, one name", async () => {
    await using t = await startTestApi();
    await fill(t, ["a"]);
    await t.want(201, "POST", "/api/v1/namespaces/other/configmaps", { body: configMap("b") });
    const cases = [
      { url: "/api/v1/configmaps", names: ["a", "b"] },
      { url: "/api/v1/namespaces/other/configmaps", names: ["b"] },
      { url: "/api/v1/namespaces/nowhere/configmaps", names: [] },
      { url: "/api/v1/configmaps?fieldSelector=metadata.name%3Da", names: ["a"] },
      { url: "/api/v1/configmaps?fieldSelector=metadata.namespace!%3Dother", names: ["a"] },
      {
        url: "/api/v1/configmaps?fieldSelector=metadata.name%3Da%2Cmetadata.namespace%3Dother",
        names: [],
      },
    ];
    for (const { url, names } of cases) {
      assert.deepEqual(namesOf(await t.want(200, "GET", url)), names, url);
    }
  });

  test("pages show one revision, however much changes in between", async () => {
    await using t = await startTestApi();
    await fill(t, ["a", "b", "c", "d", "e"]);
    const at = String(t.api.store.cache.revision);
    const first = await t.want(200, "GET", `${CONFIG_MAPS}?limit=2`);
    assert.deepEqual(first.metadata.remainingItemCount, 3);
    await t.want(200, "DELETE", `${CONFIG_MAPS}/c`);
    await fill(t, ["bb", "f"]);
    await t.want(200, "PUT", `${CONFIG_MAPS}/d`, { body: configMap("d", { data: { k: "new" } }) });
    const names = namesOf(first);
    let token = first.metadata.continue;
    while (token !== undefined) {
      const page = await t.want(200, "GET", `${CONFIG_MAPS}?limit=2&continue=${token}`);
      assert.equal(page.metadata.resourceVersion, at);
      assert.ok(page.items.every((item: { data: { k: string } }) => item.data.k !== "new"));
      names.push(...namesOf(page));
      token = page.metadata.continue;
    }
    assert.deepEqual(names, ["a", "b", "c", "d", "e"]);
    assert.deepEqual(namesOf(await t.want(200, "GET", CONFIG_MAPS)), [
      "a",
      "b",
      "bb",
      "d",
      "e",
      "f",
    ]);
  });

  test("earlier revisions are listed as they were, from the watch window and from the store", async () => {
    await using t = await startTestApi();
    const remembered = await changeAtRandom(t);
    const check = async (): Promise<void> => {
      for (const [revision, shown] of remembered) {
        assert.deepEqual(await listAt(t, revision, ""), shown);
        const odd = shown.filter((text) => text.endsWith("odd"));
        assert.deepEqual(await listAt(t, revision, "&labelSelector=form%3Dodd"), odd);
      }
    };
    const { cache } = t.api.store;
    const configMaps = [...cache.all()].find(({ resource }) => resource.plural === "configmaps")!;
    const oldest = Number([...remembered.keys()][0]);
    assert.ok(configMaps.completeSince <= oldest);
    await check();
    await t.clock.advance(120_000); // the window keeps the last 128 changes however old they are
    await fill(t, ["later"]);
    for (let n = 0; n < 130; n++) {
      const body = configMap("later", { data: { n: String(n) } });
      await t.want(200, "PUT", `${CONFIG_MAPS}/later`, { body });
    }
    assert.ok(configMaps.completeSince >= Number([...remembered.keys()].at(-1)));
    await check();
  });

  test("a page with a continue token reads no more of the history than its limit", async () => {
    await using t = await startTestApi();
    await fill(t, ["a", "b", "c", "d", "e"]);
    let page = await t.want(200, "GET", `${CONFIG_MAPS}?limit=2`);
    for (let n = 0; n < 130; n++) {
      if (n === 1) await t.clock.advance(120_000); // the watch window lets go of the revision
      const body = configMap("a", { data: { n: String(n) } });
      await t.want(200, "PUT", `${CONFIG_MAPS}/a`, { body });
    }
    const limits: unknown[] = [];
    const range = t.store.range.bind(t.store);
    t.store.range = (prefix, options) => {
      limits.push(options?.limit);
      return range(prefix, options);
    };
    const names = namesOf(page);
    while (page.metadata.continue !== undefined) {
      page = await t.want(200, "GET", `${CONFIG_MAPS}?limit=2&continue=${page.metadata.continue}`);
      names.push(...namesOf(page));
    }
    assert.deepEqual(
      [names, limits],
      [
        ["a", "b", "c", "d", "e"],
        [2, 2],
      ],
    );
  });

  test("a page says how many follow it in its namespace", async () => {
    await using t = await startTestApi();
    await fill(t, ["a", "b", "c"]);
    await t.want(201, "POST", "/api/v1/namespaces/other/configmaps", { body: configMap("z") });
    const cases = [
      { url: `${CONFIG_MAPS}?limit=2`, names: ["a", "b"], remaining: 1 },
      { url: `${CONFIG_MAPS}?limit=-1`, names: ["a", "b", "c"], remaining: undefined },
      { url: `${CONFIG_MAPS}?fieldSelector=metadata.name%3D%2F`, names: [], remaining: undefined },
      { url: `${CONFIG_MAPS}?limit=3`, names: ["a", "b", "c"], remaining: undefined },
      { url: `${CONFIG_MAPS}?limit=4`, names: ["a", "b", "c"], remaining: undefined },
      { url: "/api/v1/configmaps?limit=1", names: ["a"], remaining: 3 },
      { url: "/api/v1/namespaces/nowhere/configmaps?limit=1", names: [], remaining: undefined },
    ];
    for (const { url, names, remaining } of cases) {
      const page = await t.want(200, "GET", url);
      assert.deepEqual(namesOf(page), names, url);
      assert.equal(page.metadata.remainingItemCount, remaining, url);
      assert.equal(page.metadata.continue === undefined, remaining === undefined, url);
    }
  });

  test("a page whose revision is gone says so, and how to go on", async () => {
    await using t = await startTestApi();
    await fill(t, ["a", "b", "c"]);
    const { metadata } = await t.want(200, "GET", `${CONFIG_MAPS}?limit=1`);
    await fill(t, ["d"]);
    await t.store.compact(t.api.store.cache.revision);
    const url = `${CONFIG_MAPS}?limit=1&continue=${metadata.continue}`;
    const status = await t.want(410, "GET", url);
    assert.equal(status.reason, "Expired");
    const rest = await t.want(200, "GET", `${CONFIG_MAPS}?continue=${status.metadata.continue}`);
    assert.deepEqual(namesOf(rest), ["b", "c", "d"]);
  });

  test("a page whose revision is gone says so even if nothing of its kind has changed", async () => {
    await using t = await startTestApi();
    await fill(t, ["a", "b", "c"]);
    const at = t.api.store.cache.revision;
    const { metadata } = await t.want(200, "GET", `${CONFIG_MAPS}?limit=1`);
    const urls = [
      `${CONFIG_MAPS}?limit=1&continue=${metadata.continue}`,
      `${CONFIG_MAPS}?resourceVersion=${at}&resourceVersionMatch=Exact`,
    ];
    await t.store.put("/registry/other", new Uint8Array(1));
    await t.store.compact(at);
    for (const url of urls) await t.want(200, "GET", url);
    await t.store.compact(at + 1);
    for (const url of urls) assert.equal((await t.want(410, "GET", url)).reason, "Expired");
  });

  test("the state that a revision names", async () => {
    await using t = await startTestApi();
    await fill(t, ["a"]);
    const then = t.api.store.cache.revision;
    await fill(t, ["b"]);
    const now = t.api.store.cache.revision;
    const cases = [
      { query: "", names: ["a", "b"], at: now },
      { query: "resourceVersion=0", names: ["a", "b"], at: now },
      { query: `resourceVersion=${then}`, names: ["a", "b"], at: now },
      {
        query: `resourceVersion=${then}&resourceVersionMatch=NotOlderThan`,
        names: ["a", "b"],
        at: now,
      },
      { query: `resourceVersion=${then}&resourceVersionMatch=Exact`, names: ["a"], at: then },
      { query: `resourceVersion=${then}&limit=10`, names: ["a"], at: then },
      { query: `resourceVersion=${now}&resourceVersionMatch=Exact`, names: ["a", "b"], at: now },
    ];
    for (const { query, names, at } of cases) {
      const list = await t.want(200, "GET", `${CONFIG_MAPS}?${query}`);
      assert.deepEqual([namesOf(list), list.metadata.resourceVersion], [names, String(at)], query);
    }
  });

  test("LIST with a resourceVersion in the future waits for it, but not for ever", async () => {
    await using t = await startTestApi();
    const asking = t.ask("GET", `${CONFIG_MAPS}?resourceVersion=${t.api.store.cache.revision + 1}`);
    await fill(t, ["a"]);
    assert.equal((await asking).code, 200);
    const waiting = t.ask("GET", `${CONFIG_MAPS}?resourceVersion=999999`);
    await t.clock.advance(3_000);
    const { code, body } = await waiting;
    assert.equal(code, 504);
    assert.equal(body.details.causes[0].reason, "ResourceVersionTooLarge");
  });

  test("with resourceVersion 0 is whole, whatever the limit", async () => {
    await using t = await startTestApi();
    await fill(t, ["a", "b", "c"]);
    const list = await t.want(200, "GET", `${CONFIG_MAPS}?limit=1&resourceVersion=0`);
    assert.deepEqual(namesOf(list), ["a", "b", "c"]);
    assert.equal(list.metadata.continue, undefined);
  });

  test("a continue token with a future revision is refused with 504", async () => {
    await using t = await startTestApi();
    await fill(t, ["a", "b"]);
    const token = continueToken({ v: "meta.k8s.io/v1", rv: 999_999, start: "a\0" });
    const asked = t.ask("GET", `${CONFIG_MAPS}?limit=1&continue=${token}`);
    await t.clock.advance(3_000);
    const { code, body } = await asked;
    assert.equal(code, 504);
    assert.equal(body.details.causes[0].reason, "ResourceVersionTooLarge");
  });

  for (const rv of [1.5, "5", true, 1e300]) {
    test(`a continue token with the revision ${JSON.stringify(rv)} is refused with 400`, async () => {
      await using t = await startTestApi();
      const token = continueToken({ v: "meta.k8s.io/v1", rv, start: "a\0" });
      const { message } = await t.want(400, "GET", `${CONFIG_MAPS}?limit=1&continue=${token}`);
      assert.match(
        message,
        /json: cannot unmarshal (number \S+|string|bool) into Go struct field continueToken.rv/,
      );
    });
  }

  const refused = [
    { query: "limit=x", code: 400 },
    { query: "continue=garbage", code: 400 },
    { query: "labelSelector=a%3Db%3Dc", code: 400 },
    { query: "fieldSelector=data.k%3Dv", code: 400 },
    { query: "resourceVersionMatch=Exact", code: 422 },
    { query: "resourceVersion=1&resourceVersionMatch=Sometimes", code: 422 },
    { query: "resourceVersion=abc", code: 400 },
    { query: "resourceVersion=18446744073709551616", code: 400 },
    { query: "limit=", code: 400 },
    { query: "limit=9223372036854775808", code: 400 },
    { query: "watch=1&resourceVersion=abc", code: 500 },
    { query: "sendInitialEvents=true", code: 422 },
    { query: "timeout=soon", code: 400 },
  ];
  for (const { query, code } of refused) {
    test(`${query} is refused with ${code}`, async () => {
      await using t = await startTestApi();
      const status = await t.want(code, "GET", `${CONFIG_MAPS}?${query}`);
      assert.equal(status.kind, "Status");
      assert.equal(status.code, code);
    });
  }

  test("a Table and a PartialObjectMetadataList of the same objects are served", async () => {
    await using t = await startTestApi();
    await fill(t, ["a"]);
    const as = (what: string) => ({
      headers: { accept: `application/json;as=${what};v=v1;g=meta.k8s.io` },
    });
    const table = await t.want(200, "GET", CONFIG_MAPS, as("Table"));
    assert.deepEqual(table.rows[0].cells.slice(0, 2), ["a", 1]);
    assert.equal(table.rows[0].object.kind, "PartialObjectMetadata");
    const partial = await t.want(200, "GET", CONFIG_MAPS, as("PartialObjectMetadataList"));
    assert.deepEqual(Object.keys(partial.items[0]), ["kind", "apiVersion", "metadata"]);
    await t.want(406, "GET", CONFIG_MAPS, as("PartialObjectMetadata"));
  });
});

function continueToken(token: object): string {
  return Buffer.from(JSON.stringify(token)).toString("base64url");
}
