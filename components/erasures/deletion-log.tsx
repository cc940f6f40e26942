'use client'

import { useTranslations } from 'next-intl'
import { useApiInfiniteQuery } from '#components/frame/api-query.ts'
import { useQueryStates } from '#components/frame/query-state.ts'
import { useRowKeys } from '#components/frame/row-keys.ts'
import { SavedViews } from '#components/frame/saved-views.tsx'
import { dataNamesIn } from '#components/stores/data-names.ts'
import { PlainButtonLink } from '#components/ui/button.tsx'
import { CopyableId } from '#components/ui/copyable-id.tsx'
import { DateRangePicker } from '#components/ui/date-range.tsx'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { FilterBar } from '#components/ui/filter-bar.tsx'
import { NoMatch } from '#components/ui/no-match.tsx'
import { Page } from '#components/ui/page.tsx'
import { DataTable } from '#components/ui/table.tsx'
import type { ShownColumn } from '#components/ui/table-column.ts'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import type { Endpoint } from '#lib/client/request.ts'
import type { LoggedDeletion, listDeletions } from '#lib/domains/erasure/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'
import {
  addressOf,
  deletedRecords,
  deletedSubject,
  deletionFilterParsers,
  deletionKinds,
  deletionQueryOf,
} from './deletion-log-query.ts'

const deletionsAt: Endpoint<typeof listDeletions> = { method: 'get', path: '/api/admin/deletions' }
const reasons = ['gdpr_erasure', 'user_request', 'retention', 'replay', 'agent_retired', 'admin_request'] as const
const scopes = [
  'unit',
  'skill',
  'sop',
  'project',
  'conversation',
  'message',
  'document',
  'account',
  'agent',
  'participant',
] as const
const sum = ({ results }: LoggedDeletion): number => deletedRecords(results).reduce((all, [, count]) => all + count, 0)

function Records({ deletion }: { deletion: LoggedDeletion }) {
  const t = useTranslations('deletionLog')
  const names = dataNamesIn(useTranslations('dataNames'))
  const count = sum(deletion)
  const parts = deletedRecords(deletion.results)
  if (parts.length === 0) return 0
  return (
    <details>
      <summary className="cursor-pointer tabular-nums" aria-label={`${count} · ${t('open')}`}>
        {count}
      </summary>
      <ul className="mt-1 text-left text-sm text-quiet">
        {parts.map(([name, n]) => (
          <li key={name}>
            {names.records(name)} {n}
          </li>
        ))}
        <li className="mt-1">
          <CopyableId id={deletion.audit_id} what={t('auditId')} longest={16} />
        </li>
      </ul>
    </details>
  )
}

function useColumns(): ShownColumn<LoggedDeletion>[] {
  const t = useTranslations('deletionLog')
  const reasonOf = (reason: string) =>
    t(`reasons.${reasons.find((one) => one === reason) ?? 'other'}`, { reason: reason.replaceAll('_', ' ') })
  const names = dataNamesIn(useTranslations('dataNames'))
  const recordsOf = ({ results }: LoggedDeletion) =>
    deletedRecords(results)
      .map(([name]) => names.records(name))
      .join(', ')
  const kindOf = (row: LoggedDeletion) => {
    const scope = scopes.find((one) => one === deletedSubject(row.scope).kind)
    return scope === undefined ? recordsOf(row) : t(`scopes.${scope}`)
  }
  return [
    {
      key: 'what',
      title: t('columns.what'),
      main: true,
      minWidth: 'medium',
      value: (row) => `${kindOf(row)} ${deletedSubject(row.scope).id}`,
      cell: (row) => {
        const { id } = deletedSubject(row.scope)
        // Jobs have an English text instead of an id.
        if (/\s/.test(id)) return recordsOf(row) || id
        return (
          <span className="grid">
            {kindOf(row)}
            <CopyableId id={id} what={t('columns.what')} longest={24} />
          </span>
        )
      },
    },
    {
      key: 'at',
      phone: 'beside',
      title: t('columns.at'),
      value: ({ at }) => at,
      isUnsortable: true,
      cell: ({ at }) => <Time at={at} />,
    },
    {
      key: 'kind',
      phone: 'hidden',
      title: t('columns.kind'),
      value: ({ kind }) => t(`kinds.${kind}`),
      isUnsortable: true,
    },
    {
      key: 'by',
      phone: 'plain',
      title: t('columns.by'),
      value: ({ requested_by, requested_by_name }) => requested_by_name ?? requested_by,
      isUnsortable: true,
      cell: ({ requested_by, requested_by_name }) =>
        requested_by_name ??
        (requested_by.startsWith('system:') ? (
          t('system')
        ) : (
          <CopyableId id={requested_by.replace(/^user:/, '')} what={t('columns.by')} longest={18} />
        )),
    },
    {
      key: 'reason',
      phone: 'plain',
      title: t('columns.reason'),
      value: ({ reason }) => reasonOf(reason),
      isUnsortable: true,
    },
    {
      key: 'records',
      title: t('columns.records'),
      numeric: true,
      isUnsortable: true,
      value: sum,
      cell: (row) => <Records deletion={row} />,
    },
    {
      key: 'receipt',
      phone: 'plain',
      title: t('columns.receipt'),
      value: ({ receipt_id }) => receipt_id,
      isUnsortable: true,
      cell: ({ receipt_id }) =>
        receipt_id === null ? (
          <span className="text-quiet">{t('noReceipt')}</span>
        ) : (
          <TextLink href={`/receipts/${receipt_id}`}>{t('receipt')}</TextLink>
        ),
    },
  ]
}

interface DeletionLogProps {
  initial: Output<typeof listDeletions>
  /** The query that `initial` answers. */
  initialQuery: Record<string, string>
}
/** Every deletion of seven years, with filters and the file of what is shown. */
export function DeletionLog({ initial, initialQuery }: DeletionLogProps) {
  const t = useTranslations('deletionLog')
  const [filters, setFilters] = useQueryStates(deletionFilterParsers)
  const query = deletionQueryOf(filters)
  const isInitial = JSON.stringify(query) === JSON.stringify(initialQuery)
  const list = useApiInfiniteQuery(deletionsAt, { query }, { initial: isInitial ? initial : undefined })
  const { cursor } = useRowKeys({ count: list.rows.length, onOpen: null })
  const { limit: _, ...exported } = query
  const isFiltered = Object.values(filters).some((value) => value !== null)
  const clear = () => void setFilters(null)
  return (
    <Page
      width="wide"
      title={t('name')}
      lead={<p>{t('lead')}</p>}
      actions={
        <PlainButtonLink
          tone="plain"
          href={`/api/admin/deletions/export?${new URLSearchParams({ ...exported, format: 'csv' })}`}
          download
        >
          {t('export')}
        </PlainButtonLink>
      }
    >
      <DataTable
        name="deletion-log"
        label={t('name')}
        columns={useColumns()}
        rows={list.rows}
        rowKey={({ audit_id }) => audit_id}
        cursor={cursor}
        pages={list}
        toolbar={
          <FilterBar
            search={{ label: t('search'), value: filters.q ?? '', onChange: (q) => void setFilters({ q: q || null }) }}
            facets={[
              {
                key: 'kind',
                title: t('kind'),
                options: deletionKinds.map((value) => ({ value, title: t(`kinds.${value}`) })),
                value: filters.kind === null ? [] : [filters.kind],
                onChange: ([value]) => void setFilters({ kind: deletionKinds.find((one) => one === value) ?? null }),
              },
            ]}
            isFiltered={isFiltered}
            onClear={clear}
          >
            <DateRangePicker
              label={t('period')}
              value={filters}
              onChange={(range) => void setFilters(range)}
              presets={[30, 365]}
            />
            <SavedViews page="deletion-log" search={addressOf('', filters).slice(1)} />
          </FilterBar>
        }
        empty={
          isFiltered ? (
            <NoMatch title={t('empty.title')} onClear={clear} />
          ) : (
            <EmptyState title={t('empty.title')}>
              <p>{t('empty.text')}</p>
            </EmptyState>
          )
        }
      />
    </Page>
  )
}
