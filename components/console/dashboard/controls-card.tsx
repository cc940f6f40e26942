'use client'

import { useTranslations } from 'next-intl'
import { useApiQuery } from '#components/frame/api-query.ts'
import { Badge } from '#components/ui/badge.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import type { Endpoint } from '#lib/client/request.ts'
import type { LineView, readCompliance } from '#lib/domains/compliance/contract.ts'
import { LiveCard } from './live-card.tsx'

const complianceAt: Endpoint<typeof readCompliance> = { method: 'get', path: '/api/admin/compliance' }
const tones = { fails: 'danger', attention: 'warning', unknown: 'warning' } as const
type Unsettled = keyof typeof tones
const isUnsettled = (state: LineView['state']): state is Unsettled => state in tones

interface ControlsCardProps {
  titles: Readonly<Record<LineView['line'], string>>
  states: Readonly<Record<Unsettled, string>>
}
/** Controls that fail, need review or could not be checked. The check runs when the page is open. */
export function ControlsCard({ titles, states }: ControlsCardProps) {
  const t = useTranslations('overview.admin.controls')
  const { data, problem } = useApiQuery(complianceAt, {})
  const unsettled = (data?.data.lines ?? []).flatMap(({ line, state }) => (isUnsettled(state) ? [{ line, state }] : []))
  const order: Unsettled[] = ['fails', 'attention', 'unknown']
  const shown = unsettled.toSorted((one, other) => order.indexOf(one.state) - order.indexOf(other.state))
  return (
    <LiveCard title={t('title')} link={{ href: '/admin/compliance', title: t('all') }} problem={problem}>
      {data &&
        (shown.length === 0 ? (
          <p className="text-quiet">{t('passing')}</p>
        ) : (
          <ul className="divide-y divide-line">
            {shown.map(({ line, state }) => (
              <li key={line} className="flex items-center gap-4 py-2">
                <TextLink href={`/admin/compliance#${line}`} className="grow">
                  {titles[line]}
                </TextLink>
                <Badge tone={tones[state]} hasDot>
                  {states[state]}
                </Badge>
              </li>
            ))}
          </ul>
        ))}
    </LiveCard>
  )
}
