'use client'

import { useTranslations } from 'next-intl'
import { useQueryStates } from 'nuqs'
import { useCallback } from 'react'
import { useApiInfiniteQuery } from '#components/frame/api-query.ts'
import { useRowKeys } from '#components/frame/row-keys.ts'
import { useTyped } from '#components/frame/typed.ts'
import { Button } from '#components/ui/button.tsx'
import { Empty } from '#components/ui/empty.tsx'
import { Field, Select } from '#components/ui/field.tsx'
import { MoreButton } from '#components/ui/more-button.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { Skeleton } from '#components/ui/skeleton.tsx'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import { accountStates, roles } from '#lib/domains/accounts/rules.ts'
import { type UserPage, usersAt } from './endpoints.ts'
import { StateTags } from './state-tags.tsx'
import { type UserPageFilters, userParsers, userQuery } from './user-filters.ts'

type User = UserPage['data'][number]
const addressOf = ({ account_id }: User) => `/admin/users/${account_id}`

function useColumns(): ShownColumn<User>[] {
  const t = useTranslations('users')
  return [
    {
      key: 'person',
      title: t('person'),
      main: true,
      cell: (user) => (
        <>
          <TextLink href={addressOf(user)}>{user.name}</TextLink>
          <span className="block font-normal text-quiet">{user.email}</span>
        </>
      ),
    },
    { key: 'role', title: t('role'), cell: ({ role }) => t(`roles.${role}`) },
    { key: 'organisation', title: t('organisation'), cell: ({ organisation }) => organisation.name },
    { key: 'states', title: t('states'), cell: ({ states }) => <StateTags states={states} /> },
    { key: 'since', title: t('since'), cell: ({ created_at }) => <Time at={created_at} isDay /> },
  ]
}

/** All accounts; `asked` are the filters for which the server rendered `initial`. */
export function UserList({ initial, asked }: { initial: UserPage; asked: UserPageFilters }) {
  const t = useTranslations('users')
  const [filters, setFilters] = useQueryStates(userParsers)
  const pass = useCallback((q: string) => void setFilters({ q: q || null }), [setFilters])
  const { typed, setTyped } = useTyped(filters.q, pass)
  const query = userQuery(filters)
  const isInitial = JSON.stringify(query) === JSON.stringify(userQuery(asked))
  const list = useApiInfiniteQuery(usersAt, { query }, { initial: isInitial ? initial : undefined })
  const columns = useColumns()
  const { cursor } = useRowKeys({ count: list.rows.length })
  return (
    <div className="grid gap-4">
      <search className="grid gap-3 sm:grid-cols-[1fr_11rem_11rem]">
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
        <Select
          label={t('role')}
          value={filters.role ?? ''}
          onChange={({ target }) => void setFilters({ role: roles.find((role) => role === target.value) ?? null })}
          options={[
            { value: '', title: t('anyRole') },
            ...roles.map((role) => ({ value: role, title: t(`roles.${role}`) })),
          ]}
        />
        <Select
          label={t('state')}
          value={filters.state ?? ''}
          onChange={({ target }) =>
            void setFilters({ state: accountStates.find((state) => state === target.value) ?? null })
          }
          options={[
            { value: '', title: t('anyState') },
            ...accountStates.map((state) => ({ value: state, title: t(`stateNames.${state}`) })),
          ]}
        />
      </search>
      {list.problem && list.rows.length === 0 && <ProblemAlert problem={list.problem} />}
      {list.isLoading && <Skeleton className="h-40" />}
      {!list.isLoading && !list.problem && list.rows.length === 0 && (
        <Empty
          title={t('noMatchTitle')}
          action={
            <Button tone="plain" size="small" onClick={() => void setFilters({ q: null, role: null, state: null })}>
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
            open={addressOf}
            cursor={cursor}
          />
          <MoreButton pages={list} />
        </>
      )}
    </div>
  )
}
