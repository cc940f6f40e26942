import { useTranslations } from 'next-intl'
import { Space } from '#components/ui/punctuation.ts'
import type { listTelemetryEvents } from '#lib/domains/telemetry/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'
import { worded } from './worded.ts'

type Event = Output<typeof listTelemetryEvents>['data']['events'][number]
type Property = Event['properties'][number]

const codeLook = 'font-mono text-[0.8125rem]'

function Values({ property: { type, values, most } }: { property: Property }) {
  const t = useTranslations('telemetry.events')
  if (type === 'boolean') return t('yesNo')
  if (type === 'integer') return t('upTo', { most: most ?? 0 })
  return (
    <>
      {t('oneOf')}
      <Space />
      {(values ?? []).map((value, at) => (
        <span key={value}>
          {at > 0 && ', '}
          <code className={codeLook}>{value}</code>
        </span>
      ))}
    </>
  )
}

/** Every telemetry event that can be sent, with all its properties. */
export function EventList({ events }: { events: readonly Event[] }) {
  const t = useTranslations('telemetry.events')
  return (
    <ul className="grid">
      {events.map(({ name, what, properties }) => {
        const known = worded.find((one) => one === name)
        return (
          <li key={name} className="grid gap-1.5 border-b border-line py-3 last:border-0">
            <h3 className="flex flex-wrap items-baseline gap-x-3 gap-y-0.5">
              <span className="font-medium">{known ? t(`what.${known}`) : what}</span>
              <code className={`${codeLook} text-quiet`}>{name}</code>
            </h3>
            {properties.length === 0 ? (
              <p className="text-sm text-quiet">{t('nothing')}</p>
            ) : (
              <dl className="grid gap-x-5 gap-y-1 text-sm sm:grid-cols-[11rem_1fr]">
                {properties.map((property) => (
                  <div key={property.name} className="sm:contents">
                    <dt>
                      <code className={codeLook}>{property.name}</code>
                    </dt>
                    <dd className="min-w-0 text-quiet [overflow-wrap:anywhere]">
                      <Values property={property} />
                    </dd>
                  </div>
                ))}
              </dl>
            )}
          </li>
        )
      })}
    </ul>
  )
}
