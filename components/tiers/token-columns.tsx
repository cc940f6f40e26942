'use client'

import { useFormatter, useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { Badge } from '#components/ui/badge.tsx'
import { usePunctuation } from '#components/ui/punctuation.ts'
import type { ShownColumn } from '#components/ui/table.tsx'
import { Time } from '#components/ui/time.tsx'
import type { AgentUse } from './endpoints.ts'
import { tokenTones } from './matching-token.tsx'

export type AgentToken = AgentUse['tokens'][number]
const reasons = [
  'owner',
  'admin',
  'rotation',
  'rate_limit',
  'claim',
  'owner_role',
  'owner_closed',
  'issuer_revoked',
  'consent_withdrawn',
] as const
const reasonOf = (reason: string | null) => reasons.find((one) => one === reason) ?? 'other'

function TokenState({ token }: { token: AgentToken }) {
  const t = useTranslations('tiers.agent')
  const { state, revoked_at, revoked_reason, expires_at, issued_by_token_id } = token
  const at = revoked_at ?? expires_at
  return (
    <span className="grid justify-items-start gap-0.5">
      <Badge tone={tokenTones[state]} hasDot>
        {t(`states.${state}`)}
      </Badge>
      {issued_by_token_id !== null && <Badge>{t('issuedByToken')}</Badge>}
      {revoked_at !== null && <span className="text-quiet">{t(`reasons.${reasonOf(revoked_reason)}`)}</span>}
      {at !== null && <Time at={at} show="relative" />}
    </span>
  )
}

/** The columns of the tokens of an agent; `actions` are the buttons for one token. */
export function useTokenColumns(actions: (token: AgentToken) => ReactNode): ShownColumn<AgentToken>[] {
  const t = useTranslations('tiers.agent')
  const format = useFormatter()
  const { list } = usePunctuation()
  const scopesOf = ({ scopes }: AgentToken) => list(scopes.map((scope) => t(`scope.${scope}`)))
  return [
    {
      key: 'token',
      title: t('token'),
      main: true,
      value: ({ key_prefix }) => key_prefix,
      cell: ({ key_prefix, name }) => (
        <>
          <code className="font-mono text-[0.8125rem]">{key_prefix}…</code>
          <span className="block font-normal text-quiet">{name ?? t('unnamed')}</span>
        </>
      ),
    },
    { key: 'scopes', title: t('scopes'), value: scopesOf, cell: scopesOf },
    {
      key: 'state',
      title: t('state'),
      value: ({ state }) => t(`states.${state}`),
      cell: (token) => <TokenState token={token} />,
    },
    {
      key: 'used',
      title: t('lastUsed'),
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
      title: t('requests'),
      numeric: true,
      value: ({ use: { reads, writes } }) => reads + writes,
      cell: ({ use: { reads, writes } }) => format.number(reads + writes),
    },
    { key: 'actions', title: t('actions'), isTitleHidden: true, numeric: true, cell: actions },
  ]
}
