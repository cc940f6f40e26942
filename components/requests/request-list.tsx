'use client'

import { useTranslations } from 'next-intl'
import { useApiInfiniteQuery } from '#components/frame/api-query.ts'
import { useRowKeys } from '#components/frame/row-keys.ts'
import { Badge } from '#components/ui/badge.tsx'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { usePunctuation } from '#components/ui/punctuation.ts'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import { NewRequestMenu } from './new-request-menu.tsx'
import { requestTones } from './request-tones.ts'
import { listOwnRequestsAt, type Requests } from './requests.ts'
import { TimeLeft } from './time-left.tsx'
import { legalSecondsLeft } from './time-left-rules.ts'

type Row = Requests['data'][number]
const pageOf = ({ id }: Row) => `/settings/privacy/requests/${id}`

function useColumns(agentNames: Readonly<Record<string, string>>): readonly ShownColumn<Row>[] {
  const t = useTranslations('requests')
  const names = useTranslations('requestNames')
  const { list } = usePunctuation()
  const kindsOf = ({ kinds }: Row) => list(kinds.map((kind) => names(`kinds.${kind}`)))
  const aboutOf = ({ agent_id, subject, for_member }: Row) => {
    if (for_member) return t('about.member')
    if (agent_id !== null) return agentNames[agent_id] ?? agent_id
    return t(subject === 'person' ? 'about.you' : `about.${subject}`)
  }
  return [
    {
      key: 'kinds',
      title: t('columns.kinds'),
      main: true,
      cell: (row) => <TextLink href={pageOf(row)}>{kindsOf(row)}</TextLink>,
      value: kindsOf,
    },
    { key: 'about', title: t('columns.about'), cell: (row) => <bdi>{aboutOf(row)}</bdi>, value: aboutOf },
    {
      key: 'state',
      title: t('columns.state'),
      cell: ({ state }) => (
        <Badge tone={requestTones[state]} hasDot>
          {names(`states.${state}`)}
        </Badge>
      ),
      value: ({ state }) => names(`states.${state}`),
    },
    {
      key: 'due',
      title: t('columns.due'),
      cell: (row) => (row.due === 'stopped' ? null : <TimeLeft due={row.due} seconds_left={legalSecondsLeft(row)} />),
      value: legalSecondsLeft,
    },
    {
      key: 'received',
      title: t('columns.received'),
      cell: ({ received_at }) => <Time at={received_at} show="relative" />,
      value: ({ received_at }) => received_at,
    },
  ]
}

interface OwnRequestListProps {
  initial: Requests
  /** Names of the reader's agents by id. */
  agentNames: Readonly<Record<string, string>>
}
/** The requests of a person, newest first. */
export function OwnRequestList({ initial, agentNames }: OwnRequestListProps) {
  const t = useTranslations('requests')
  const pages = useApiInfiniteQuery(listOwnRequestsAt, { query: { limit: 50 } }, { initial })
  const { cursor } = useRowKeys({ count: pages.rows.length })
  const columns = useColumns(agentNames)
  return (
    <DataTable
      name="own-requests"
      label={t('name')}
      cursor={cursor}
      rows={pages.rows}
      rowKey={({ id }) => id}
      open={pageOf}
      columns={columns}
      pages={pages}
      empty={
        <EmptyState title={t('empty.title')} action={<NewRequestMenu />}>
          {t('empty.text')}
        </EmptyState>
      }
    />
  )
}
