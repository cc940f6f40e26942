'use client'

import { useFormatter, useTranslations } from 'next-intl'
import { Badge } from '#components/ui/badge.tsx'
import { Sparkline } from '#components/ui/chart.tsx'
import type { ShownColumn } from '#components/ui/table.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { addressOfAgent } from './agent-address.ts'
import type { AllAgentsPage } from './endpoints.ts'

export type TieredAgent = AllAgentsPage['data'][number]

function AgentName({ agent }: { agent: TieredAgent }) {
  const t = useTranslations('tiers.agents')
  return (
    <>
      <TextLink href={addressOfAgent(agent.agent_id)}>{agent.name ?? agent.agent_id}</TextLink>
      {agent.name !== null && <span className="block font-normal text-quiet">{agent.agent_id}</span>}
      {agent.restricted_at !== null && <Badge tone="warning">{t('restricted')}</Badge>}{' '}
      {agent.suspended_at !== null && <Badge tone="warning">{t('suspended')}</Badge>}
    </>
  )
}

function AgentLimits({ agent: { tier, limits, custom_limits } }: { agent: TieredAgent }) {
  const t = useTranslations('tiers')
  return (
    <>
      {t(`tiers.${tier}`)} {custom_limits && <Badge>{t('agents.custom')}</Badge>}
      <span className="block text-quiet">
        {t('agents.perMinute', { reads: limits.reads_per_minute, writes: limits.writes_per_minute })}
      </span>
    </>
  )
}

function Requests({ use: { reads, writes, refused } }: { use: TieredAgent['use']['last_7d'] }) {
  const t = useTranslations('tiers.agents')
  const format = useFormatter()
  return (
    <>
      {format.number(reads + writes)}
      {refused > 0 && <span className="block text-red">{t('refused', { count: refused })}</span>}
    </>
  )
}

const sumOf = ({ reads, writes }: TieredAgent['use']['last_7d']) => reads + writes

/** None of its tokens works while the deletion of an agent is pending. */
const workingTokens = ({ active_tokens, suspended_at }: TieredAgent) => (suspended_at === null ? active_tokens : 0)

/** The columns of the agent list. */
export function useAgentColumns(): ShownColumn<TieredAgent>[] {
  const t = useTranslations('tiers.agents')
  const tokens = useTranslations('tokens.columns')
  return [
    {
      key: 'agent',
      title: tokens('agent'),
      main: true,
      minWidth: 'medium',
      value: ({ name, agent_id }) => name ?? agent_id,
      cell: (agent) => <AgentName agent={agent} />,
    },
    {
      key: 'owner',
      title: t('owner'),
      value: ({ owner }) => owner?.name ?? '',
      cell: ({ owner }) =>
        owner ? (
          <TextLink href={`/admin/users/${owner.account_id}`}>{owner.name}</TextLink>
        ) : (
          <span className="text-quiet">{t('unclaimed')}</span>
        ),
    },
    {
      key: 'organisation',
      title: t('organisation'),
      isHiddenAtFirst: true,
      value: ({ organisation }) => organisation.name,
      cell: ({ agent_id, organisation }) => (organisation.name === agent_id ? t('alone') : organisation.name),
    },
    {
      key: 'limits',
      title: t('limits'),
      value: ({ limits }) => limits.reads_per_minute,
      cell: (agent) => <AgentLimits agent={agent} />,
    },
    {
      key: 'tokens',
      title: t('tokens'),
      numeric: true,
      value: workingTokens,
    },
    {
      key: 'day',
      title: t('day'),
      numeric: true,
      value: ({ use }) => sumOf(use.last_24h),
      cell: ({ use }) => (
        <span className="flex items-center justify-end gap-3 as-cards:justify-start">
          {sumOf(use.last_24h) > 0 && (
            <Sparkline values={use.hours} label={t('spark', { most: Math.max(...use.hours) })} />
          )}
          <span>
            <Requests use={use.last_24h} />
          </span>
        </span>
      ),
    },
    {
      key: 'week',
      title: t('week'),
      numeric: true,
      value: ({ use }) => sumOf(use.last_7d),
      cell: ({ use }) => <Requests use={use.last_7d} />,
    },
  ]
}
