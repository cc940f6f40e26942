'use client'

import { useTranslations } from 'next-intl'
import { useApiInfiniteQuery } from '#components/frame/api-query.ts'
import { useQueryState } from '#components/frame/query-state.ts'
import { useRowKeys } from '#components/frame/row-keys.ts'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { FilterBar } from '#components/ui/filter-bar.tsx'
import { NoMatch } from '#components/ui/no-match.tsx'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'
import { Time } from '#components/ui/time.tsx'
import type { Endpoint } from '#lib/client/request.ts'
import type { listOutboxEmails } from '#lib/domains/outbox/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'
import { EmailDrawer } from './email-drawer.tsx'

const listAt: Endpoint<typeof listOutboxEmails> = { method: 'get', path: '/api/admin/outbox' }
type Email = Output<typeof listOutboxEmails>['data'][number]

function useColumns(onOpen: (id: string) => void): ShownColumn<Email>[] {
  const t = useTranslations('outbox')
  const subjectOf = ({ subject }: Email) => subject || t('noSubject')
  return [
    {
      key: 'subject',
      title: t('subject'),
      main: true,
      minWidth: 'long',
      value: subjectOf,
      cell: (email) => (
        <button
          type="button"
          className="min-h-6 text-left text-accent underline decoration-1 underline-offset-3 hover:decoration-2"
          aria-label={t('open', { subject: subjectOf(email) })}
          onClick={() => onOpen(email.id)}
        >
          <bdi>{subjectOf(email)}</bdi>
        </button>
      ),
    },
    { key: 'to', title: t('to'), value: ({ to }) => to, cell: ({ to }) => <bdi>{to || t('nobody')}</bdi> },
    {
      key: 'written',
      title: t('written'),
      value: ({ written_at }) => written_at,
      cell: ({ written_at }) => <Time at={written_at} show="relative" />,
    },
    {
      key: 'expires',
      title: t('expires'),
      value: ({ expires_at }) => expires_at,
      cell: ({ expires_at }) => <Time at={expires_at} show="relative" />,
    },
  ]
}

/** Emails in the outbox folder. The address holds the search and the open email. */
export function OutboxView({ initial }: { initial: Output<typeof listOutboxEmails> }) {
  const t = useTranslations('outbox')
  const [sought, setSought] = useQueryState('q')
  const q = sought ?? ''
  const text = q.trim().slice(0, 200)
  const query = { limit: '50', ...(text !== '' && { q: text }) }
  const pages = useApiInfiniteQuery(listAt, { query }, text === '' ? { initial } : {})
  const [open, setOpen] = useQueryState('letter')
  const { rows } = pages
  const { cursor } = useRowKeys({ count: rows.length, onOpen: (index) => void setOpen(rows[index]?.id ?? null) })
  const columns = useColumns((id) => void setOpen(id))
  const clear = () => setSought(null)
  return (
    <>
      <DataTable
        name="outbox"
        label={t('list')}
        rows={rows}
        rowKey={({ id }) => id}
        cursor={cursor}
        columns={columns}
        pages={pages}
        onOpen={({ id }) => void setOpen(id)}
        toolbar={
          <FilterBar
            search={{ label: t('search'), value: q, onChange: (next) => setSought(next || null) }}
            isFiltered={q !== ''}
            onClear={clear}
          />
        }
        empty={
          text === '' ? (
            <EmptyState title={t('empty.title')}>
              <p>{t('empty.text')}</p>
            </EmptyState>
          ) : (
            <NoMatch title={t('noMatch')} onClear={clear} />
          )
        }
      />
      <EmailDrawer id={open} onClose={() => void setOpen(null)} />
    </>
  )
}
