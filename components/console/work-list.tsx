'use client'

import { useTranslations } from 'next-intl'
import { useApiQuery } from '#components/frame/api-query.ts'
import { workPageOf } from '#components/frame/work-pages.ts'
import { Section } from '#components/ui/page.tsx'
import { ProgressBar } from '#components/ui/progress.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import type { Endpoint } from '#lib/client/request.ts'
import type { readWork } from '#lib/domains/console/contract.ts'
import type { OpenWork } from './overview.ts'

const workAt: Endpoint<typeof readWork> = { method: 'get', path: '/api/work' }
/** Work that is running for the reader; absent if there is none. It polls for changes. */
export function WorkList({ initial }: { initial: OpenWork }) {
  const t = useTranslations('overview.work')
  const { data } = useApiQuery(workAt, {}, { initial, every: (answer) => (answer?.data.total ? 4_000 : 60_000) })
  const items = data?.data.items ?? []
  if (items.length === 0) return null
  return (
    <Section id="work" title={t('title')}>
      <ul className="divide-y divide-line border-y border-line">
        {items.map((item) => {
          const { kind, state, done, total } = item
          const far = total === 0 ? '' : t(kind === 'export' ? 'parts' : 'steps', { done, total })
          return (
            <li key={item.id} className="grid gap-1.5 py-2.5">
              <p className="flex flex-wrap items-baseline gap-x-4">
                <TextLink href={workPageOf(item)} className="grow">
                  {t(`kinds.${kind}`)}
                </TextLink>
                <span className={state === 'stuck' ? 'text-sm text-amber' : 'text-sm text-quiet'}>
                  {state === 'running' ? far : t(`states.${state}`)}
                </span>
              </p>
              <ProgressBar value={done} max={total} label={`${t(`kinds.${kind}`)} ${far}`} />
            </li>
          )
        })}
      </ul>
    </Section>
  )
}
