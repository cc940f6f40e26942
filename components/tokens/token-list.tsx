'use client'

import { Ellipsis } from 'lucide-react'
import { useNow, useTranslations } from 'next-intl'
import { useQueryStates } from 'nuqs'
import { useState } from 'react'
import { agentPage } from '#components/agents/agents.ts'
import { useApiInfiniteQuery } from '#components/frame/api-query.ts'
import { useRowKeys } from '#components/frame/row-keys.ts'
import { Button } from '#components/ui/button.tsx'
import { Empty } from '#components/ui/empty.tsx'
import { Select } from '#components/ui/field.tsx'
import { Menu } from '#components/ui/menu.tsx'
import { MoreButton } from '#components/ui/more-button.tsx'
import { DataTable } from '#components/ui/table.tsx'
import { Tag } from '#components/ui/tag.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import { CreateToken } from './create-token.tsx'
import { type TokenFilters, tokenFilterParsers, tokenQueryOf, tokenStateFilters } from './filters.ts'
import { Revocation } from './revocation.tsx'
import { Rotation } from './rotation.tsx'
import { TokenState } from './token-state.tsx'
import { isNearlyOver, type ListedTokenRow, lifeLeft, type TokenAgent, type TokenPage, tokensAt } from './tokens.ts'

interface TokenListProps {
  initial: TokenPage
  /** The filters for which the server rendered `initial`. */
  initialFilters: TokenFilters
  agents: readonly TokenAgent[]
  isAdmin: boolean
}

/** All tokens of the person's agents, with their actions. */
export function TokenList({ initial, initialFilters, agents, isAdmin }: TokenListProps) {
  const t = useTranslations('tokens')
  const now = useNow()
  const [filters, setFilters] = useQueryStates(tokenFilterParsers)
  const [open, setOpen] = useState<{ what: 'rotate' | 'revoke'; token: ListedTokenRow }>()
  const ids = agents.map(({ id }) => id)
  const query = tokenQueryOf(filters, ids)
  const isInitial = JSON.stringify(query) === JSON.stringify(tokenQueryOf(initialFilters, ids))
  const tokens = useApiInfiniteQuery(tokensAt, { query }, { initial: isInitial ? initial : undefined })
  const { cursor } = useRowKeys({ count: tokens.rows.length })
  const agentNamed = (id: string) => agents.find((agent) => agent.id === id)?.name ?? id
  const close = () => setOpen(undefined)
  const isFiltered = filters.agent !== null || filters.state !== null

  return (
    <div className="grid gap-4">
      <div className="flex flex-wrap items-end gap-3">
        <search aria-label={t('filters.label')} className="grid grow gap-3 sm:grid-cols-[14rem_14rem]">
          <Select
            data-filter
            label={t('filters.agent')}
            name="agent"
            value={filters.agent ?? ''}
            onChange={({ target }) => void setFilters({ agent: target.value || null })}
            options={[
              { value: '', title: t('filters.anyAgent') },
              ...agents.map(({ id, name }) => ({ value: id, title: name ?? id })),
            ]}
          />
          <Select
            label={t('filters.state')}
            name="state"
            value={filters.state ?? ''}
            onChange={({ target }) =>
              void setFilters({ state: tokenStateFilters.find((state) => state === target.value) ?? null })
            }
            options={[
              { value: '', title: t('filters.anyState') },
              ...tokenStateFilters.map((state) => ({ value: state, title: t(`stateNames.${state}`) })),
            ]}
          />
        </search>
        <CreateToken agents={agents} chosen={query.agent_id} isAdmin={isAdmin} />
      </div>
      {tokens.rows.length === 0 && !tokens.isLoading && !tokens.problem ? (
        isFiltered ? (
          <Empty
            title={t('nothing')}
            action={
              <Button tone="plain" onClick={() => void setFilters({ agent: null, state: null })}>
                {t('clear')}
              </Button>
            }
          >
            <p>{t('nothingText')}</p>
          </Empty>
        ) : (
          <Empty title={t('none')}>
            <p>{t('noneText')}</p>
          </Empty>
        )
      ) : (
        <DataTable
          label={t('list')}
          rows={tokens.rows}
          rowKey={(token) => token.id}
          cursor={cursor}
          columns={[
            {
              key: 'token',
              title: t('columns.token'),
              main: true,
              cell: (token) => (
                <div className="grid sm:min-w-32">
                  <bdi>{token.name ?? t('unnamed')}</bdi>
                  <code
                    className="font-mono text-[0.8125rem] font-normal whitespace-nowrap text-quiet"
                    title={t('prefix')}
                  >
                    {token.key_prefix}…
                  </code>
                </div>
              ),
            },
            {
              key: 'agent',
              title: t('columns.agent'),
              cell: (token) => (
                <TextLink href={agentPage(token.agent_id)}>
                  <bdi>{agentNamed(token.agent_id)}</bdi>
                </TextLink>
              ),
            },
            {
              key: 'scopes',
              title: t('columns.scopes'),
              cell: (token) => token.scopes.map((scope) => t(`scopes.${scope}`)).join(', '),
            },
            { key: 'state', title: t('columns.state'), cell: (token) => <TokenState token={token} /> },
            {
              key: 'lastUsed',
              title: t('columns.lastUsed'),
              cell: (token) => (token.last_used_at ? <Time at={token.last_used_at} relative /> : t('never')),
            },
            {
              key: 'expires',
              title: t('columns.expires'),
              cell: (token) =>
                token.expires_at ? (
                  <span className="inline-flex flex-wrap items-center gap-x-2">
                    <Time at={token.expires_at} relative />
                    {token.revoked_at === null && isNearlyOver(lifeLeft(token, now)) && (
                      <Tag tone="amber">{t('soon')}</Tag>
                    )}
                  </span>
                ) : (
                  t('noEnd')
                ),
            },
            {
              key: 'actions',
              title: t('columns.actions'),
              isTitleHidden: true,
              cell: (token) =>
                token.state === 'active' || token.state === 'rotated' ? (
                  <Menu
                    trigger={
                      <Button
                        tone="ghost"
                        size="icon"
                        aria-label={t('actions', { name: token.name ?? token.key_prefix })}
                      >
                        <Ellipsis aria-hidden className="size-4.5" />
                      </Button>
                    }
                    items={[
                      ...(token.state === 'active'
                        ? [{ key: 'rotate', label: t('rotate'), onSelect: () => setOpen({ what: 'rotate', token }) }]
                        : []),
                      {
                        key: 'revoke',
                        label: t('revoke'),
                        tone: 'danger' as const,
                        onSelect: () => setOpen({ what: 'revoke', token }),
                      },
                    ]}
                  />
                ) : null,
            },
          ]}
        />
      )}
      <MoreButton pages={tokens} />
      {open?.what === 'rotate' && <Rotation token={open.token} onClose={close} />}
      {open?.what === 'revoke' && <Revocation token={open.token} onClose={close} />}
    </div>
  )
}
