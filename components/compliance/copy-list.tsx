'use client'

import { useTranslations } from 'next-intl'
import { useFaultWords } from '#components/erasures/fault-words.ts'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import type { listCopyProblems } from '#lib/domains/exports/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'

type CopyWithProblem = Output<typeof listCopyProblems>['data'][number]

interface CopyListProps {
  copies: readonly CopyWithProblem[]
  /** The number of all copies with the problem. */
  total: number
  isAdmin: boolean
}
/** Prepared copies with a problem, each with its cause. Only admins can open people and requests. */
export function CopyList({ copies, total, isAdmin }: CopyListProps) {
  const t = useTranslations('compliance.copies')
  const faultWords = useFaultWords()
  const columns: ShownColumn<CopyWithProblem>[] = [
    {
      key: 'who',
      title: t('columns.who'),
      main: true,
      cell: ({ account_id, account_name }) => {
        const name = <bdi>{account_name ?? t('deletedPerson')}</bdi>
        return isAdmin && account_name !== null ? <TextLink href={`/admin/users/${account_id}`}>{name}</TextLink> : name
      },
    },
    { key: 'created', title: t('columns.created'), cell: ({ created_at }) => <Time at={created_at} show="both" /> },
    {
      key: 'cause',
      title: t('columns.cause'),
      cell: ({ fault, expires_at }) =>
        expires_at === null ? (
          <span className="inline-block first-letter:uppercase">{faultWords(fault)}</span>
        ) : (
          t.rich('expired', { time: () => <Time at={expires_at} show="relative" /> })
        ),
    },
    {
      key: 'request',
      title: t('columns.request'),
      cell: ({ request_id }) =>
        request_id === null ? (
          <span className="text-quiet">{t('none')}</span>
        ) : isAdmin ? (
          <TextLink href={`/admin/requests/${request_id}`}>{t('open')}</TextLink>
        ) : (
          request_id
        ),
    },
  ]
  return (
    <>
      <DataTable
        label={t('name')}
        columns={columns}
        rows={copies}
        rowKey={({ id }) => id}
        empty={<EmptyState title={t('empty')} />}
      />
      {total > copies.length && <p className="mt-2 text-sm text-quiet">{t('more', { shown: copies.length, total })}</p>}
    </>
  )
}
