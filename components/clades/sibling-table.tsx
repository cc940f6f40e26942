'use client'

import { useFormatter, useTranslations } from 'next-intl'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'
import { Tag } from '#components/ui/tag.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { type CladeSibling, sharingPage } from './clades.ts'

/** Agents with the same ancestor and owner, and whether each one shares. */
export function SiblingTable({ siblings }: { siblings: readonly CladeSibling[] }) {
  const t = useTranslations('agentSharing.siblings')
  const format = useFormatter()
  const columns: ShownColumn<CladeSibling>[] = [
    {
      key: 'agent',
      title: t('agent'),
      main: true,
      cell: ({ agent_id, name }) => (
        <TextLink href={sharingPage(agent_id)}>
          <bdi>{name ?? agent_id}</bdi>
        </TextLink>
      ),
    },
    {
      key: 'status',
      title: t('status'),
      cell: ({ status }) => <Tag tone={status === 'paused' ? 'amber' : 'plain'}>{t(`statuses.${status}`)}</Tag>,
    },
    { key: 'pending', title: t('pending'), numeric: true, cell: ({ pending }) => format.number(pending) },
  ]
  return <DataTable label={t('title')} columns={columns} rows={siblings} rowKey={({ agent_id }) => agent_id} />
}
