'use client'

import { useFormatter, useTranslations } from 'next-intl'
import { Badge } from '#components/ui/badge.tsx'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'
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
      value: ({ name, agent_id }) => name ?? agent_id,
      cell: ({ agent_id, name }) => (
        <TextLink href={sharingPage(agent_id)}>
          <bdi>{name ?? agent_id}</bdi>
        </TextLink>
      ),
    },
    {
      key: 'status',
      title: t('status'),
      value: ({ status }) => t(`statuses.${status}`),
      cell: ({ status }) => (
        <Badge tone={status === 'paused' ? 'warning' : 'progress'} hasDot>
          {t(`statuses.${status}`)}
        </Badge>
      ),
    },
    {
      key: 'pending',
      title: t('pending'),
      numeric: true,
      value: ({ pending }) => pending,
      cell: ({ pending }) => format.number(pending),
    },
  ]
  return (
    <DataTable
      name="siblings"
      label={t('title')}
      columns={columns}
      rows={siblings}
      rowKey={({ agent_id }) => agent_id}
    />
  )
}
