import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { schemaOf } from "#api/schema/from-facts.ts";
import { decodeJson, encodeJson, normalize, parseJson } from "./json.ts";
import { JSON_DEPTH_MAX, JSON_TEXT_DEPTH_MAX } from "./json-syntax.ts";

const container = (members: string) => `{"spec":{"containers":[{"name":"c",${members}}]}}`;

describe("JSON codec: what is wrong with an object, in upstream's words", () => {
  const rows: readonly (readonly [string, string, string])[] = [
    [
      "core.v1.ConfigMap",
      `{"data":{"k":1}}`,
      "json: cannot unmarshal number into Go struct field ConfigMap.data of type string",
    ],
    [
      "core.v1.ConfigMap",
      `{"data":[]}`,
      "json: cannot unmarshal array into Go struct field ConfigMap.data of type map[string]string",
    ],
    [
      "core.v1.ConfigMap",
      `{"metadata":"a"}`,
      "json: cannot unmarshal string into Go struct field ConfigMap.metadata of type v1.ObjectMeta",
    ],
    [
      "core.v1.ConfigMap",
      `{"metadata":{"name":5}}`,
      "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.name of type string",
    ],
    [
      "core.v1.ConfigMap",
      `{"metadata":{"labels":{"a":true}}}`,
      "json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.labels of type string",
    ],
    [
      "core.v1.Pod",
      `{"spec":{"volumes":[{"secret":{"defaultMode":"x"}}]}}`,
      "json: cannot unmarshal string into Go struct field SecretVolumeSource.spec.volumes.VolumeSource.secret.defaultMode of type int32",
    ],
    [
      "core.v1.Pod",
      `{"spec":{"ephemeralContainers":[{"livenessProbe":{"exec":"x"}}]}}`,
      "json: cannot unmarshal string into Go struct field Probe.spec.ephemeralContainers.EphemeralContainerCommon.livenessProbe.ProbeHandler.exec of type v1.ExecAction",
    ],
    [
      "core.v1.ConfigMap",
      `{"metadata":{"creationTimestamp":"yesterday"}}`,
      'parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006"',
    ],
    [
      "core.v1.ConfigMap",
      `{"metadata":{"creationTimestamp":5}}`,
      "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.creationTimestamp of type string",
    ],
    [
      "core.v1.Pod",
      container(`"ports":[{"containerPort":"80"}]`),
      "json: cannot unmarshal string into Go struct field ContainerPort.spec.containers.ports.containerPort of type int32",
    ],
    [
      "core.v1.Pod",
      `{"spec":{"hostNetwork":"true"}}`,
      "json: cannot unmarshal string into Go struct field PodSpec.spec.hostNetwork of type bool",
    ],
    [
      "core.v1.Pod",
      `{"spec":{"containers":{}}}`,
      "json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type []v1.Container",
    ],
    [
      "core.v1.Pod",
      `{"spec":{"terminationGracePeriodSeconds":1.5}}`,
      "json: cannot unmarshal number 1.5 into Go struct field PodSpec.spec.terminationGracePeriodSeconds of type int64",
    ],
    [
      "core.v1.Pod",
      `{"spec":{"terminationGracePeriodSeconds":30.0}}`,
      "json: cannot unmarshal number 30.0 into Go struct field PodSpec.spec.terminationGracePeriodSeconds of type int64",
    ],
    [
      "core.v1.Pod",
      `{"spec":{"terminationGracePeriodSeconds":9223372036854775808}}`,
      "json: cannot unmarshal number 9223372036854775808 into Go struct field PodSpec.spec.terminationGracePeriodSeconds of type int64",
    ],
    [
      "core.v1.Pod",
      container(`"resources":{"limits":{"cpu":"abc"}}`),
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ],
    [
      "core.v1.Pod",
      container(`"livenessProbe":{"httpGet":{"port":true}}`),
      "json: cannot unmarshal bool into Go struct field HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.port of type int32",
    ],
    [
      "core.v1.Pod",
      `{"spec":{"volumes":[{"name":"v","emptyDir":3}]}}`,
      "json: cannot unmarshal number into Go struct field Volume.spec.volumes.VolumeSource.emptyDir of type v1.EmptyDirVolumeSource",
    ],
    [
      "scheduling.v1.PriorityClass",
      `{"value":99999999999}`,
      "json: cannot unmarshal number 99999999999 into Go struct field PriorityClass.value of type int32",
    ],
    ["core.v1.Secret", `{"data":{"a":"abc"}}`, "illegal base64 data at input byte 0"],
    ["core.v1.Secret", `{"data":{"a":"YWJj*"}}`, "illegal base64 data at input byte 4"],
    [
      "core.v1.Secret",
      `{"data":{"a":{}}}`,
      "json: cannot unmarshal object into Go struct field Secret.data of type []uint8",
    ],
    [
      "coordination.v1.Lease",
      `{"spec":{"renewTime":"2020-01-02T03:04:05Z"}}`,
      'parsing time "2020-01-02T03:04:05Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"',
    ],
    ["core.v1.Pod", "[]", "json: cannot unmarshal array into Go value of type v1.Pod"],
    [
      "apiextensions.v1.JSONSchemaProps",
      `{"additionalProperties":3}`,
      "boolean or JSON schema expected",
    ],
    [
      "apiextensions.v1.JSONSchemaProps",
      `{"items":{"properties":{"a":{"type":3}}}}`,
      "json: cannot unmarshal number into Go struct field JSONSchemaProps.items of type string",
    ],
  ];
  for (const [type, text, error] of rows) {
    test(`${type} ${text}`, () => {
      assert.deepEqual(decodeJson(schemaOf(type), text), { ok: false, error });
    });
  }

  test("the first wrong type is reported, unless a value fails to decode", () => {
    const text = `{"spec":{"hostNetwork":3,"hostPID":4},"metadata":{"creationTimestamp":"x"}}`;
    const decoded = decodeJson(schemaOf("core.v1.Pod"), text);
    assert.ok(!decoded.ok);
    assert.match(decoded.error, /^parsing time "x"/);
  });
});

describe("JSON codec: unknown and duplicate fields", () => {
  const rows = [
    {
      name: "a field name in another case is an unknown field",
      text: `{"Data":{"a":"b"}}`,
      want: ['unknown field "Data"'],
    },
    {
      name: "unknown fields are listed in reading order",
      text: `{"metadata":{"name":"a","foo":{"x":1}},"bogus":1}`,
      want: ['unknown field "metadata.foo"', 'unknown field "bogus"'],
    },
    {
      name: "duplicates are reported where they stand",
      text: `{"metadata":{"name":"a","name":"b"},"data":{"k":"1","k":"2"},"data":{"z":"1"}}`,
      want: [
        'duplicate field "metadata.name"',
        'duplicate field "data.k"',
        'duplicate field "data"',
      ],
      value: { metadata: { name: "b" }, data: { k: "2", z: "1" } },
    },
    {
      name: "the same fault once",
      text: `{"metadata":{"ownerReferences":[]},"x":1,"x":2}`,
      want: ['unknown field "x"'],
    },
  ];
  for (const { name, text, want, value } of rows) {
    test(name, () => {
      const decoded = decodeJson(schemaOf("core.v1.ConfigMap"), text);
      assert.ok(decoded.ok);
      assert.deepEqual(decoded.strictErrors, want);
      if (value !== undefined) assert.deepEqual(decoded.value, value);
    });
  }

  test("list items are named by their index", () => {
    const text = `{"spec":{"containers":[{"name":"a"},{"name":"b","imag":"x"}],"hostNetworks":true}}`;
    const decoded = decodeJson(schemaOf("core.v1.Pod"), text);
    assert.ok(decoded.ok);
    assert.deepEqual(decoded.strictErrors, [
      'unknown field "spec.containers[1].imag"',
      'unknown field "spec.hostNetworks"',
    ]);
  });

  test("at most a hundred strict errors are reported", () => {
    const text = `{${Array.from({ length: 150 }, (_, i) => `"f${i}":1`).join(",")}}`;
    const decoded = decodeJson(schemaOf("core.v1.ConfigMap"), text);
    assert.ok(decoded.ok);
    assert.equal(decoded.strictErrors.length, 100);
  });

  test("a number beyond all floats is refused where it is free", () => {
    const error = "json: cannot unmarshal number 1e999 into Go value of type float64";
    assert.deepEqual(parseJson(`{"a":[1e999]}`), { ok: false, error });
    const decoded = decodeJson(schemaOf("apps.v1.ControllerRevision"), `{"data":{"a":-1e999}}`);
    assert.deepEqual(decoded, {
      ok: false,
      error:
        "json: cannot unmarshal number -1e999 into Go struct field ControllerRevision.data of type float64",
    });
  });

  test("without a schema only duplicate fields are reported", () => {
    assert.deepEqual(parseJson(`{"a":[{"b":1,"b":2}],"c":9007199254740993}`), {
      ok: true,
      value: { a: [{ b: 2 }], c: 9007199254740993n },
      duplicates: ['duplicate field "a[0].b"'],
    });
  });
});

describe("texts that are not JSON", () => {
  const rows: readonly (readonly [string | Uint8Array, string])[] = [
    ["", "unexpected end of JSON input"],
    ["{", "unexpected end of JSON input"],
    [`{"a":"b`, "unexpected end of JSON input"],
    [`{"kind":"ConfigMap",}`, "invalid character '}' looking for beginning of object key string"],
    ["hello", "invalid character 'h' looking for beginning of value"],
    ["{} trailing", "invalid character 't' after top-level value"],
    ["{'a':1}", "invalid character '\\'' looking for beginning of object key string"],
    [`{"a" 1}`, "invalid character '1' after object key"],
    [`{"a":1 2}`, "invalid character '2' after object key:value pair"],
    ["[1 2]", "invalid character '2' after array element"],
    ["[1,]", "invalid character ']' looking for beginning of value"],
    ["tru", "invalid character ' ' in literal true (expecting 'e')"],
    ["nul!", "invalid character '!' in literal null (expecting 'l')"],
    ["-", "invalid character ' ' in numeric literal"],
    ["01", "invalid character '1' after top-level value"],
    ["1.x", "invalid character 'x' after decimal point in numeric literal"],
    ["1e", "invalid character ' ' in exponent of numeric literal"],
    [`"\\x"`, "invalid character 'x' in string escape code"],
    [`"\\u12g4"`, "invalid character 'g' in \\u hexadecimal character escape"],
    [`"a\nb"`, "invalid character '\\n' in string literal"],
    ["é", "invalid character 'Ã' looking for beginning of value"],
    [Uint8Array.of(0x81), "invalid character '\\u0081' looking for beginning of value"],
    [
      Uint8Array.of(0xef, 0xbb, 0xbf, 0x7b, 0x7d),
      "invalid character 'ï' looking for beginning of value",
    ],
  ];
  for (const [input, error] of rows) {
    test(`${typeof input === "string" ? JSON.stringify(input) : [...input]}`, () => {
      assert.deepEqual(parseJson(input), { ok: false, error });
    });
  }

  test("nesting has a limit", () => {
    const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
    assert.equal(parseJson(nested(JSON_DEPTH_MAX)).ok, true);
    const error = "invalid character '[' exceeded max depth";
    assert.deepEqual(parseJson(nested(JSON_DEPTH_MAX + 1)), { ok: false, error });
    assert.deepEqual(parseJson(nested(1_000_000)), { ok: false, error });
  });

  test("what is not kept may nest deeper", () => {
    const text = (depth: number) =>
      `{"data":{"a":"b"},"x":${"[".repeat(depth)}${"]".repeat(depth)}}`;
    const decode = (depth: number) => decodeJson(schemaOf("core.v1.ConfigMap"), text(depth));
    const decoded = decode(JSON_TEXT_DEPTH_MAX - 1);
    assert.ok(decoded.ok);
    assert.deepEqual(decoded.value.data, { a: "b" });
    assert.deepEqual(decoded.strictErrors, ['unknown field "x"']);
    const error = "invalid character '[' exceeded max depth";
    assert.deepEqual(decode(JSON_TEXT_DEPTH_MAX), { ok: false, error });
  });

  test("what is kept may not, neither free JSON nor a type within itself", () => {
    const rows: [type: string, open: string, close: string][] = [
      ["apps.v1.ControllerRevision", '{"data":{"x":', "}}"],
      ["apiextensions.v1.JSONSchemaProps", "", ""],
    ];
    for (const [type, open, close] of rows) {
      const depth = JSON_TEXT_DEPTH_MAX - 3;
      const text = `${open}${'{"not":'.repeat(depth)}{}${"}".repeat(depth)}${close}`;
      const error = "invalid character '{' exceeded max depth";
      assert.deepEqual(decodeJson(schemaOf(type), text), { ok: false, error });
    }
  });

  test("the deepest schema that is allowed can be read, also in the slow way", () => {
    const depth = JSON_DEPTH_MAX - 2;
    const text = `${'{"not":'.repeat(depth)}{"minimum":1.0}${"}".repeat(depth)}`;
    const decoded = decodeJson(schemaOf("apiextensions.v1.JSONSchemaProps"), text);
    assert.ok(decoded.ok);
    assert.equal(encodeJson(decoded.value), text.replace("1.0", "1"));
  });
});

describe("JSON codec: the normal form", () => {
  const decode = (type: string, text: string) => {
    const decoded = decodeJson(schemaOf(type), text);
    assert.ok(decoded.ok, encodeJson(decoded));
    return encodeJson(decoded.value);
  };
  const rows: readonly (readonly [string, string, string, string])[] = [
    [
      "fields in writing order",
      "core.v1.ConfigMap",
      `{"data":{"b":"1","a":"2"},"metadata":{"namespace":"n","name":"x"},"kind":"ConfigMap","apiVersion":"v1"}`,
      `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x","namespace":"n"},"data":{"a":"2","b":"1"}}`,
    ],
    [
      "structs are always there, empty lists and texts are not",
      "apps.v1.Deployment",
      `{"spec":{"minReadySeconds":0,"template":{"spec":{"containers":[{"name":"c","image":"","args":[]}],"volumes":[]}}}}`,
      `{"metadata":{},"spec":{"selector":null,"template":{"metadata":{},"spec":{"containers":[{"name":"c","resources":{}}]}},"strategy":{}},"status":{}}`,
    ],
    [
      "a list that must be there is null when empty",
      "rbac.v1.ClusterRole",
      `{"rules":[]}`,
      `{"metadata":{},"rules":null}`,
    ],
    [
      "a list that must not be empty is kept for the rules to refuse",
      "autoscaling.v2.HPAScalingRules",
      `{"policies":[]}`,
      `{"policies":[]}`,
    ],
    [
      "a list that must be there is null when empty, but not where objects are stored as JSON",
      "apiextensions.v1.CustomResourceDefinition",
      `{"spec":{"group":"g","scope":"Cluster","versions":[],"names":{"plural":"p","kind":"K"}},"status":{"conditions":[]}}`,
      `{"metadata":{},"spec":{"group":"g","names":{"plural":"p","kind":"K"},"scope":"Cluster","versions":[]},"status":{"conditions":[],"acceptedNames":{"plural":"","kind":""},"storedVersions":null}}`,
    ],
    [
      "null is the same as nothing",
      "core.v1.Pod",
      `{"metadata":{"creationTimestamp":null,"labels":null},"spec":{"containers":null,"hostNetwork":null,"securityContext":null}}`,
      `{"metadata":{},"spec":{"containers":null},"status":{}}`,
    ],
    [
      "null in a list is a zero",
      "core.v1.Pod",
      `{"spec":{"containers":[null]}}`,
      `{"metadata":{},"spec":{"containers":[{"name":"","resources":{}}]},"status":{}}`,
    ],
    [
      "pointers keep zeros",
      "core.v1.Pod",
      `{"spec":{"containers":[],"enableServiceLinks":false,"terminationGracePeriodSeconds":0}}`,
      `{"metadata":{},"spec":{"containers":null,"terminationGracePeriodSeconds":0,"enableServiceLinks":false},"status":{}}`,
    ],
    [
      "quantities of a ResourceQuota get their canonical form",
      "core.v1.ResourceQuota",
      `{"spec":{"hard":{"cpu":1.5,"memory":"1024Mi","pods":"3000m","x":null}}}`,
      `{"metadata":{},"spec":{"hard":{"cpu":"1500m","memory":"1Gi","pods":"3","x":"0"}},"status":{}}`,
    ],
    [
      "times get UTC and whole seconds",
      "core.v1.Event",
      `{"firstTimestamp":"2020-01-02T05:04:05.5+02:00"}`,
      `{"metadata":{},"involvedObject":{},"source":{},"firstTimestamp":"2020-01-02T03:04:05Z","lastTimestamp":null,"eventTime":null,"reportingComponent":"","reportingInstance":""}`,
    ],
    [
      "base64 of a Secret keeps its bytes",
      "core.v1.Secret",
      `{"data":{"a":"YW\\nJj","b":[97,98],"c":"YQ==","d":null}}`,
      `{"metadata":{},"data":{"a":"YWJj","b":"YWI=","c":"YQ==","d":""}}`,
    ],
    [
      "int64 limits keep every digit",
      "core.v1.Pod",
      `{"metadata":{"generation":9223372036854775807},"spec":{"containers":null,"activeDeadlineSeconds":-9223372036854775808}}`,
      `{"metadata":{"generation":9223372036854775807},"spec":{"containers":null,"activeDeadlineSeconds":-9223372036854775808},"status":{}}`,
    ],
    [
      "free JSON of a ControllerRevision stays as it is",
      "apps.v1.ControllerRevision",
      `{"data":{"b":[1,{"z":null}],"a":12345678901234567890},"revision":1}`,
      `{"metadata":{},"data":{"b":[1,{"z":null}],"a":12345678901234567000},"revision":1}`,
    ],
    [
      "free JSON that is absent",
      "apps.v1.ControllerRevision",
      "{}",
      `{"metadata":{},"data":null,"revision":0}`,
    ],
    [
      "a key called __proto__",
      "core.v1.ConfigMap",
      `{"data":{"__proto__":"x","a":"b"}}`,
      `{"metadata":{},"data":{"__proto__":"x","a":"b"}}`,
    ],
    [
      "half a surrogate pair",
      "core.v1.ConfigMap",
      `{"data":{"a":"\\ud800!"}}`,
      `{"metadata":{},"data":{"a":"\ufffd!"}}`,
    ],
    [
      "schemas of schemas",
      "apiextensions.v1.JSONSchemaProps",
      `{"items":[{"type":"a"}],"additionalProperties":true,"dependencies":{"a":["b"],"c":{"type":"x"}},"additionalItems":{"x":1,"type":"y"}}`,
      `{"items":[{"type":"a"}],"additionalProperties":true,"dependencies":{"a":["b"],"c":{"type":"x"}},"additionalItems":{"type":"y"}}`,
    ],
    [
      "a number or a text",
      "core.v1.Service",
      `{"spec":{"ports":[{"port":1},{"port":2,"targetPort":"web"},{"port":3,"targetPort":null}]}}`,
      `{"metadata":{},"spec":{"ports":[{"port":1,"targetPort":0},{"port":2,"targetPort":"web"},{"port":3,"targetPort":0}]},"status":{"loadBalancer":{}}}`,
    ],
    ["an empty list of objects", "core.v1.PodList", `{"items":[]}`, `{"metadata":{},"items":[]}`],
  ];
  for (const [name, type, text, want] of rows) {
    test(name, () => {
      assert.equal(decode(type, text), want);
      assert.equal(decode(type, want), want, "it is its own normal form");
    });
  }

  test("a value is normalised like its text, and shares nothing with it", () => {
    const labels = Object.freeze({ b: "1", a: "2" });
    const finalizers = Object.freeze(["x"]);
    const normal = normalize(schemaOf("core.v1.ConfigMap"), { metadata: { labels, finalizers } });
    assert.ok(normal.ok);
    const { metadata } = normal.value as { metadata: { labels: object; finalizers: string[] } };
    assert.equal(encodeJson(metadata), `{"labels":{"a":"2","b":"1"},"finalizers":["x"]}`);
    assert.ok(!Object.isFrozen(metadata.labels) && !Object.isFrozen(metadata.finalizers));
    const wrong = normalize(schemaOf("core.v1.ConfigMap"), { data: { a: 1n } });
    assert.ok(!wrong.ok);
    assert.match(wrong.error, /ConfigMap\.data of type string/);
  });
});
