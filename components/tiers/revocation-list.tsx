'use client'

import { useTranslations } from 'next-intl'
import { useApiInfiniteQuery } from '#components/frame/api-query.ts'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import { type RevocationPage, revocationsAt } from './endpoints.ts'

type Revocation = RevocationPage['data'][number]

function Evidence({ revocation }: { revocation: Revocation }) {
  const t = useTranslations('tiers.revocations')
  const { evidence, evidence_until, token_id } = revocation
  if (evidence.length === 0) return <span className="text-quiet">{t('gone')}</span>
  return (
    <div className="grid gap-1">
      <ul className="grid gap-1">
        {evidence.map(({ at, class: kind, limit, consumed, ip, token_id: by }) => (
          <li key={`${at} ${by} ${consumed}`}>
            <Time at={at} /> · {t('refusal', { kind, limit, consumed })}
            {ip !== '' && (
              <>
                {' · '}
                <span className="font-mono text-[0.8125rem]">{t('from', { ip })}</span>
              </>
            )}
            {by !== token_id && <span className="text-quiet"> · {t('successor')}</span>}
          </li>
        ))}
      </ul>
      <p className="text-quiet">{t.rich('until', { time: () => <Time at={evidence_until} /> })}</p>
    </div>
  )
}

/** Tokens that were revoked because of refused requests, with these requests as evidence. `agentId` limits the list to one agent. */
export function RevocationList({ initial, agentId }: { initial: RevocationPage; agentId?: string }) {
  const t = useTranslations('tiers.revocations')
  const tokens = useTranslations('tokens.columns')
  const list = useApiInfiniteQuery(
    revocationsAt,
    { query: { limit: '20', ...(agentId !== undefined && { agent_id: agentId }) } },
    { initial },
  )
  const columns: ShownColumn<Revocation>[] = [
    {
      key: 'token',
      title: tokens('token'),
      main: true,
      cell: ({ key_prefix, token_id }) => (
        <>
          <code className="font-mono text-[0.8125rem]">{key_prefix}…</code>
          <span className="block font-normal">
            <TextLink href={`/admin/audit?resource_id=${token_id}`}>{t('audit')}</TextLink>
          </span>
        </>
      ),
    },
    ...(agentId === undefined
      ? [
          {
            key: 'agent',
            title: tokens('agent'),
            cell: ({ agent_id }: Revocation) => (
              <TextLink href={`/admin/tokens/${encodeURIComponent(agent_id)}`}>{agent_id}</TextLink>
            ),
          },
        ]
      : []),
    { key: 'when', title: t('when'), cell: ({ revoked_at }) => <Time at={revoked_at} show="relative" /> },
    { key: 'evidence', title: t('evidence'), cell: (revocation) => <Evidence revocation={revocation} /> },
  ]
  return (
    <DataTable
      label={t('title')}
      columns={columns}
      rows={list.rows}
      rowKey={({ token_id }) => token_id}
      pages={list}
      empty={
        <EmptyState title={t('none')}>
          <p>{t('noneText')}</p>
        </EmptyState>
      }
    />
  )
}
