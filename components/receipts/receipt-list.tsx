'use client'

import { useTranslations } from 'next-intl'
import { useApiInfiniteQuery } from '#components/frame/api-query.ts'
import { useRowKeys } from '#components/frame/row-keys.ts'
import { Badge } from '#components/ui/badge.tsx'
import { CopyableId } from '#components/ui/copyable-id.tsx'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import type { Endpoint } from '#lib/client/request.ts'
import type { listReceipts } from '#lib/domains/erasure/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'

const listAt: Endpoint<typeof listReceipts> = { method: 'get', path: '/api/receipts' }
export type Receipts = Output<typeof listReceipts>
type Row = Receipts['data'][number]

const pageOf = ({ receipt_id }: Row) => `/receipts/${receipt_id}`

function useColumns(): readonly ShownColumn<Row>[] {
  const t = useTranslations('receipt.own')
  const kinds = useTranslations('receipt.kinds')
  return [
    {
      key: 'kind',
      title: t('columns.kind'),
      main: true,
      cell: (row) => <TextLink href={pageOf(row)}>{kinds(row.kind)}</TextLink>,
      value: ({ kind }) => kinds(kind),
    },
    {
      key: 'at',
      title: t('columns.at'),
      cell: ({ deleted_at }) => <Time at={deleted_at} show="relative" />,
      value: ({ deleted_at }) => deleted_at,
    },
    {
      key: 'deleted',
      title: t('columns.deleted'),
      cell: ({ deleted_id }) => <CopyableId id={deleted_id} what={t('columns.deleted')} />,
      value: ({ deleted_id }) => deleted_id,
    },
    {
      key: 'receipt',
      title: t('columns.receipt'),
      cell: ({ receipt_id, signed_at }) =>
        signed_at === null ? (
          <Badge>{t('unsigned')}</Badge>
        ) : (
          <CopyableId id={receipt_id} what={t('columns.receipt')} />
        ),
      value: ({ receipt_id }) => receipt_id,
    },
  ]
}

/** The receipts of a person, newest first. */
export function ReceiptList({ initial }: { initial: Receipts }) {
  const t = useTranslations('receipt.own')
  const pages = useApiInfiniteQuery(listAt, { query: { limit: 50 } }, { initial })
  const { cursor } = useRowKeys({ count: pages.rows.length })
  const columns = useColumns()
  return (
    <DataTable
      name="own-receipts"
      label={t('name')}
      cursor={cursor}
      rows={pages.rows}
      rowKey={({ receipt_id }) => receipt_id}
      open={pageOf}
      columns={columns}
      pages={pages}
      empty={<EmptyState title={t('empty')}>{t('emptyText')}</EmptyState>}
    />
  )
}
