/** The objects that flow control cannot work without: they may exist only with these specs. */
import type {
  FlowSchemaSpec,
  PriorityLevelConfigurationSpec,
} from "#api/generated/flowcontrol.v1.ts";

const EVERYTHING = {
  resourceRules: [
    { verbs: ["*"], apiGroups: ["*"], resources: ["*"], clusterScope: true, namespaces: ["*"] },
  ],
  nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
};

export const MANDATORY_FLOW_SCHEMAS: ReadonlyMap<string, FlowSchemaSpec> = new Map([
  [
    "exempt",
    {
      priorityLevelConfiguration: { name: "exempt" },
      matchingPrecedence: 1,
      rules: [{ subjects: [{ kind: "Group", group: { name: "system:masters" } }], ...EVERYTHING }],
    },
  ],
  [
    "catch-all",
    {
      priorityLevelConfiguration: { name: "catch-all" },
      matchingPrecedence: 10_000,
      distinguisherMethod: { type: "ByUser" },
      rules: [
        {
          subjects: [
            { kind: "Group", group: { name: "system:unauthenticated" } },
            { kind: "Group", group: { name: "system:authenticated" } },
          ],
          ...EVERYTHING,
        },
      ],
    },
  ],
]);

/** Of `exempt` only what is not in its `exempt` field is fixed. */
export const MANDATORY_PRIORITY_LEVELS: ReadonlyMap<string, PriorityLevelConfigurationSpec> =
  new Map<string, PriorityLevelConfigurationSpec>([
    ["exempt", { type: "Exempt" }],
    [
      "catch-all",
      {
        type: "Limited",
        limited: {
          nominalConcurrencyShares: 5,
          limitResponse: { type: "Reject" },
          lendablePercent: 0,
        },
      },
    ],
  ]);
