import { useFormatter, useTranslations } from 'next-intl'
import { Time } from '#components/ui/time.tsx'
import type { listReaders } from '#lib/domains/console/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'

type Reader = Output<typeof listReaders>['data'][number] & { actor_id?: string; actor_name?: string | null }
const things = ['account', 'agent', 'request', 'knowledge', 'skill', 'sop', 'export'] as const

/** Who read or exported data about a person, and how often; with names where the reader of the page may see them. */
export function ReaderTable({ readers }: { readers: readonly Reader[] }) {
  const t = useTranslations('person.readers')
  const format = useFormatter()
  if (readers.length === 0) return <p className="text-quiet">{t('none')}</p>
  return (
    <ul className="divide-y divide-line border-y border-line">
      {readers.map(({ who, action, resource_type: type, count, last_at: at, actor_id: id, actor_name: name }) => {
        const what = t(`things.${things.find((one) => one === type) ?? 'other'}`)
        return (
          <li
            key={`${id} ${who} ${action} ${type} ${at}`}
            className="grid grid-cols-[minmax(0,1fr)_auto] items-baseline gap-x-4 py-2"
          >
            <span className="wrap-anywhere">
              <bdi className="font-medium">{name ?? t(`who.${who}`)}</bdi>{' '}
              <span className="text-quiet">{t(`acts.${action}`, { what })}</span>
            </span>
            <span className="text-sm text-quiet tabular-nums">
              {format.number(count)}× · <Time at={at} show="relative" />
            </span>
          </li>
        )
      })}
    </ul>
  )
}
