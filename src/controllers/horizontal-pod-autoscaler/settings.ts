/** What flags say about all autoscalers. */

export interface AutoscalerSettings {
  /** Between two looks. */
  readonly periodMs: number;
  /** Changes of a smaller share are not worth a change; an autoscaler may say otherwise. */
  readonly tolerance: number;
  /** How far back a higher recommendation holds the number up; an autoscaler may say otherwise. */
  readonly downscaleSeconds: number;
  /** So long after its start a pod's processor time counts only while it is ready. */
  readonly cpuInitializationMs: number;
  /** A pod that went down within this time after its start never was up. */
  readonly initialReadinessDelayMs: number;
}

export const DEFAULT_SETTINGS: AutoscalerSettings = {
  periodMs: 15_000,
  tolerance: 0.1,
  downscaleSeconds: 300,
  cpuInitializationMs: 5 * 60_000,
  initialReadinessDelayMs: 30_000,
};
