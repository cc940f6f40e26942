'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiInfiniteQuery, useApiMutation } from '#components/frame/api-query.ts'
import { useQueryStates } from '#components/frame/query-state.ts'
import { useRowKeys } from '#components/frame/row-keys.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { FilterBar } from '#components/ui/filter-bar.tsx'
import { focusOnMount } from '#components/ui/focus-on-mount.ts'
import { NoMatch } from '#components/ui/no-match.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { DataTable } from '#components/ui/table.tsx'
import type { OrganisationMember } from '#lib/domains/accounts/users-contract.ts'
import { type OrganisationMemberPage, organisationMembersAt, resendMemberAt, withdrawMemberAt } from './endpoints.ts'
import { MemberActions } from './member-actions.tsx'
import { useMemberColumns } from './member-columns.tsx'
import { MemberFiling } from './member-filing.tsx'
import { memberParsers, memberQuery } from './user-filters.ts'

/** The result of the last action. It takes the focus, because the button of the action may no longer be on the page. */
function Done({ title, text }: { title: string; text: string | undefined }) {
  return (
    <Alert ref={focusOnMount} tone="done" title={title} isLive>
      {text && <p>{text}</p>}
    </Alert>
  )
}

interface OrganisationMemberListProps {
  initial: OrganisationMemberPage
  asked: { q: string }
  me: string
}
/** The members of the reader's organization; `me` is the reader. */
export function OrganisationMemberList({ initial, asked, me }: OrganisationMemberListProps) {
  const t = useTranslations('members')
  const [filters, setFilters] = useQueryStates(memberParsers)
  const query = memberQuery(filters)
  const isInitial = JSON.stringify(query) === JSON.stringify(memberQuery(asked))
  const list = useApiInfiniteQuery(organisationMembersAt, { query }, { initial: isInitial ? initial : undefined })
  const touching = { touches: [organisationMembersAt.path] }
  const resending = useApiMutation(resendMemberAt, touching)
  const withdrawing = useApiMutation(withdrawMemberAt, touching)
  const [withdrawn, setWithdrawn] = useState<OrganisationMember>()
  const [filing, setFiling] = useState<OrganisationMember>()
  const [done, setDone] = useState<{ title: string; text?: string }>()
  const { cursor } = useRowKeys({ count: list.rows.length, onOpen: null })
  const columns = useMemberColumns(me, (member) => (
    <MemberActions
      member={member}
      isSending={resending.isPending}
      onResend={() =>
        resending.begin({ params: { id: member.account_id } }, () =>
          setDone({ title: t('resent', { name: member.name }) }),
        )
      }
      onWithdraw={() => setWithdrawn(member)}
      onFile={() => {
        setDone(undefined)
        setFiling(member)
      }}
    />
  ))
  const clear = () => void setFilters({ q: null })
  return (
    <div className="grid gap-4">
      {resending.problem && <ProblemAlert problem={resending.problem} />}
      {done && !resending.problem && <Done key={done.title} title={done.title} text={done.text} />}
      <DataTable
        name="members"
        label={t('list')}
        columns={columns}
        rows={list.rows}
        rowKey={({ account_id }) => account_id}
        cursor={cursor}
        pages={list}
        toolbar={
          <FilterBar
            search={{ label: t('search'), value: filters.q, onChange: (q) => void setFilters({ q: q || null }) }}
            isFiltered={filters.q !== ''}
            onClear={clear}
          />
        }
        empty={<NoMatch title={t('noMatch')} onClear={clear} />}
      />
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
