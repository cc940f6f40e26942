'use client'

import { useTranslations } from 'next-intl'
import { useApiQuery } from '#components/frame/api-query.ts'
import { Badge } from '#components/ui/badge.tsx'
import type { Endpoint } from '#lib/client/request.ts'
import type { listStores, StoreView } from '#lib/domains/stores/contract.ts'
import { LiveCard } from './live-card.tsx'

const storesAt: Endpoint<typeof listStores> = { method: 'get', path: '/api/stores' }
const tones = { ok: 'success', degraded: 'warning', down: 'danger', unchecked: 'neutral', off: 'neutral' } as const

interface StoreStatesCardProps {
  /** Display names of known stores. */
  names: Readonly<Record<string, string>>
  states: Readonly<Record<StoreView['state'], string>>
}
/** How many stores are available, and the state of the others. The check runs when the page is open. */
export function StoreStatesCard({ names, states }: StoreStatesCardProps) {
  const t = useTranslations('overview.admin.stores')
  const { data, problem } = useApiQuery(storesAt, {})
  const stores = (data?.data.stores ?? []).filter(({ state }) => state !== 'off')
  const others = stores.filter(({ state }) => state !== 'ok')
  return (
    <LiveCard title={t('title')} link={{ href: '/admin/stores', title: t('all') }} problem={problem}>
      {data && (
        <>
          <p className={others.length === 0 ? 'text-quiet' : 'font-medium'}>
            {t('available', { count: stores.length - others.length, total: stores.length })}
          </p>
          {others.length > 0 && (
            <ul className="divide-y divide-line">
              {others.map(({ name, state, known_store_id }) => (
                <li key={`${name} ${known_store_id ?? ''}`} className="flex items-center gap-4 py-1.5">
                  <span className="grow">{names[name] ?? name}</span>
                  <Badge tone={tones[state]} hasDot>
                    {states[state]}
                  </Badge>
                </li>
              ))}
            </ul>
          )}
        </>
      )}
    </LiveCard>
  )
}
