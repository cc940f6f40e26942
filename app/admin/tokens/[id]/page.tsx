import type { Metadata } from 'next'
import { notFound } from 'next/navigation'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import type { SearchParams } from '#components/frame/query-parsers.ts'
import { Messages } from '#components/frame/words.tsx'
import { QuotaForm } from '#components/quotas/quota-form.tsx'
import { StorageUseCard } from '#components/quotas/storage-use.tsx'
import { addressOfAgent } from '#components/tiers/agent-address.ts'
import { AgentFacts } from '#components/tiers/agent-facts.tsx'
import { loadUsagePeriod, usagePeriodAddress } from '#components/tiers/filters.ts'
import { RevocationList } from '#components/tiers/revocation-list.tsx'
import { TierForm } from '#components/tiers/tier-form.tsx'
import { TokenTable } from '#components/tiers/token-table.tsx'
import { Usage } from '#components/tiers/usage.tsx'
import { Card, Page, Section } from '#components/ui/page.tsx'
import { Tabs } from '#components/ui/tabs.tsx'
import { app } from '#lib/app-instance.ts'
import { usePeriodNames } from '#lib/domains/tokens/rules.ts'
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
  const [t, tokenWords, { data: agent }, revocations] = await Promise.all([
    getTranslations('tiers'),
    getTranslations('tokens'),
    found(callUseCase(app.tiers.agent, { params: { id }, query: { period } })),
    found(callUseCase(app.tiers.revocations, { query: { agent_id: id, limit: '20' } })),
  ])
  const [words, { data: storage }] = await Promise.all([
    getTranslations('storage'),
    callUseCase(app.quotas.ofOrganisation, { params: { id: agent.organisation.id } }),
  ])
  const isSuspended = agent.suspended_at !== null
  return (
    <Messages of={['tiers', 'storage', 'tokens']}>
      <Page
        title={agent.name ?? agent.agent_id}
        breadcrumbs={[{ href: '/admin/tokens', title: t('name') }]}
        aside={
          <Card title={tokenWords('columns.agent')}>
            <AgentFacts agent={agent} />
          </Card>
        }
      >
        <Section
          id="tokens"
          title={t('agent.tokens')}
          lead={
            isSuspended
              ? t('agent.tokensSuspended')
              : t('agent.tokensLead', { active: agent.active_tokens, allowed: agent.tokens_allowed })
          }
        >
          <TokenTable tokens={agent.tokens} isSuspended={isSuspended} period={t(`agent.period.${period}`)} />
          {agent.tokens_total > agent.tokens.length && (
            <p className="text-sm text-quiet">
              {t('agent.tokensMore', { shown: agent.tokens.length, total: agent.tokens_total })}
            </p>
          )}
        </Section>
        <Section id="use" title={t('agent.use')} lead={t('agent.useLead', agent.use.total)}>
          <Tabs
            label={t('agent.periods')}
            tabs={usePeriodNames.map((name) => ({
              href: usagePeriodAddress(addressOfAgent(agent.agent_id), { period: name }),
              title: t(`agent.period.${name}`),
              isCurrent: name === period,
            }))}
          />
          <Usage use={agent.use} />
        </Section>
        <Section id="limits" title={t('agent.edit')}>
          <TierForm agent={agent} />
        </Section>
        <Section id="storage" title={words('title')}>
          <StorageUseCard storage={storage} />
          <QuotaForm storage={storage} />
        </Section>
        {revocations.data.length > 0 && (
          <Section id="revocations" title={t('revocations.title')} lead={t('revocations.lead')}>
            <RevocationList initial={revocations} agentId={agent.agent_id} />
          </Section>
        )}
      </Page>
    </Messages>
  )
}
