'use client'

import { useTranslations } from 'next-intl'
import { Badge } from '#components/ui/badge.tsx'
import { CopyableId } from '#components/ui/copyable-id.tsx'
import { Section } from '#components/ui/page.tsx'
import { DataTable } from '#components/ui/table.tsx'
import { Time } from '#components/ui/time.tsx'
import type { listOutboxEmails } from '#lib/domains/outbox/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'

type Queue = Output<typeof listOutboxEmails>['queue']
const tones = { waiting: 'neutral', retrying: 'warning', failed: 'danger' } as const

/** Emails that are not written or sent yet: counts and job ids. */
export function QueueSection({ queue }: { queue: Queue }) {
  const t = useTranslations('outbox.queue')
  const all = queue.waiting + queue.retrying + queue.failed
  return (
    <Section id="queue" title={t('title')}>
      {all === 0 && <p className="text-quiet">{t('none')}</p>}
      {queue.jobs.length > 0 && (
        <DataTable
          label={t('title')}
          rows={queue.jobs}
          rowKey={({ id }) => id}
          columns={[
            { key: 'job', title: t('job'), main: true, cell: ({ id }) => <CopyableId id={id} what={t('copyId')} /> },
            {
              key: 'kind',
              title: t('kind'),
              cell: ({ name }) => <code className="font-mono text-[0.8125rem]">{name}</code>,
            },
            {
              key: 'state',
              title: t('state'),
              cell: ({ state }) => (
                <Badge tone={tones[state]} hasDot>
                  {t(`states.${state}`)}
                </Badge>
              ),
            },
            {
              key: 'tries',
              title: t('tries'),
              numeric: true,
              cell: ({ attempts, most_attempts }) => t('triesOf', { done: attempts, most: most_attempts }),
            },
            { key: 'at', title: t('at'), cell: ({ at }) => <Time at={at} show="relative" /> },
          ]}
        />
      )}
      {queue.jobs.length < all && <p className="text-quiet">{t('cut', { shown: queue.jobs.length })}</p>}
    </Section>
  )
}
