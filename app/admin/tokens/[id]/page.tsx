import type { Metadata } from 'next'
import { notFound } from 'next/navigation'
import { getTranslations } from 'next-intl/server'
import type { SearchParams } from 'nuqs/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { Messages } from '#components/frame/words.tsx'
import { QuotaForm } from '#components/quotas/quota-form.tsx'
import { StorageUseCard } from '#components/quotas/storage-use.tsx'
import { loadUsagePeriod, usagePeriodAddress } from '#components/tiers/filters.ts'
import { RevocationList } from '#components/tiers/revocation-list.tsx'
import { TierForm } from '#components/tiers/tier-form.tsx'
import { TokenTable } from '#components/tiers/token-table.tsx'
import { Usage } from '#components/tiers/usage.tsx'
import { FactList } from '#components/ui/facts.tsx'
import { Page, Section } from '#components/ui/page.tsx'
import { ShortId } from '#components/ui/short-id.tsx'
import { Tabs } from '#components/ui/tabs.tsx'
import { Tag } from '#components/ui/tag.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import { app } from '#lib/app-instance.ts'
import { usePeriodNames, usePeriods } from '#lib/domains/tokens/usage-rules.ts'
import { Problem } from '#lib/kernel/problem.ts'

interface TieredAgentProps {
  params: Promise<{ id: string }>
  searchParams: Promise<SearchParams>
}

export async function generateMetadata({ params }: TieredAgentProps): Promise<Metadata> {
  return { title: decodeURIComponent((await params).id) }
}

/** Awaits the result of {@link callUseCase}; renders the 404 page when the agent does not exist or its id is invalid. */
async function found<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked
  } catch (error) {
    if (Problem.is(error) && (error.status === 404 || error.status === 422)) notFound()
    throw error
  }
}

export default async function TieredAgentPage({ params, searchParams }: TieredAgentProps) {
  await requirePageAccess('tieredAgent')
  const id = decodeURIComponent((await params).id)
  const { period } = await loadUsagePeriod(searchParams)
  const [t, { data: agent }, revocations] = await Promise.all([
    getTranslations('tiers'),
    found(callUseCase(app.tiers.agent, { params: { id }, query: { period } })),
    found(callUseCase(app.tiers.revocations, { query: { agent_id: id, limit: '20' } })),
  ])
  const { use, limits, organisation } = agent
  const [words, { data: storage }] = await Promise.all([
    getTranslations('storage'),
    callUseCase(app.quotas.ofOrganisation, { params: { id: organisation.id } }),
  ])
  const { step } = usePeriods[period]
  const limit =
    ((limits.reads_per_minute + limits.writes_per_minute) * step * Math.max(1, agent.active_tokens)) / 60_000
  const most = Math.max(...use.points.map(({ reads, writes }) => reads + writes))
  return (
    <Messages of={['tiers', 'storage']}>
      <Page
        width="wide"
        title={t('agent.title', {
          id: agent.agent_id,
          count: use.total.reads + use.total.writes,
          refused: use.total.refused,
          period,
        })}
        lead={
          <p>
            <TextLink href="/admin/tokens">{t('agent.back')}</TextLink>
          </p>
        }
      >
        <Section id="agent" title={t('agent.facts')}>
          <FactList
            facts={[
              [t('agent.agentId'), <ShortId key="id" id={agent.agent_id} what={t('agent.agentId')} />],
              ...(agent.name === null ? [] : [[t('agent.named'), agent.name] as const]),
              [
                t('agent.tier'),
                <Tag key="tier" tone={agent.tier === 'enterprise' ? 'accent' : 'plain'}>
                  {t(`tiers.${agent.tier}`)}
                </Tag>,
              ],
              [
                t('agent.limits'),
                <span key="limits">
                  {t('agent.limitsText', { reads: limits.reads_per_minute, writes: limits.writes_per_minute })}
                  {agent.custom_limits && <span className="text-quiet"> · {t('agent.custom')}</span>}
                </span>,
              ],
              [t('agent.organisation'), organisation.name === agent.agent_id ? t('agents.alone') : organisation.name],
              [t('agent.owner'), t(agent.owner_claimed ? 'agent.claimed' : 'agent.unclaimed')],
              [t('agent.created'), <Time key="created" at={agent.created_at} relative />],
              ...(agent.restricted_at === null
                ? []
                : [[t('agent.restricted'), <Time key="restricted" at={agent.restricted_at} />] as const]),
              ...(agent.suspended_at === null
                ? []
                : [[t('agent.suspended'), <Time key="suspended" at={agent.suspended_at} />] as const]),
            ]}
          />
        </Section>
        <Section
          id="use"
          title={t('agent.use')}
          lead={t('agent.useLead', { ...use.total, step: use.step, most, limit, share: most / limit })}
        >
          <Tabs
            label={t('agent.periods')}
            tabs={usePeriodNames.map((name) => ({
              href: usagePeriodAddress(`/admin/tokens/${encodeURIComponent(agent.agent_id)}`, { period: name }),
              title: t(`agent.period.${name}`),
              isCurrent: name === period,
            }))}
          />
          <Usage use={use} limit={limit} />
        </Section>
        <Section
          id="tokens"
          title={t('agent.tokens')}
          lead={t('agent.tokensLead', { active: agent.active_tokens, allowed: agent.tokens_allowed })}
        >
          <TokenTable tokens={agent.tokens} />
          {agent.tokens_total > agent.tokens.length && (
            <p className="text-sm text-quiet">
              {t('agent.tokensMore', { shown: agent.tokens.length, total: agent.tokens_total })}
            </p>
          )}
        </Section>
        <Section id="limits" title={t('agent.edit')} lead={t('agent.editLead')}>
          <TierForm agent={agent} />
        </Section>
        <Section id="storage" title={words('ofOrganisation')}>
          <StorageUseCard storage={storage} />
          <QuotaForm storage={storage} />
        </Section>
        <Section id="revocations" title={t('revocations.title')} lead={t('revocations.lead')}>
          <RevocationList initial={revocations} agentId={agent.agent_id} />
        </Section>
      </Page>
    </Messages>
  )
}
