'use client'

import { useFormatter, useTranslations } from 'next-intl'
import { parseAsString, useQueryStates } from 'nuqs'
import { useCallback } from 'react'
import { useApiInfiniteQuery } from '#components/frame/api-query.ts'
import { useRowKeys } from '#components/frame/row-keys.ts'
import { useTyped } from '#components/frame/typed.ts'
import { Button } from '#components/ui/button.tsx'
import { Empty } from '#components/ui/empty.tsx'
import { Field } from '#components/ui/field.tsx'
import { MoreButton } from '#components/ui/more-button.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { Skeleton } from '#components/ui/skeleton.tsx'
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

interface ParticipantListProps {
  projectId: string
  initial: ParticipantPage
  /** The search text of `initial`. */
  asked: string
  /** The reader files requests for participants, so each row links to one. */
  mayFile: boolean
}
/** The participants of a project, with a search. Other members see no email addresses and no links. */
export function ParticipantList({ projectId, initial, asked, mayFile }: ParticipantListProps) {
  const t = useTranslations('participants')
  const format = useFormatter()
  const [{ q }, setFilters] = useQueryStates({ q: parseAsString.withDefault('') })
  const pass = useCallback((text: string) => void setFilters({ q: text || null }), [setFilters])
  const { typed, setTyped } = useTyped(q, pass)
  const query = participantQuery(q)
  const isInitial = JSON.stringify(query) === JSON.stringify(participantQuery(asked))
  const list = useApiInfiniteQuery(
    participantsAt,
    { params: { projectId }, query },
    { initial: isInitial ? initial : undefined },
  )
  const { cursor } = useRowKeys({ count: list.rows.length, ...(!mayFile && { onOpen: null }) })
  const addressOf = ({ id }: Participant) => participantPage(projectId, id)
  const isFiltered = query.q !== undefined
  if (!isFiltered && list.rows.length === 0 && !list.isLoading && !list.problem)
    return (
      <Empty title={t('none')}>
        <p>{t('noneText')}</p>
      </Empty>
    )
  const columns: ShownColumn<Participant>[] = [
    {
      key: 'participant',
      title: t('columns.participant'),
      main: true,
      cell: (one) => {
        const name = <bdi>{one.name ?? one.external_id}</bdi>
        return (
          <div className="grid">
            {mayFile ? <TextLink href={addressOf(one)}>{name}</TextLink> : name}
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
      cell: ({ messages }) => format.number(messages),
    },
    { key: 'state', title: t('columns.state'), cell: (one) => <ParticipantTags participant={one} /> },
    { key: 'since', title: t('columns.since'), cell: ({ created_at }) => <Time at={created_at} isDay /> },
  ]
  return (
    <div className="grid gap-4">
      <search>
        <Field
          data-filter=""
          type="search"
          label={t(mayFile ? 'search' : 'searchWithoutEmail')}
          maxLength={200}
          autoComplete="off"
          spellCheck={false}
          className="sm:max-w-96"
          value={typed}
          onChange={({ target }) => setTyped(target.value)}
        />
      </search>
      {list.problem && list.rows.length === 0 && <ProblemAlert problem={list.problem} />}
      {list.isLoading && <Skeleton className="h-40" />}
      {isFiltered && !list.isLoading && !list.problem && list.rows.length === 0 && (
        <Empty
          title={t('noMatch')}
          action={
            <Button tone="plain" size="small" onClick={() => void setFilters({ q: null })}>
              {t('clear')}
            </Button>
          }
        >
          <p>{t('noMatchText')}</p>
        </Empty>
      )}
      {list.rows.length > 0 && (
        <>
          <DataTable
            label={t('list')}
            rows={list.rows}
            rowKey={({ id }) => id}
            {...(mayFile && { open: addressOf })}
            cursor={cursor}
            columns={columns}
          />
          <MoreButton pages={list} />
        </>
      )}
      {!mayFile && <p className="text-sm text-quiet">{t('onlyOwners')}</p>}
    </div>
  )
}
