import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { countText } from '#components/frame/count-text.ts'
import type { SearchParams } from '#components/frame/query-parsers.ts'
import { Messages } from '#components/frame/words.tsx'
import { loadRejectionPeriod, rejectionPeriodAddress, safetyViews } from '#components/safety/period.ts'
import { Quarantine } from '#components/safety/quarantine.tsx'
import { RejectionChart } from '#components/safety/rejections.tsx'
import { Page, Section } from '#components/ui/page.tsx'
import { StatTiles } from '#components/ui/stat-tiles.tsx'
import { Tabs } from '#components/ui/tabs.tsx'
import { app } from '#lib/app-instance.ts'
import { rejectionPeriodNames } from '#lib/domains/knowledge/moderation/safety-rules.ts'
import { ScannerView } from './scanner-view.tsx'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('safety'))('name') })

export default async function SafetyPage({ searchParams }: { searchParams: Promise<SearchParams> }) {
  await requirePageAccess('safety')
  const { period, view } = await loadRejectionPeriod(searchParams)
  const isScanner = view === 'scanner'
  const [t, common, held, { data: seen }] = await Promise.all([
    getTranslations('safety'),
    getTranslations('common'),
    isScanner ? undefined : callUseCase(app.knowledge.quarantine, { query: { limit: '20' } }),
    callUseCase(app.safety.rejections, { query: { period } }),
  ])
  return (
    <Messages of={['safety', 'sensitiveKinds']}>
      <Page width="wide" title={t('name')} lead={<p>{t(isScanner ? 'scanner.lead' : 'lead')}</p>}>
        <StatTiles
          tiles={[
            ...(held
              ? [
                  {
                    label: t('tiles.held'),
                    value: countText(common, held.total, { isFirst: true }),
                    ...(held.total > 0 && { tone: 'warning' as const }),
                  },
                ]
              : []),
            { label: t('tiles.rejected'), value: seen.total, hint: t(`rejections.period.${period}`) },
            { label: t('tiles.secrets'), value: seen.by_stage.secret ?? 0, hint: t(`rejections.period.${period}`) },
          ]}
        />
        <Tabs
          label={t('views.label')}
          tabs={safetyViews.map((name) => ({
            href: rejectionPeriodAddress('/admin/safety', { view: name }),
            title: t(`views.${name}`),
            isCurrent: name === view,
          }))}
        />
        {held ? (
          <>
            <Section id="held" title={t('held.title')} lead={t('held.lead')}>
              <Quarantine initial={held} />
            </Section>
            <Section id="rejections" title={t('rejections.title')}>
              <Tabs
                label={t('rejections.periods')}
                tabs={rejectionPeriodNames.map((name) => ({
                  href: rejectionPeriodAddress('/admin/safety', { period: name }),
                  title: t(`rejections.period.${name}`),
                  isCurrent: name === period,
                }))}
              />
              <RejectionChart seen={seen} />
            </Section>
          </>
        ) : (
          <ScannerView seen={seen} />
        )}
      </Page>
    </Messages>
  )
}
