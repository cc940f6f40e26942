'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiInfiniteQuery } from '#components/frame/api-query.ts'
import { useQueryStates } from '#components/frame/query-state.ts'
import { useRowKeys } from '#components/frame/row-keys.ts'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { type Facet, FilterBar } from '#components/ui/filter-bar.tsx'
import { DataTable } from '#components/ui/table.tsx'
import { type TokenFilters, tokenFilterParsers, tokenQueryOf, tokenStateFilters } from './filters.ts'
import { Revocation } from './revocation.tsx'
import { Rotation } from './rotation.tsx'
import { type TokenAction, useTokenColumns } from './token-columns.tsx'
import { type ListedTokenRow, type TokenAgent, type TokenPage, tokensAt } from './tokens.ts'

interface TokenListProps {
  initial: TokenPage
  /** The filters for which the server rendered `initial`. */
  initialFilters: TokenFilters
  agents: readonly TokenAgent[]
}

/** All tokens of the person's agents, with their actions. */
export function TokenList({ initial, initialFilters, agents }: TokenListProps) {
  const t = useTranslations('tokens')
  const [filters, setFilters] = useQueryStates(tokenFilterParsers)
  const [open, setOpen] = useState<{ what: TokenAction; token: ListedTokenRow }>()
  const ids = agents.map(({ id }) => id)
  const query = tokenQueryOf(filters, ids)
  const isInitial = JSON.stringify(query) === JSON.stringify(tokenQueryOf(initialFilters, ids))
  const tokens = useApiInfiniteQuery(tokensAt, { query }, { initial: isInitial ? initial : undefined })
  const { cursor } = useRowKeys({ count: tokens.rows.length })
  const columns = useTokenColumns(
    (id) => agents.find((agent) => agent.id === id)?.name ?? id,
    (what, token) => setOpen({ what, token }),
  )
  const close = () => setOpen(undefined)
  const isFiltered = Object.values(filters).some((value) => value !== null)
  const facets: Facet[] = [
    {
      key: 'agent',
      title: t('columns.agent'),
      options: agents.map(({ id, name }) => ({ value: id, title: name ?? id })),
      value: filters.agent === null ? [] : [filters.agent],
      onChange: ([agent = null]) => void setFilters({ agent }),
    },
    {
      key: 'state',
      title: t('columns.state'),
      options: tokenStateFilters.map((state) => ({ value: state, title: t(`states.${state}`) })),
      value: filters.state === null ? [] : [filters.state],
      onChange: ([chosen]) => void setFilters({ state: tokenStateFilters.find((state) => state === chosen) ?? null }),
    },
  ]
  return (
    <>
      <DataTable
        name="own-tokens"
        label={t('name')}
        rows={tokens.rows}
        rowKey={(token) => token.id}
        cursor={cursor}
        columns={columns}
        pages={tokens}
        toolbar={
          <FilterBar
            search={{ label: t('search'), value: filters.q ?? '', onChange: (q) => void setFilters({ q: q || null }) }}
            facets={facets}
            isFiltered={isFiltered}
            onClear={() => void setFilters(null)}
          />
        }
        empty={
          isFiltered ? <EmptyState title={t('nothing')} /> : <EmptyState title={t('none')}>{t('noneText')}</EmptyState>
        }
      />
      {open?.what === 'rotate' && <Rotation token={open.token} onClose={close} />}
      {open?.what === 'revoke' && <Revocation token={open.token} onClose={close} />}
    </>
  )
}
