'use client'

import { useTranslations } from 'next-intl'
import { useApiInfiniteQuery } from '#components/frame/api-query.ts'
import { useQueryStates } from '#components/frame/query-state.ts'
import { useRowKeys } from '#components/frame/row-keys.ts'
import { type Facet, FilterBar } from '#components/ui/filter-bar.tsx'
import { NoMatch } from '#components/ui/no-match.tsx'
import { useSelection } from '#components/ui/selection.ts'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import { accountStates, roles } from '#lib/domains/accounts/rules.ts'
import { type UserPage, usersAt } from './endpoints.ts'
import { StateTags } from './state-tags.tsx'
import { UserBulk } from './user-bulk.tsx'
import { type UserPageFilters, userParsers, userQuery } from './user-filters.ts'

type User = UserPage['data'][number]
const addressOf = ({ account_id }: User) => `/admin/users/${account_id}`
const nothing = { q: null, role: null, state: null, second_factor: null }

function useColumns(): ShownColumn<User>[] {
  const t = useTranslations('users')
  const roleNames = useTranslations('roles.names')
  return [
    {
      key: 'person',
      title: t('person'),
      main: true,
      minWidth: 'long',
      value: ({ name }) => name,
      cell: (user) => (
        <>
          <TextLink href={addressOf(user)}>{user.name}</TextLink>
          <span className="block font-normal text-quiet as-cards:text-sm">{user.email}</span>
        </>
      ),
    },
    {
      key: 'role',
      phone: 'hidden',
      title: t('role'),
      minWidth: 'short',
      value: ({ role }) => roleNames(role),
    },
    {
      key: 'organisation',
      phone: 'hidden',
      title: t('organisation'),
      minWidth: 'medium',
      value: ({ organisation }) => organisation.name,
    },
    {
      key: 'states',
      phone: 'beside',
      title: t('states'),
      value: ({ states }) => states.map((state) => t(`stateNames.${state}`)).join(', '),
      cell: ({ states }) => <StateTags states={states} />,
    },
    {
      key: 'since',
      phone: 'hidden',
      title: t('since'),
      value: ({ created_at }) => created_at,
      cell: ({ created_at }) => <Time at={created_at} show="relative" />,
    },
  ]
}

function useFacets(filters: UserPageFilters, setFilters: (next: Partial<UserPageFilters>) => unknown): Facet[] {
  const t = useTranslations('users')
  const roleNames = useTranslations('roles.names')
  return [
    {
      key: 'role',
      title: t('role'),
      options: roles.map((role) => ({ value: role, title: roleNames(role) })),
      value: filters.role ? [filters.role] : [],
      onChange: ([value]) => setFilters({ role: roles.find((role) => role === value) ?? null }),
    },
    {
      key: 'state',
      title: t('state'),
      options: accountStates.map((state) => ({ value: state, title: t(`stateNames.${state}`) })),
      value: filters.state ? [filters.state] : [],
      onChange: ([value]) => setFilters({ state: accountStates.find((state) => state === value) ?? null }),
    },
    {
      key: 'second-factor',
      title: t('secondFactor'),
      options: [{ value: 'missing', title: t('missingFactor') }],
      value: filters.second_factor ? [filters.second_factor] : [],
      onChange: ([value]) => setFilters({ second_factor: value === 'missing' ? value : null }),
    },
  ]
}

/** All accounts; `asked` are the filters for which the server rendered `initial`. */
export function UserList({ initial, asked }: { initial: UserPage; asked: UserPageFilters }) {
  const t = useTranslations('users')
  const [filters, setFilters] = useQueryStates(userParsers)
  const query = userQuery(filters)
  const isInitial = JSON.stringify(query) === JSON.stringify(userQuery(asked))
  const list = useApiInfiniteQuery(usersAt, { query }, { initial: isInitial ? initial : undefined })
  const columns = useColumns()
  const facets = useFacets(filters, setFilters)
  const { cursor } = useRowKeys({ count: list.rows.length })
  const selection = useSelection(list.rows.map(({ account_id }) => account_id))
  const chosen = list.rows.filter(({ account_id }) => selection.chosen.has(account_id))
  const clear = () => void setFilters(nothing)
  return (
    <DataTable
      name="users"
      label={t('list')}
      columns={columns}
      rows={list.rows}
      rowKey={({ account_id }) => account_id}
      rowName={({ name }) => name}
      open={addressOf}
      cursor={cursor}
      selection={selection}
      pages={list}
      toolbar={
        <FilterBar
          search={{ label: t('search'), value: filters.q, onChange: (q) => void setFilters({ q: q || null }) }}
          facets={facets}
          isFiltered={Object.keys(query).length > 1}
          onClear={clear}
        />
      }
      empty={<NoMatch title={t('noMatch')} onClear={clear} />}
      bulk={<UserBulk users={chosen} onClear={selection.clear} />}
    />
  )
}
