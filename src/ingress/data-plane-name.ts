/** What can carry the requests of Ingresses. */
export const DATA_PLANES = ["built-in", "nginx"] as const;
export type DataPlaneName = (typeof DATA_PLANES)[number];
