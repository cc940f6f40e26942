import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'

const Property = z.strictObject({
  name: z.string(),
  type: z.enum(['enum', 'integer', 'boolean']),
  values: z.array(z.string()).nullable(),
  most: z.int().nullable().meta({ description: 'The largest number that it can say' }),
})
const TelemetryView = z
  .strictObject({
    on: z.boolean(),
    to: z
      .strictObject({ host: z.string(), region: z.string().nullable() })
      .nullable()
      .meta({ description: 'Null where it is off' }),
    key_days: z.int().meta({
      description: 'After so many days everybody gets another pseudonym, and the key of the former is destroyed',
    }),
    events: z.array(z.strictObject({ name: z.string(), what: z.string(), properties: z.array(Property) })),
  })
  .meta({ id: 'Telemetry' })

export const listTelemetryEvents = operation({
  id: 'listTelemetryEvents',
  method: 'get',
  path: '/v1/telemetry/events',
  summary: 'Every event that telemetry can send, whether it is on, and where to',
  description:
    'For everybody. Properties are words of closed lists, small whole numbers, and yes or no: no text, no id, no amount. An event says whose it is by a keyed mark that changes every 30 days; those whose processing is restricted, or who objected, are not told of.',
  permission: 'public',
  audit: { none: 'about the service itself, not about anybody' },
  limit: 'read',
  status: 200,
  output: z.strictObject({ data: TelemetryView }),
})
