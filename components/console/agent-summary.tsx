import { useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { FactList } from '#components/ui/facts.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import type { Overview } from './overview.ts'

/** The number of agents and tokens, and how many need attention. */
export function AgentSummaryCard({ agents, tokens }: Pick<Overview, 'agents' | 'tokens'>) {
  const t = useTranslations('overview.agents')
  const ofAgents = [
    agents.restricted > 0 && t('restricted', { count: agents.restricted }),
    agents.suspended > 0 && t('suspended', { count: agents.suspended }),
  ].filter((part) => part !== false)
  const facts: [string, ReactNode][] = [
    [
      t('agents'),
      <span key="agents">
        <TextLink href="/agents">{t('count', { count: agents.total })}</TextLink>
        {ofAgents.length > 0 && <span className="text-quiet"> · {ofAgents.join(' · ')}</span>}
      </span>,
    ],
    [
      t('tokens'),
      <span key="tokens">
        <TextLink href="/tokens">{t('count', { count: tokens.active })}</TextLink>
        {tokens.expiring > 0 && tokens.next_expiry !== null && (
          <span className="text-amber">
            {' · '}
            {t('expiring', { count: tokens.expiring })},{' '}
            {t.rich('nextExpiry', { time: () => <Time key="next" at={tokens.next_expiry ?? ''} relative /> })}
          </span>
        )}
      </span>,
    ],
    [t('lastUsed'), tokens.last_used_at === null ? t('never') : <Time key="used" at={tokens.last_used_at} relative />],
  ]
  return <FactList facts={facts} />
}
