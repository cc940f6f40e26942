'use client'

import { useFormatter, useTranslations } from 'next-intl'
import { useApiInfiniteQuery } from '#components/frame/api-query.ts'
import { parseAsString, parseAsStringLiteral } from '#components/frame/query-parsers.ts'
import { useQueryStates } from '#components/frame/query-state.ts'
import { useRowKeys } from '#components/frame/row-keys.ts'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { FilterBar } from '#components/ui/filter-bar.tsx'
import { NoMatch } from '#components/ui/no-match.tsx'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import {
  type Participant,
  type ParticipantPage,
  participantPage,
  participantQuery,
  participantsAt,
} from './endpoints.ts'
import { ParticipantTags } from './participant-tags.tsx'

function useParticipantColumns(projectId: string, mayFile: boolean): ShownColumn<Participant>[] {
  const t = useTranslations('participants')
  const format = useFormatter()
  return [
    {
      key: 'participant',
      title: t('columns.participant'),
      main: true,
      minWidth: 'long',
      value: ({ name, external_id }) => name ?? external_id,
      cell: (one) => {
        const name = <bdi>{one.name ?? one.external_id}</bdi>
        return (
          <div className="grid">
            {mayFile ? <TextLink href={participantPage(projectId, one.id)}>{name}</TextLink> : name}
            <code className="font-mono text-[0.8125rem] font-normal text-quiet [overflow-wrap:anywhere]">
              {one.external_id}
            </code>
          </div>
        )
      },
    },
    ...(mayFile
      ? [
          {
            key: 'email',
            title: t('columns.email'),
            value: ({ email }: Participant) => email,
            cell: ({ email }: Participant) =>
              email === null ? (
                <span className="text-quiet">{t('noEmail')}</span>
              ) : (
                <span className="[overflow-wrap:anywhere]">{email}</span>
              ),
          },
        ]
      : []),
    {
      key: 'messages',
      title: t('columns.messages'),
      numeric: true,
      value: ({ messages }) => messages,
      cell: ({ messages }) => format.number(messages),
    },
    { key: 'state', title: t('columns.state'), cell: (one) => <ParticipantTags participant={one} /> },
    {
      key: 'since',
      title: t('columns.since'),
      value: ({ created_at }) => created_at,
      cell: ({ created_at }) => <Time at={created_at} isDay />,
    },
  ]
}

interface ParticipantListProps {
  projectId: string
  initial: ParticipantPage
  /** The search text of `initial`. */
  asked: string
  /** Whether `initial` has only participants with an address to confirm. */
  isUnconfirmed: boolean
  /** The reader files requests for participants, so each row links to one. */
  mayFile: boolean
}
/** The participants of a project, with a search. Other members see no email addresses and no links. */
export function ParticipantList({ projectId, initial, asked, isUnconfirmed, mayFile }: ParticipantListProps) {
  const t = useTranslations('participants')
  const [{ q, unconfirmed }, setFilters] = useQueryStates({
    q: parseAsString.withDefault(''),
    unconfirmed: parseAsStringLiteral(['true']),
  })
  const query = participantQuery(q, unconfirmed !== null)
  const isInitial = JSON.stringify(query) === JSON.stringify(participantQuery(asked, isUnconfirmed))
  const list = useApiInfiniteQuery(
    participantsAt,
    { params: { projectId }, query },
    { initial: isInitial ? initial : undefined },
  )
  const { cursor } = useRowKeys({ count: list.rows.length, ...(!mayFile && { onOpen: null }) })
  const addressOf = ({ id }: Participant) => participantPage(projectId, id)
  const isFiltered = query.q !== undefined || unconfirmed !== null
  const clear = () => void setFilters({ q: null, unconfirmed: null })
  const columns = useParticipantColumns(projectId, mayFile)
  return (
    <div className="grid gap-4">
      <DataTable
        name="participants"
        label={t('list')}
        rows={list.rows}
        pages={list}
        rowKey={({ id }) => id}
        {...(mayFile && { open: addressOf })}
        cursor={cursor}
        columns={columns}
        toolbar={
          <FilterBar
            search={{
              label: t(mayFile ? 'search' : 'searchWithoutEmail'),
              value: q,
              onChange: (text) => void setFilters({ q: text || null }),
            }}
            {...(mayFile && {
              facets: [
                {
                  key: 'address',
                  title: t('columns.email'),
                  options: [{ value: 'true', title: t('address.unconfirmed') }],
                  value: unconfirmed === null ? [] : [unconfirmed],
                  onChange: ([chosen]: string[]) => void setFilters({ unconfirmed: chosen ?? null }),
                },
              ],
            })}
            isFiltered={isFiltered}
            onClear={clear}
          />
        }
        empty={
          isFiltered ? (
            <NoMatch title={t('noMatch')} onClear={clear} />
          ) : (
            <EmptyState title={t('none')}>
              <p>{t('noneText')}</p>
            </EmptyState>
          )
        }
      />
      {!mayFile && <p className="text-sm text-quiet">{t('onlyOwners')}</p>}
    </div>
  )
}
