import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { AgentSummaryCard } from '#components/console/agent-summary.tsx'
import { ClosingProjects } from '#components/console/closing-projects.tsx'
import { ExpiringSoonCard } from '#components/console/expiring-soon.tsx'
import { LastSignIns } from '#components/console/last-sign-ins.tsx'
import { NewestReceipts } from '#components/console/newest-receipts.tsx'
import { OpenRequestsCard } from '#components/console/open-requests.tsx'
import { WorkList } from '#components/console/work-list.tsx'
import { Messages } from '#components/frame/words.tsx'
import { StorageUseCard } from '#components/quotas/storage-use.tsx'
import { ButtonLink } from '#components/ui/button.tsx'
import { Empty } from '#components/ui/empty.tsx'
import { Page, Section } from '#components/ui/page.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import { app } from '#lib/app-instance.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('overview'))('name') })

export default async function OverviewPage() {
  await requirePageAccess('overview')
  const [t, words, { data: overview }, { data: storage }, work] = await Promise.all([
    getTranslations('overview'),
    getTranslations('storage'),
    callUseCase(app.console.overview),
    callUseCase(app.quotas.own),
    callUseCase(app.console.work),
  ])
  const { held, agents, requests, expiring } = overview
  const isNew = agents.total === 0 && requests.open === 0 && overview.receipts.length === 0
  return (
    <Messages of={['overview', 'storage']}>
      <Page
        width="wide"
        title={
          isNew
            ? t('welcome', { records: held.records })
            : t('title', {
                records: held.records,
                open: requests.open,
                expiring: expiring.total,
                days: expiring.days,
              })
        }
        lead={
          <p>
            {t.rich('lead', {
              stores: held.stores,
              time: () => held.since && <Time at={held.since} isDay />,
              link: (text) => <TextLink href="/settings/privacy">{text}</TextLink>,
            })}
          </p>
        }
      >
        {agents.total === 0 && (
          <Empty
            title={t('first.title')}
            action={
              <p className="flex flex-wrap gap-2">
                <ButtonLink href="/agents">{t('first.action')}</ButtonLink>
                <ButtonLink tone="plain" href="/settings/privacy">
                  {t('first.privacy')}
                </ButtonLink>
              </p>
            }
          >
            <p>{t('first.text')}</p>
          </Empty>
        )}
        <div className="grid gap-x-10 gap-y-8 lg:grid-cols-2">
          <Section id="requests" title={t('requests.title')}>
            <OpenRequestsCard requests={requests} />
          </Section>
          <Section id="expiring" title={t('expiring.title')}>
            <ExpiringSoonCard expiring={expiring} />
          </Section>
          {overview.closing.length > 0 && (
            <Section id="closing" title={t('closing.title')}>
              <ClosingProjects closing={overview.closing} />
            </Section>
          )}
          <Section id="work" title={t('work.title')}>
            <WorkList initial={work} />
          </Section>
          <Section id="agents" title={t('agents.title')}>
            <AgentSummaryCard agents={agents} tokens={overview.tokens} />
          </Section>
          <Section id="storage" title={words('title')}>
            <StorageUseCard storage={storage} />
          </Section>
          <Section id="receipts" title={t('receipts.title')}>
            <NewestReceipts receipts={overview.receipts} />
          </Section>
          <Section id="sign-ins" title={t('signIns.title')}>
            <LastSignIns signIns={overview.sign_ins} />
          </Section>
        </div>
      </Page>
    </Messages>
  )
}
