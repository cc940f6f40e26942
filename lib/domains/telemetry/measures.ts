import type { Measuring } from '#lib/kernel/measure.ts'
import type { Telemetry } from './capture.ts'

/** The number of events that were not sent, by reason. */
export const telemetryMeasures = ({ dropped }: Pick<Telemetry, 'dropped'>): Measuring => ({
  name: 'telemetry',
  measure: async () => [
    {
      name: 'kp_telemetry_dropped',
      help: 'Usage events that this process has not sent since it started, by reason',
      type: 'gauge',
      samples: dropped().map(({ reason, count }) => ({ labels: { reason }, value: count })),
    },
  ],
})
