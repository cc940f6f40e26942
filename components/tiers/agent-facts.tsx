import { useTranslations } from 'next-intl'
import { Badge } from '#components/ui/badge.tsx'
import { CopyableId } from '#components/ui/copyable-id.tsx'
import { FactList } from '#components/ui/facts.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import type { AgentUse } from './endpoints.ts'

/** What an admin sees of an agent. */
export function AgentFacts({ agent }: { agent: AgentUse }) {
  const t = useTranslations('tiers')
  const { limits, organisation, owner } = agent
  return (
    <FactList
      facts={[
        [
          t('agents.owner'),
          owner ? (
            <TextLink key="owner" href={`/admin/users/${owner.account_id}`}>
              {owner.name}
            </TextLink>
          ) : (
            t('agent.unclaimed')
          ),
        ],
        [t('agents.organisation'), organisation.name === agent.agent_id ? t('agents.alone') : organisation.name],
        [t('agents.tier'), t(`tiers.${agent.tier}`)],
        [
          t('agent.limits'),
          <span key="limits">
            {t('agent.limitsText', { reads: limits.reads_per_minute, writes: limits.writes_per_minute })}{' '}
            {agent.custom_limits && <Badge>{t('agent.custom')}</Badge>}
          </span>,
        ],
        [t('agent.created'), <Time key="created" at={agent.created_at} show="relative" />],
        ...(agent.restricted_at === null
          ? []
          : [[t('agent.restricted'), <Time key="restricted" at={agent.restricted_at} show="relative" />] as const]),
        ...(agent.suspended_at === null
          ? []
          : [[t('agent.suspended'), <Time key="suspended" at={agent.suspended_at} show="relative" />] as const]),
        [t('agent.agentId'), <CopyableId key="id" id={agent.agent_id} what={t('agent.agentId')} />],
      ]}
    />
  )
}
