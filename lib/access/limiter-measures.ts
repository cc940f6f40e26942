import type { Measuring } from '#lib/kernel/measure.ts'
import type { Limiter } from './limiter.ts'

/** Reports whether the limits are shared by all processes. */
export const limiterMeasures = (limiter: Limiter): Measuring => ({
  name: 'limits',
  measure: async () => [
    {
      name: 'kp_limits_degraded',
      help: 'Whether limits are per process because their store does not answer: 1 or 0',
      type: 'gauge',
      samples: [{ value: limiter.degraded ? 1 : 0 }],
    },
  ],
})
