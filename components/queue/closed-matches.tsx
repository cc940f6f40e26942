'use client'

import { useTranslations } from 'next-intl'
import { useApiQuery } from '#components/frame/api-query.ts'
import { TextLink } from '#components/ui/text-link.tsx'
import { listAllRequestsAt } from './endpoints.ts'
import { addressOf, type QueueFilterValues, type RequestQuery } from './filters.ts'

interface ClosedMatchesProps {
  filters: QueueFilterValues
  /** The query of the shown list. */
  query: RequestQuery
}
/** A search of open requests says how many closed requests match too. */
export function ClosedMatches({ filters, query }: ClosedMatchesProps) {
  const t = useTranslations('queue')
  const enabled = query.q !== undefined && query.open === 'true'
  const closed = useApiQuery(listAllRequestsAt, { query: { ...query, open: 'false', limit: '1' } }, { enabled })
  const count = closed.data?.total ?? 0
  if (!enabled || count === 0) return null
  return (
    <p role="status" className="text-sm">
      <TextLink href={addressOf('/admin/requests', { ...filters, open: 'false' })}>{t('closed', { count })}</TextLink>
    </p>
  )
}
