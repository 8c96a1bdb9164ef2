/** What flags say about all autoscalers. */

export interface AutoscalerSettings {
  /** Between two looks. */
  readonly periodMs: number;
  /** Changes of a smaller share are not worth a change; an autoscaler may say otherwise. */
  readonly tolerance: number;
  /** How far back a higher recommendation holds the number up; an autoscaler may say otherwise. */
  readonly downscaleSeconds: number;
}

export const DEFAULT_SETTINGS: AutoscalerSettings = {
  periodMs: 15_000,
  tolerance: 0.1,
  downscaleSeconds: 300,
};
