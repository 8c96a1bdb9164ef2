import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { bodyEncoding, negotiate, negotiateFailure, refuseByRoute } from "./negotiate.ts";

const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io";

describe("content negotiation (Accept)", () => {
  const cases = [
    { accept: undefined, want: "json" },
    { accept: "*/*", want: "json" },
    { accept: "application/json", want: "json" },
    { accept: "application/yaml", want: "yaml" },
    { accept: "application/vnd.kubernetes.protobuf", want: "protobuf" },
    { accept: "application/vnd.kubernetes.protobuf,application/json", want: "protobuf" },
    { accept: "application/yaml;q=0.5,application/json", want: "json" },
    { accept: TABLE, want: "json Table v1" },
    { accept: `${TABLE},application/json`, want: "json Table v1" },
    {
      accept: `application/json;as=Table;v=v1beta1;g=meta.k8s.io,${TABLE}`,
      want: "json Table v1beta1",
    },
    {
      accept: "application/yaml;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
      want: "yaml PartialObjectMetadata v1",
    },
    { accept: "application/json;as=Table;v=v2;g=meta.k8s.io", want: 406 },
    { accept: "application/json;as=Table;v=v2;g=meta.k8s.io,application/json", want: "json" },
    { accept: "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io", want: 406 },
    { accept: "text/html", want: 406 },
    { accept: "application/json;as=;v=;g=", want: "json" },
  ];
  for (const { accept, want } of cases) {
    test(`${accept} gets ${want}`, () => {
      const headers = accept === undefined ? {} : { accept };
      const media = negotiate({ headers, query: new URLSearchParams() });
      if (!media.ok) {
        assert.equal(media.status.code, want);
        return;
      }
      const { encoding, as } = media.value;
      assert.equal([encoding, ...(as ? [as.kind, as.version] : [])].join(" "), want);
    });
  }

  test("where there is no Table, the next accepted media type is taken", () => {
    const ask = (accept: string) =>
      negotiate({ headers: { accept }, query: new URLSearchParams(), tables: false });
    assert.ok(!ask(TABLE).ok);
    assert.ok(ask(`${TABLE},application/json`).ok);
  });

  test("a Status is never transformed, and is sent as JSON if Accept matches nothing", () => {
    const query = new URLSearchParams();
    const negotiated = (accept: string) => {
      const { encoding, pretty, as } = negotiateFailure({ accept }, query);
      return [encoding, pretty, as];
    };
    assert.deepEqual(negotiated("application/yaml"), ["yaml", false, undefined]);
    assert.deepEqual(negotiated(`${TABLE},application/json`), ["json", false, undefined]);
    assert.deepEqual(negotiated(TABLE), ["json", true, undefined]);
    assert.deepEqual(negotiated("text/html"), ["json", true, undefined]);
  });

  test("a watch is never YAML", () => {
    const query = new URLSearchParams();
    const yaml = negotiate({ headers: { accept: "application/yaml" }, query, watch: true });
    assert.match(yaml.ok ? "" : (yaml.status.message ?? ""), /application\/json;stream=watch/);
    const stream = { accept: "application/json;stream=watch" };
    assert.ok(negotiate({ headers: stream, query, watch: true }).ok);
  });

  const pretty = [
    { agent: "curl/8.0", query: "", want: true },
    { agent: "curl/8.0", query: "pretty=false", want: false },
    { agent: "kubectl/v1.36.0", query: "", want: false },
    { agent: "kubectl/v1.36.0", query: "pretty=true", want: true },
  ];
  for (const { agent, query, want } of pretty) {
    test(`${agent} with "${query}" gets ${want ? "indented" : "compact"} JSON`, () => {
      const headers = { "user-agent": agent };
      const media = negotiate({ headers, query: new URLSearchParams(query) });
      assert.equal(media.ok && media.value.pretty, want);
    });
  }

  test("a route knows whole media types only", () => {
    assert.equal(refuseByRoute({ accept: "application/*" }, false)?.code, 406);
    assert.equal(refuseByRoute({ accept: TABLE }, false), undefined);
    assert.equal(refuseByRoute({ accept: "image/gif, */*" }, false), undefined);
    assert.equal(refuseByRoute({ accept: ";" }, false)?.code, 406);
    assert.equal(refuseByRoute({ accept: "application/yaml" }, false, ["text/plain"])?.code, 406);
  });

  test("bodyEncoding knows JSON and YAML, and no other Content-Type", () => {
    const types = ["", "application/json; charset=utf-8", "application/yaml", "text/plain"];
    assert.deepEqual(
      types.map((type) => bodyEncoding({ "content-type": type })),
      ["json", "json", "yaml", undefined],
    );
  });
});
