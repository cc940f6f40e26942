import { read } from '#lib/kernel/use-case.ts'
import { listTelemetryEvents } from './contract.ts'
import { events, propertiesOf } from './events.ts'
import { pseudonymKeyRetention } from './rules.ts'

const day = 86_400_000

/** Publishes the telemetry settings and events. `to` is undefined when telemetry is off. */
export const telemetryService = ({ to }: { to: { host: string; region: string | null } | undefined }) => ({
  events: read(listTelemetryEvents, async () => ({
    resourceId: 'telemetry',
    body: {
      data: {
        on: to !== undefined,
        to: to ?? null,
        key_days: pseudonymKeyRetention / day,
        events: Object.entries(events).map(([name, { what, schema }]) => ({
          name,
          what,
          properties: propertiesOf(schema),
        })),
      },
    },
  })),
})
