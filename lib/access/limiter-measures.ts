import type { Measuring } from '#lib/kernel/measure.ts'
import type { Limiter } from './limiter.ts'

/** Reports whether the limits are shared by all processes. */
export const limiterMeasures = (limiter: Limiter): Measuring => ({
  name: 'limits',
  measure: async () => [
    {
      name: 'kp_limits_degraded',
      help: '1 if limits are counted per process because their store does not answer, otherwise 0',
      type: 'gauge',
      samples: [{ value: limiter.degraded ? 1 : 0 }],
    },
  ],
})
