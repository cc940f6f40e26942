'use client'

import { useFormatter, useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { Empty } from '#components/ui/empty.tsx'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'
import { Tag } from '#components/ui/tag.tsx'
import { Time } from '#components/ui/time.tsx'
import { type AgentUse, ofTokens, revokeAnyTokenAt } from './endpoints.ts'

type Token = AgentUse['tokens'][number]
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
const mayEnd = ({ state }: Token) => state === 'active' || state === 'rotated'

/** The tokens of an agent, each with a button to revoke it. */
export function TokenTable({ tokens }: { tokens: readonly Token[] }) {
  const t = useTranslations('tiers.agent')
  const format = useFormatter()
  const revoke = useApiMutation(revokeAnyTokenAt, { touches: ofTokens })
  const [chosen, setChosen] = useState<Token>()
  const [isOpen, setIsOpen] = useState(false)
  if (tokens.length === 0)
    return (
      <Empty title={t('noTokens')}>
        <p>{t('noTokensText')}</p>
      </Empty>
    )
  const columns: ShownColumn<Token>[] = [
    {
      key: 'token',
      title: t('token'),
      main: true,
      cell: ({ key_prefix, name }) => (
        <>
          <code className="font-mono text-[0.8125rem]">{key_prefix}…</code>
          <span className="block font-normal text-quiet">{name ?? t('unnamed')}</span>
        </>
      ),
    },
    {
      key: 'scopes',
      title: t('scopes'),
      cell: ({ scopes }) =>
        format.list(
          scopes.map((scope) => t(`scope.${scope}`)),
          { type: 'unit' },
        ),
    },
    {
      key: 'state',
      title: t('state'),
      cell: ({ state, revoked_at, revoked_reason, expires_at, issued_by_token_id }) => {
        const at = revoked_at ?? expires_at
        return (
          <span className="grid justify-items-start gap-0.5">
            <Tag tone={state === 'active' ? 'accent' : state === 'rotated' ? 'amber' : 'plain'}>
              {t(`states.${state}`)}
            </Tag>
            {issued_by_token_id !== null && <Tag tone="amber">{t('issuedByToken')}</Tag>}
            {revoked_at !== null && <span className="text-quiet">{t(`reasons.${reasonOf(revoked_reason)}`)}</span>}
            {at !== null && <Time at={at} />}
          </span>
        )
      },
    },
    {
      key: 'used',
      title: t('lastUsed'),
      cell: ({ last_used_at }) =>
        last_used_at === null ? <span className="text-quiet">{t('never')}</span> : <Time at={last_used_at} />,
    },
    {
      key: 'requests',
      title: t('requests'),
      numeric: true,
      cell: ({ use: { reads, writes } }) => format.number(reads + writes),
    },
    {
      key: 'actions',
      title: t('actions'),
      isTitleHidden: true,
      numeric: true,
      cell: (token) =>
        mayEnd(token) && (
          <Button
            tone="plain"
            size="small"
            aria-label={t('revokeNamed', { token: token.key_prefix })}
            onClick={() => {
              setChosen(token)
              setIsOpen(true)
            }}
          >
            {t('revoke')}
          </Button>
        ),
    },
  ]
  return (
    <>
      <DataTable label={t('tokens')} columns={columns} rows={tokens} rowKey={({ id }) => id} />
      {chosen && (
        <Confirm
          open={isOpen}
          onOpenChange={setIsOpen}
          title={t('revokeTitle', { token: `${chosen.key_prefix}…` })}
          consequences={<p>{t('revokeText')}</p>}
          action={t('revokeAction')}
          change={revoke}
          onConfirm={() => revoke.begin({ params: { id: chosen.id } }, () => setIsOpen(false))}
        />
      )}
    </>
  )
}
