'use client'

import { useTranslations } from 'next-intl'
import { tokenTones } from '#components/tokens/token-state.tsx'
import { Alert } from '#components/ui/alert.tsx'
import { Badge } from '#components/ui/badge.tsx'
import { FactList } from '#components/ui/facts.tsx'
import { Time } from '#components/ui/time.tsx'
import type { MatchingToken } from './endpoints.ts'

/** The token that a revocation by prefix revokes, and the tokens that are revoked with it. */
export function MatchingTokenCard({ token }: { token: MatchingToken }) {
  const t = useTranslations('tiers')
  const words = useTranslations('tokens')
  const { agent, state, last_used_at: used, active_descendants: descendants, active_successor: successor } = token
  const isEnded = state === 'expired' || state === 'revoked'
  return (
    <section aria-label={t('prefix.found')} className="grid gap-3 rounded-box border border-line bg-raised p-4">
      <p className="flex flex-wrap items-center gap-2 font-medium">
        <code className="font-mono text-[0.8125rem]">{token.key_prefix}…</code> {token.name ?? words('unnamed')}
      </p>
      <FactList
        facts={[
          [words('columns.agent'), agent.name ?? token.agent_id],
          [t('prefix.owner'), agent.owner?.name ?? t('agents.unclaimed')],
          [
            words('columns.state'),
            <Badge key="state" tone={tokenTones[state]} hasDot>
              {words(`states.${state}`)}
            </Badge>,
          ],
          [words('columns.lastUsed'), used === null ? words('never') : <Time key="used" at={used} show="relative" />],
        ]}
      />
      {isEnded && <p>{t('prefix.ended')}</p>}
      {descendants > 0 && <p>{t('prefix.descendants', { count: descendants })}</p>}
      {successor !== null && <Alert tone="warning" title={t('prefix.successor', { prefix: `${successor}…` })} />}
    </section>
  )
}
