import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { runKind } from "#api/testing/run-kind.ts";
import { cronJobKind } from "./cron-job.ts";
import { jobKind } from "./job.ts";

type Fields = Record<string, unknown>;

const TEMPLATE = { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i:1" }] } };
const META = { uid: "u" };

const job = (fields: Fields = {}, metadata: Fields = {}) => ({
  metadata: { ...META, ...metadata },
  spec: { template: TEMPLATE, ...fields },
});
const faults = (fields: Fields) => runKind(jobKind, { object: job(fields) }).faults;

/** A Job as the server keeps it, with the selector that it made. */
const stored = (fields: Fields = {}) => {
  const { object } = runKind(jobKind, { object: job(fields) });
  return object;
};

describe("new Jobs", () => {
  test("get a selector, labels and defaults", () => {
    const labels = {
      "batch.kubernetes.io/controller-uid": "u",
      "batch.kubernetes.io/job-name": "x",
      "controller-uid": "u",
      "job-name": "x",
    };
    const { metadata, spec, status } = stored();
    const { template, ...rest } = spec;
    assert.deepEqual(metadata.labels, labels);
    assert.deepEqual(template.metadata?.labels, labels);
    assert.deepEqual(rest, {
      parallelism: 1,
      completions: 1,
      backoffLimit: 6,
      selector: { matchLabels: { "batch.kubernetes.io/controller-uid": "u" } },
      manualSelector: false,
      completionMode: "NonIndexed",
      suspend: false,
      podReplacementPolicy: "TerminatingOrFailed",
    });
    assert.deepEqual(status, {});
  });

  test("share the labels of their template if they have none", () => {
    const template = { ...TEMPLATE, metadata: { labels: { app: "x" } } };
    const { object } = runKind(jobKind, { object: job({ template }) });
    assert.deepEqual(Object.keys(object.metadata.labels ?? {}), [
      "app",
      "batch.kubernetes.io/controller-uid",
      "batch.kubernetes.io/job-name",
      "controller-uid",
      "job-name",
    ]);
  });

  const cases: readonly { name: string; fields: Fields; want: readonly string[] }[] = [
    {
      name: "indexes without a number of them",
      fields: { completionMode: "Indexed", parallelism: 1 },
      want: ["spec.completions: Required value: when completion mode is Indexed"],
    },
    {
      name: "limits that only indexed Jobs have",
      fields: { backoffLimitPerIndex: 1, maxFailedIndexes: 1 },
      want: [
        "spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode",
        "spec.maxFailedIndexes: Invalid value: 1: requires indexed completion mode",
      ],
    },
    {
      name: "very many indexes",
      fields: {
        completionMode: "Indexed",
        completions: 200_000,
        parallelism: 20_000,
        backoffLimitPerIndex: 1,
      },
      want: [
        "spec.maxFailedIndexes: Required value: must be specified when completions is above 100000",
        "spec.parallelism: Invalid value: 20000: must be less than or equal to 10000 when completions are above 100000 and used with backoff limit per index",
      ],
    },
    {
      name: "modes and owners that there are not",
      fields: { completionMode: "Some", managedBy: "Bad.io/x" },
      want: [
        "spec.managedBy: Invalid value: \"Bad.io\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        'spec.completionMode: Unsupported value: "Some": supported values: "NonIndexed", "Indexed"',
      ],
    },
    {
      name: "a policy for failures needs pods that end",
      fields: {
        podFailurePolicy: {
          rules: [
            { action: "", onPodConditions: [{ type: "a b", status: "Perhaps" }] },
            { action: "Count", onExitCodes: { containerName: "z", operator: "", values: [1] } },
          ],
        },
        template: { spec: { ...TEMPLATE.spec, restartPolicy: "OnFailure" } },
      },
      want: [
        'spec.podFailurePolicy.rules[0].action: Required value: valid values: ["Count" "FailIndex" "FailJob" "Ignore"]',
        "spec.podFailurePolicy.rules[0].onPodConditions[0].type: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
        'spec.podFailurePolicy.rules[0].onPodConditions[0].status: Unsupported value: "Perhaps": supported values: "False", "True", "Unknown"',
        'spec.podFailurePolicy.rules[1].onExitCodes.operator: Required value: valid values: ["In" "NotIn"]',
        'spec.podFailurePolicy.rules[1].onExitCodes.containerName: Invalid value: "z": must be one of the container or initContainer names in the pod template',
        'spec.template.spec.restartPolicy: Invalid value: "OnFailure": only "Never" is supported when podFailurePolicy is specified',
      ],
    },
    {
      name: "success by indexes",
      fields: {
        completionMode: "Indexed",
        completions: 5,
        successPolicy: {
          rules: [
            { succeededIndexes: "1,3-4", succeededCount: 4 },
            { succeededIndexes: "1-2-3" },
            { succeededIndexes: "a" },
            { succeededIndexes: "3-2" },
          ],
        },
      },
      want: [
        "spec.successPolicy.rules[0].succeededCount: Invalid value: 4: must be less than or equal to 3 (the number of indexes in the specified succeededIndexes field)",
        'spec.successPolicy.rules[1].succeededIndexes: Invalid value: "1-2-3": error parsing succeededIndexes: the fragment "1-2-3" violates the requirement that an index interval can have at most two parts separated by \'-\'',
        'spec.successPolicy.rules[2].succeededIndexes: Invalid value: "a": error parsing succeededIndexes: cannot convert string to integer for index: "a"',
        'spec.successPolicy.rules[3].succeededIndexes: Invalid value: "3-2": error parsing succeededIndexes: non-increasing order, previous: 3, current: 2',
      ],
    },
  ];
  for (const { name, fields, want } of cases) {
    test(name, () => assert.deepEqual(faults(fields), want));
  }

  test("names of pods must be names of hosts", () => {
    const name = "a".repeat(63);
    const object = job({ completionMode: "Indexed", completions: 11 }, { name });
    assert.deepEqual(runKind(jobKind, { object }).faults, [
      `metadata.name: Invalid value: "${name}": will not able to create pod with invalid DNS label: ${name}-10`,
    ]);
  });
});

describe("changed Jobs", () => {
  const update = (old: ReturnType<typeof stored>, fields: Fields) =>
    runKind(jobKind, { object: { ...old, spec: { ...old.spec, ...fields } }, old }).faults;

  test("do more at once, but not more", () => {
    assert.deepEqual(update(stored(), { parallelism: 3, backoffLimit: 1 }), []);
    assert.deepEqual(update(stored(), { completions: 2 }), [
      "spec.completions: Invalid value: 2: field is immutable",
    ]);
  });

  test("grow and shrink if they are indexed", () => {
    const old = stored({ completionMode: "Indexed", completions: 3, parallelism: 3 });
    assert.deepEqual(update(old, { completions: 5, parallelism: 5 }), []);
    assert.deepEqual(update(old, { completions: 5 }), [
      "spec.completions: Invalid value: 5: can only be modified in tandem with spec.parallelism",
    ]);
  });

  test("keep their template while they run", () => {
    const old = stored();
    const { spec, ...rest } = old.spec.template;
    const [fault] = update(old, {
      template: { ...rest, spec: { ...spec, nodeSelector: { a: "b" } } },
    });
    assert.match(
      fault!,
      /^spec\.template: Invalid value: \{"labels":\{.*"Spec":\{"Volumes":null.*field is immutable$/,
    );
  });

  test("may change where they run while they are suspended", () => {
    const old = stored({ suspend: true });
    const { spec, ...rest } = old.spec.template;
    const change = (fields: Fields) =>
      update(old, { template: { ...rest, spec: { ...spec, ...fields } } });
    assert.deepEqual(
      change({ nodeSelector: { a: "b" }, tolerations: [{ operator: "Exists" }] }),
      [],
    );
    assert.match(
      change({ hostname: "h" })[0]!,
      /^spec\.template\.spec: Invalid value: \{"Volumes"/,
    );
  });
});

describe("status of Jobs", () => {
  const TIME = "2030-01-01T00:00:00Z";
  const when = (...types: string[]) => types.map((type) => ({ type, status: "True" }));
  const report = (status: Fields, old: Fields = {}, fields: Fields = {}) => {
    const base = stored(fields);
    return runKind(jobKind, {
      object: { ...base, status },
      old: { ...base, status: old },
      subresource: "status",
    }).faults;
  };

  const cases: readonly {
    name: string;
    status: Fields;
    old?: Fields;
    spec?: Fields;
    want: readonly string[];
  }[] = [
    {
      name: "condition Complete with its completionTime is accepted",
      status: {
        conditions: when("SuccessCriteriaMet", "Complete"),
        startTime: TIME,
        completionTime: TIME,
      },
      want: [],
    },
    {
      name: "complete without a word",
      status: { conditions: when("Complete") },
      want: [
        "status.completionTime: Required value: completionTime is required for Complete jobs",
        "status.conditions: Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
        "status.startTime: Required value: startTime is required for finished job",
      ],
    },
    {
      name: "failed while pods run",
      status: { conditions: when("Failed", "FailureTarget"), startTime: TIME, active: 1 },
      want: ["status.active: Invalid value: 1: active>0 is invalid for finished job"],
    },
    {
      name: "both at once",
      status: {
        conditions: when("Failed", "FailureTarget", "Complete", "SuccessCriteriaMet"),
        startTime: TIME,
        completionTime: TIME,
      },
      want: [
        "status.conditions: Invalid value: cannot set Complete=True and Failed=true conditions",
        "status.conditions: Invalid value: cannot set Complete=True and FailureTarget=true conditions",
        "status.conditions: Invalid value: cannot set SuccessCriteriaMet=True and Failed=true conditions",
        "status.conditions: Invalid value: cannot set SuccessCriteriaMet=True and FailureTarget=true conditions",
      ],
    },
    {
      name: "counters go up",
      status: { failed: 1, succeeded: 0, ready: 2 },
      old: { failed: 2, succeeded: 1 },
      want: [
        "status.ready: Invalid value: 2: cannot set more ready pods than active",
        "status.failed: Invalid value: 1: cannot decrease the failed counter",
        "status.succeeded: Invalid value: 0: cannot decrease the succeeded counter",
      ],
    },
    {
      name: "completedIndexes and failedIndexes may not overlap",
      status: { completedIndexes: "0-2", failedIndexes: "2,4" },
      spec: { completionMode: "Indexed", completions: 5, backoffLimitPerIndex: 1 },
      want: [
        'status.failedIndexes: Invalid value: "2,4": failedIndexes and completedIndexes overlap at index: 2',
      ],
    },
    {
      name: "startTime of a Job that is not suspended is immutable",
      status: { startTime: "2030-01-01T00:00:01Z" },
      old: { startTime: TIME },
      want: [
        'status.startTime: Invalid value: "2030-01-01T00:00:01Z": field is immutable for unsuspended job once set',
      ],
    },
    {
      name: "uncounted pods are counted once",
      status: { uncountedTerminatedPods: { succeeded: ["a", ""], failed: ["a"] } },
      want: [
        'status.uncountedTerminatedPods.succeeded[1]: Invalid value: "": must not be empty',
        'status.uncountedTerminatedPods.failed[0]: Duplicate value: "a"',
      ],
    },
  ];
  for (const { name, status, old, spec, want } of cases) {
    test(name, () => assert.deepEqual(report(status, old, spec), want));
  }

  test("the columns show status, completions and duration", () => {
    const base = stored({ completions: 3 });
    const status = { succeeded: 1, startTime: TIME, conditions: when("Suspended") };
    const object = { ...base, metadata: { name: "x" }, status };
    const nowMs = Date.parse("2030-01-01T00:01:30Z");
    const cells = jobKind.columns.map((column) => column.cell(object, nowMs));
    assert.deepEqual(cells.slice(0, 5), ["x", "Suspended", "1/3", "90s", "<unknown>"]);
  });
});

describe("CronJobs", () => {
  const cron = (fields: Fields, metadata: Fields = {}) => ({
    metadata,
    spec: { schedule: "* * * * *", jobTemplate: { spec: { template: TEMPLATE } }, ...fields },
  });

  test("defaults; the template of Jobs is left as it is", () => {
    const { object } = runKind(cronJobKind, { object: cron({}) });
    const { jobTemplate, ...rest } = object.spec;
    assert.deepEqual(rest, {
      schedule: "* * * * *",
      concurrencyPolicy: "Allow",
      suspend: false,
      successfulJobsHistoryLimit: 3,
      failedJobsHistoryLimit: 1,
    });
    assert.equal(jobTemplate.spec?.backoffLimit, undefined);
  });

  test("names leave room for those of Jobs", () => {
    const name = "a".repeat(53);
    assert.deepEqual(runKind(cronJobKind, { object: cron({}, { name }) }).faults, [
      `metadata.name: Invalid value: "${name}": must be no more than 52 characters`,
    ]);
  });

  test("zones in schedules may stay, beside no other", () => {
    const schedule = "TZ=UTC 0 0 * * *";
    const old = cron({ schedule });
    const run = (fields: Fields) => runKind(cronJobKind, { object: cron(fields), old });
    assert.deepEqual(run({ schedule }).faults, []);
    assert.deepEqual(run({ schedule }).warnings, [
      "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details",
    ]);
    assert.deepEqual(run({ schedule, timeZone: "UTC" }).faults, [
      `spec.schedule: Invalid value: "${schedule}": cannot use both timeZone field and TZ or CRON_TZ in schedule`,
    ]);
  });

  test("Jobs select their pods themselves", () => {
    const jobTemplate = { spec: { template: TEMPLATE, selector: {}, manualSelector: true } };
    assert.deepEqual(runKind(cronJobKind, { object: cron({ jobTemplate }) }).faults, [
      "spec.jobTemplate.spec.selector: Invalid value: {}: `selector` will be auto-generated",
      'spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values: "nil", "false"',
    ]);
  });
});
