'use client'

import { useTranslations } from 'next-intl'
import { useQueryStates } from 'nuqs'
import { useCallback, useState } from 'react'
import { useApiInfiniteQuery, useApiMutation } from '#components/frame/api-query.ts'
import { useRowKeys } from '#components/frame/row-keys.ts'
import { useTyped } from '#components/frame/typed.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { Empty } from '#components/ui/empty.tsx'
import { Field } from '#components/ui/field.tsx'
import { MoreButton } from '#components/ui/more-button.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { Skeleton } from '#components/ui/skeleton.tsx'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'
import { Tag } from '#components/ui/tag.tsx'
import { Time } from '#components/ui/time.tsx'
import { type OrganisationMemberPage, organisationMembersAt, resendMemberAt, withdrawMemberAt } from './endpoints.ts'
import { MemberFiling } from './member-filing.tsx'
import { memberParsers, memberQuery } from './user-filters.ts'

type Member = OrganisationMemberPage['data'][number]

/** The members of the reader's organization; `me` is the reader. */
export function OrganisationMemberList({
  initial,
  asked,
  me,
}: {
  initial: OrganisationMemberPage
  asked: { q: string }
  me: string
}) {
  const t = useTranslations('members')
  const [filters, setFilters] = useQueryStates(memberParsers)
  const pass = useCallback((q: string) => void setFilters({ q: q || null }), [setFilters])
  const { typed, setTyped } = useTyped(filters.q, pass)
  const query = memberQuery(filters)
  const isInitial = JSON.stringify(query) === JSON.stringify(memberQuery(asked))
  const list = useApiInfiniteQuery(organisationMembersAt, { query }, { initial: isInitial ? initial : undefined })
  const resending = useApiMutation(resendMemberAt, { touches: [organisationMembersAt.path] })
  const withdrawing = useApiMutation(withdrawMemberAt, { touches: [organisationMembersAt.path] })
  const [withdrawn, setWithdrawn] = useState<Member>()
  const [filing, setFiling] = useState<Member>()
  const [done, setDone] = useState<{ title: string; text?: string }>()
  const { cursor } = useRowKeys({ count: list.rows.length, onOpen: null })
  const mayResend = ({ state, role }: Member) => state === 'invited' && (role === 'person' || role === 'manager')

  const columns: ShownColumn<Member>[] = [
    {
      key: 'person',
      title: t('person'),
      main: true,
      cell: ({ name, email, account_id }) => (
        <>
          {name}
          {account_id === me && <span className="font-normal text-accent"> · {t('you')}</span>}
          <span className="block font-normal text-quiet">{email}</span>
        </>
      ),
    },
    { key: 'role', title: t('role'), cell: ({ role }) => t(`roles.${role}`) },
    {
      key: 'state',
      title: t('state'),
      cell: ({ state }) => (
        <Tag tone={state === 'deactivated' ? 'amber' : state === 'invited' ? 'accent' : 'plain'}>
          {t(`states.${state}`)}
        </Tag>
      ),
    },
    { key: 'since', title: t('since'), cell: ({ created_at }) => <Time at={created_at} isDay /> },
    {
      key: 'actions',
      title: t('actions'),
      isTitleHidden: true,
      cell: (member) =>
        member.account_id !== me && (
          <span className="flex flex-wrap gap-2">
            {mayResend(member) && (
              <Button
                tone="plain"
                size="small"
                aria-label={t('resendNamed', { name: member.name })}
                aria-disabled={resending.isPending}
                onClick={() =>
                  resending.begin({ params: { id: member.account_id } }, () =>
                    setDone({ title: t('resent', { name: member.name }) }),
                  )
                }
              >
                {t('resend')}
              </Button>
            )}
            {mayResend(member) && (
              <Button
                tone="plain"
                size="small"
                aria-label={t('withdrawNamed', { name: member.name })}
                onClick={() => setWithdrawn(member)}
              >
                {t('withdraw')}
              </Button>
            )}
            <Button
              tone="plain"
              size="small"
              aria-label={t('fileNamed', { name: member.name })}
              onClick={() => {
                setDone(undefined)
                setFiling(member)
              }}
            >
              {t('file')}
            </Button>
          </span>
        ),
    },
  ]
  return (
    <div className="grid gap-4">
      <search>
        <Field
          data-filter=""
          type="search"
          label={t('search')}
          maxLength={200}
          autoComplete="off"
          spellCheck={false}
          value={typed}
          onChange={({ target }) => setTyped(target.value)}
        />
      </search>
      {resending.problem && <ProblemAlert problem={resending.problem} />}
      {done && !resending.problem && (
        <Alert tone="done" title={done.title} isLive>
          {done.text && <p>{done.text}</p>}
        </Alert>
      )}
      {list.problem && list.rows.length === 0 && <ProblemAlert problem={list.problem} />}
      {list.isLoading && <Skeleton className="h-40" />}
      {!list.isLoading && !list.problem && list.rows.length === 0 && (
        <Empty
          title={t('noMatchTitle')}
          action={
            <Button tone="plain" size="small" onClick={() => void setFilters({ q: null })}>
              {t('clear')}
            </Button>
          }
        >
          <p>{t('noMatch')}</p>
        </Empty>
      )}
      {list.rows.length > 0 && (
        <>
          <DataTable
            label={t('list')}
            columns={columns}
            rows={list.rows}
            rowKey={({ account_id }) => account_id}
            cursor={cursor}
          />
          <MoreButton pages={list} />
        </>
      )}
      {withdrawn && (
        <Confirm
          open
          onOpenChange={(open) => open || setWithdrawn(undefined)}
          title={t('withdrawTitle', { name: withdrawn.name })}
          consequences={<p>{t('withdrawText')}</p>}
          action={t('withdraw')}
          change={withdrawing}
          onConfirm={() =>
            withdrawing.begin({ params: { id: withdrawn.account_id } }, () => {
              setDone({ title: t('withdrawn', { name: withdrawn.name }) })
              setWithdrawn(undefined)
            })
          }
        />
      )}
      {filing && (
        <MemberFiling
          member={filing}
          onClose={() => setFiling(undefined)}
          onDone={() => {
            setDone({ title: t('filing.done'), text: t('filing.doneText', { name: filing.name }) })
            setFiling(undefined)
          }}
        />
      )}
    </div>
  )
}
