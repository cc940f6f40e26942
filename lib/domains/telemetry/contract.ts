import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'

const Property = z.strictObject({
  name: z.string(),
  type: z.enum(['enum', 'integer', 'boolean']),
  values: z.array(z.string()).nullable(),
  most: z.int().nullable().meta({ description: 'The largest number that an event can contain' }),
})
const TelemetryView = z
  .strictObject({
    on: z.boolean(),
    to: z
      .strictObject({ host: z.string(), region: z.string().nullable() })
      .nullable()
      .meta({ description: 'Null if it is off' }),
    key_days: z.int().meta({
      description: 'After this many days everyone gets a new pseudonym, and the previous key is destroyed',
    }),
    events: z.array(z.strictObject({ name: z.string(), what: z.string(), properties: z.array(Property) })),
  })
  .meta({ id: 'Telemetry' })

export const listTelemetryEvents = operation({
  id: 'listTelemetryEvents',
  method: 'get',
  path: '/v1/telemetry/events',
  summary: 'List the events that telemetry can send, whether it is on, and where they are sent',
  description:
    'For everybody. Properties are words from closed lists, small whole numbers, and yes or no: no text, no ids, no amounts. An event identifies its subject by a keyed pseudonym that changes every 30 days. No events are sent about people who turned them off (`PUT /api/privacy/telemetry`), about their agents, and about people and agents whose processing is restricted or who objected.',
  permission: 'public',
  audit: { none: 'about the service itself, not about anybody' },
  output: z.strictObject({ data: TelemetryView }),
})
