'use client'

import { useTranslations } from 'next-intl'
import { useQueryState } from 'nuqs'
import { useApiInfiniteQuery } from '#components/frame/api-query.ts'
import { useRowKeys } from '#components/frame/row-keys.ts'
import { Empty } from '#components/ui/empty.tsx'
import { MoreButton } from '#components/ui/more-button.tsx'
import { DataTable } from '#components/ui/table.tsx'
import { Time } from '#components/ui/time.tsx'
import type { Endpoint } from '#lib/client/request.ts'
import type { listLetters } from '#lib/domains/outbox/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'
import { EmailDrawer } from './email-drawer.tsx'

const listAt: Endpoint<typeof listLetters> = { method: 'get', path: '/api/admin/outbox' }
const listQuery = { limit: '50' } as const

/** Emails in the outbox folder. The address holds the open one. */
export function OutboxView({ initial }: { initial: Output<typeof listLetters> }) {
  const t = useTranslations('outbox')
  const pages = useApiInfiniteQuery(listAt, { query: listQuery }, { initial })
  const [open, setOpen] = useQueryState('letter')
  const { rows } = pages
  const { cursor } = useRowKeys({ count: rows.length, onOpen: (index) => void setOpen(rows[index]?.id ?? null) })
  const subjectOf = (subject: string) => subject || t('noSubject')
  return (
    <>
      {rows.length === 0 ? (
        <Empty title={t('empty.title')}>
          <p>{t('empty.text')}</p>
        </Empty>
      ) : (
        <div className="grid gap-4">
          <DataTable
            label={t('list')}
            rows={rows}
            rowKey={({ id }) => id}
            cursor={cursor}
            columns={[
              {
                key: 'subject',
                title: t('subject'),
                main: true,
                cell: ({ id, subject }) => (
                  <button
                    type="button"
                    className="text-left text-accent underline decoration-1 underline-offset-3 hover:decoration-2"
                    aria-label={t('open', { subject: subjectOf(subject) })}
                    onClick={() => void setOpen(id)}
                  >
                    <bdi>{subjectOf(subject)}</bdi>
                  </button>
                ),
              },
              { key: 'to', title: t('to'), cell: ({ to }) => <bdi>{to || t('nobody')}</bdi> },
              { key: 'written', title: t('written'), cell: ({ written_at }) => <Time at={written_at} /> },
              { key: 'expires', title: t('expires'), cell: ({ expires_at }) => <Time at={expires_at} /> },
            ]}
          />
          <MoreButton pages={pages} />
        </div>
      )}
      <EmailDrawer id={open} onClose={() => void setOpen(null)} />
    </>
  )
}
