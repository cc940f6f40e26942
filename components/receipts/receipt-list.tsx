'use client'

import { useTranslations } from 'next-intl'
import { useApiInfiniteQuery } from '#components/frame/api-query.ts'
import { useRowKeys } from '#components/frame/row-keys.ts'
import { Empty } from '#components/ui/empty.tsx'
import { MoreButton } from '#components/ui/more-button.tsx'
import { ShortId } from '#components/ui/short-id.tsx'
import { DataTable } from '#components/ui/table.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import type { Endpoint } from '#lib/client/request.ts'
import type { listReceipts } from '#lib/domains/erasure/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'

const listAt: Endpoint<typeof listReceipts> = { method: 'get', path: '/api/receipts' }
export type Receipts = Output<typeof listReceipts>

const placeOf = ({ receipt_id }: Receipts['data'][number]) => `/receipts/${receipt_id}`

/** The receipts of a person, newest first. */
export function ReceiptList({ initial }: { initial: Receipts }) {
  const t = useTranslations('receipt.own')
  const pages = useApiInfiniteQuery(listAt, { query: { limit: 50 } }, { initial })
  const { cursor } = useRowKeys({ count: pages.rows.length })
  if (pages.rows.length === 0) return <Empty title={t('title', { total: 0 })}>{t('empty')}</Empty>
  return (
    <div className="grid gap-4">
      <DataTable
        label={t('label')}
        cursor={cursor}
        rows={pages.rows}
        rowKey={({ receipt_id }) => receipt_id}
        open={placeOf}
        columns={[
          {
            key: 'deleted',
            title: t('columns.deleted'),
            main: true,
            cell: (row) => <TextLink href={placeOf(row)}>{row.deleted_id}</TextLink>,
          },
          { key: 'kind', title: t('columns.kind'), cell: ({ kind }) => t(`kinds.${kind}`) },
          { key: 'at', title: t('columns.at'), cell: ({ deleted_at }) => <Time at={deleted_at} /> },
          {
            key: 'receipt',
            title: t('columns.receipt'),
            cell: ({ receipt_id, signed_at }) =>
              signed_at === null ? t('unsigned') : <ShortId id={receipt_id} what={t('columns.receipt')} />,
          },
        ]}
      />
      <MoreButton pages={pages} />
    </div>
  )
}
