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
/** The state of every store. The check runs when the page is open. */
export function StoreStatesCard({ names, states }: StoreStatesCardProps) {
  const t = useTranslations('overview.admin.stores')
  const { data, problem } = useApiQuery(storesAt, {})
  return (
    <LiveCard title={t('title')} link={{ href: '/admin/stores', title: t('all') }} problem={problem}>
      {data && (
        <ul className="divide-y divide-line">
          {data.data.stores.map(({ name, state, known_store_id }) => (
            <li key={`${name} ${known_store_id ?? ''}`} className="flex items-center gap-4 py-1.5">
              <span className="grow">{names[name] ?? name}</span>
              <Badge tone={tones[state]} hasDot>
                {states[state]}
              </Badge>
            </li>
          ))}
        </ul>
      )}
    </LiveCard>
  )
}
