'use client'

import { useTranslations } from 'next-intl'
import { useFaultWords } from '#components/erasures/fault-words.ts'
import { partTones } from '#components/requests/request-tones.ts'
import { Badge } from '#components/ui/badge.tsx'
import type { AdminRequestDetail } from './endpoints.ts'

const copies = ['ready', 'fetched', 'gone', 'failed'] as const

/** What was requested, each with its state. */
export function AdminRequestParts({ request }: { request: AdminRequestDetail }) {
  const t = useTranslations('adminRequest.parts')
  const names = useTranslations('requestNames')
  const faultWords = useFaultWords()
  return (
    <ul aria-label={t('title')} className="divide-y divide-line border-y border-line">
      {request.parts.map(({ kind, state, outcome }) => {
        const copy = copies.find((one) => one === outcome.copy)
        const said = [
          state === 'running' && outcome.waits_for === 'admin' && t('waitsAdmin'),
          state === 'running' && outcome.waits_for === 'address' && t('waitsAddress'),
          outcome.answered === true && t('answered'),
          copy && t(`copy.${copy}`, { fault: faultWords(typeof outcome.fault === 'string' ? outcome.fault : null) }),
          kind === 'erasure' && state === 'failed' && t('unverified'),
          typeof outcome.records === 'number' && t('records', { count: outcome.records }),
          typeof outcome.erased === 'number' && t('erased', { count: outcome.erased }),
          typeof outcome.held === 'number' && outcome.held > 0 && t('held', { count: outcome.held }),
        ].filter((one) => typeof one === 'string')
        return (
          <li key={kind} className="flex flex-wrap items-baseline gap-x-3 gap-y-1 py-2">
            <span className="font-medium">{names(`kinds.${kind}`)}</span>
            <Badge tone={partTones[state]}>{names(`partStates.${state}`)}</Badge>
            {said.length > 0 && <span className="text-sm text-quiet">{said.join(' · ')}</span>}
          </li>
        )
      })}
    </ul>
  )
}
