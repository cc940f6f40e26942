import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { OverviewTiles } from '#components/console/overview-tiles.tsx'
import { OwnSections } from '#components/console/own-sections.tsx'
import { Messages } from '#components/frame/words.tsx'
import { StorageUseCard } from '#components/quotas/storage-use.tsx'
import { ButtonLink } from '#components/ui/button.tsx'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { Page, Section } from '#components/ui/page.tsx'
import { app } from '#lib/app-instance.ts'
import { namesOfAgents } from '../settings/privacy/requests/agent-names.ts'
import { AdminDashboard } from './admin-dashboard.tsx'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('overview'))('name') })

/** The numbers and lists about the reader's own data. */
async function OwnOverview({ isDashboardShown }: { isDashboardShown: boolean }) {
  const [words, { data: overview }, { data: storage }, work] = await Promise.all([
    getTranslations('storage'),
    callUseCase(app.console.overview),
    callUseCase(app.quotas.own),
    callUseCase(app.console.work),
  ])
  const agentNames = await namesOfAgents(overview.requests.shown.map(({ agent_id }) => agent_id))
  return (
    <>
      <OverviewTiles overview={overview} />
      {overview.agents.total === 0 && !isDashboardShown && <StartHere />}
      <OwnSections overview={overview} work={work} agentNames={agentNames}>
        <Section id="storage" title={words('title')}>
          <StorageUseCard storage={storage} />
        </Section>
      </OwnSections>
    </>
  )
}

/** Whether no unit can be found here: the installation is empty. Its first start creates an agent that has contributed nothing. */
async function hasNoUnits(): Promise<boolean> {
  const { data } = await callUseCase(app.inspection.listRecords, { query: { kind: 'unit', mine: 'false', limit: '1' } })
  return data.length === 0
}

/** Leads an account without agents to its first contribution and its first deletion. */
async function StartHere() {
  const t = await getTranslations('overview.first')
  return (
    <EmptyState title={t('title')} action={<ButtonLink href="/welcome">{t('action')}</ButtonLink>}>
      {t('text')}
    </EmptyState>
  )
}

export default async function OverviewPage() {
  const [{ role }, t] = await Promise.all([requirePageAccess('overview'), getTranslations('overview')])
  const seesDashboard = role === 'admin' || role === 'auditor'
  const isEmpty = role === 'admin' && (await hasNoUnits())
  return (
    <Messages of={['overview', 'storage', 'requests']}>
      <Page width="wide" title={t('name')}>
        {seesDashboard ? (
          <>
            {isEmpty && <StartHere />}
            <AdminDashboard isAdmin={role === 'admin'} />
            <Section id="own" title={t('admin.own')}>
              <OwnOverview isDashboardShown />
            </Section>
          </>
        ) : (
          <OwnOverview isDashboardShown={false} />
        )}
      </Page>
    </Messages>
  )
}
