'use client'

import { useFormatter, useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { tokenTones, useRevocationReason } from '#components/tokens/token-state.tsx'
import { shownTokenState } from '#components/tokens/tokens.ts'
import { Badge } from '#components/ui/badge.tsx'
import { usePunctuation } from '#components/ui/punctuation.ts'
import type { ShownColumn } from '#components/ui/table.tsx'
import { Time } from '#components/ui/time.tsx'
import type { AgentUse } from './endpoints.ts'

export type AgentToken = AgentUse['tokens'][number]

function TokenState({ token, isSuspended }: { token: AgentToken; isSuspended: boolean }) {
  const t = useTranslations('tokens')
  const reasonOf = useRevocationReason(useTranslations('tiers.agent')('byOwner'))
  const { revoked_at, revoked_reason, expires_at, issued_by_token_id } = token
  const at = revoked_at ?? expires_at
  const state = shownTokenState(token.state, isSuspended)
  return (
    <span className="grid justify-items-start gap-0.5">
      <Badge tone={tokenTones[state]} hasDot>
        {t(`states.${state}`)}
      </Badge>
      {issued_by_token_id !== null && <Badge>{t('issuedByToken')}</Badge>}
      {revoked_at !== null && <span className="text-quiet">{reasonOf(revoked_reason)}</span>}
      {at !== null && <Time at={at} show="relative" />}
    </span>
  )
}

export interface TokenTableOptions {
  /** The deletion of the agent is pending, so its tokens do not work. */
  isSuspended: boolean
  /** The period in which the requests are counted, in words. */
  period: string
}
/** The columns of the tokens of an agent; `actions` are the buttons for one token. */
export function useTokenColumns(
  actions: (token: AgentToken) => ReactNode,
  { isSuspended, period }: TokenTableOptions,
): ShownColumn<AgentToken>[] {
  const t = useTranslations('tokens')
  const own = useTranslations('tiers.agent')
  const format = useFormatter()
  const { list } = usePunctuation()
  const scopesOf = ({ scopes }: AgentToken) => list(scopes.map((scope) => t(`scopes.${scope}`)))
  return [
    {
      key: 'token',
      title: t('columns.token'),
      main: true,
      value: ({ key_prefix }) => key_prefix,
      cell: ({ key_prefix, name }) => (
        <>
          <code className="font-mono text-[0.8125rem]">{key_prefix}…</code>
          <span className="block font-normal text-quiet">{name ?? t('unnamed')}</span>
        </>
      ),
    },
    { key: 'scopes', title: t('columns.scopes'), value: scopesOf, cell: scopesOf },
    {
      key: 'state',
      title: t('columns.state'),
      value: ({ state }) => t(`states.${shownTokenState(state, isSuspended)}`),
      cell: (token) => <TokenState token={token} isSuspended={isSuspended} />,
    },
    {
      key: 'used',
      title: t('columns.lastUsed'),
      value: ({ last_used_at }) => last_used_at,
      cell: ({ last_used_at }) =>
        last_used_at === null ? (
          <span className="text-quiet">{t('never')}</span>
        ) : (
          <Time at={last_used_at} show="relative" />
        ),
    },
    {
      key: 'requests',
      title: own('requests', { period }),
      numeric: true,
      value: ({ use: { reads, writes } }) => reads + writes,
      cell: ({ use: { reads, writes } }) => format.number(reads + writes),
    },
    { key: 'actions', title: t('columns.actions'), isTitleHidden: true, numeric: true, cell: actions },
  ]
}
