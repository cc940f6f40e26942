import type { Measuring } from '#lib/kernel/measure.ts'
import type { Telemetry } from './capture.ts'

/** The number of events that were not sent, by reason. */
export const telemetryMeasures = ({ dropped }: Pick<Telemetry, 'dropped'>): Measuring => ({
  name: 'telemetry',
  measure: async () => [
    {
      name: 'kp_telemetry_dropped',
      help: 'Events of use that this process did not send, by reason, since it began',
      type: 'gauge',
      samples: dropped().map(({ reason, count }) => ({ labels: { reason }, value: count })),
    },
  ],
})
