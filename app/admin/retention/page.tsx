import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { Messages } from '#components/frame/words.tsx'
import { OtherPeriods } from '#components/retention/other-periods.tsx'
import { PeriodForm } from '#components/retention/period-form.tsx'
import { PeriodsTable } from '#components/retention/periods-table.tsx'
import { ResetButton } from '#components/retention/reset-button.tsx'
import { SweepHistory } from '#components/retention/sweep-history.tsx'
import { SweepNow } from '#components/retention/sweep-now.tsx'
import { Page, Section } from '#components/ui/page.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import { app } from '#lib/app-instance.ts'
import { periodsOf, retainedVisibilities } from '#lib/domains/retention/rules.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('retention'))('name') })

export default async function RetentionPage() {
  const isAdmin = (await requirePageAccess('retention')).role === 'admin'
  const [t, { data }, sweeps, run] = await Promise.all([
    getTranslations('retention'),
    callUseCase(app.retention.read),
    callUseCase(app.retention.sweeps, { query: { limit: '24' } }),
    isAdmin ? callUseCase(app.retention.dryRun, { body: {} }) : undefined,
  ])
  const periods = periodsOf(data.policy)
  const words = (days: number | null) => (days === null ? t('forEver') : t('period', { days }))
  const last = sweeps.data.find(({ state }) => state !== 'running')
  const { env } = app
  return (
    <Messages of={['retention']}>
      <Page
        width="wide"
        title={t('title', {
          private: words(periods.private),
          org: words(periods.org),
          network: words(periods.network),
        })}
        lead={
          <>
            <p>{t('lead')}</p>
            <p>
              {last
                ? t.rich('lastSweep', {
                    time: () => <Time at={last.started_at} relative />,
                    count: last.deleted.total,
                  })
                : t('noSweep')}
            </p>
            {!isAdmin && <p>{t('readOnly')}</p>}
          </>
        }
      >
        <Section id="force" title={t('force.title')}>
          <PeriodsTable policy={data.policy} run={run?.data} />
          {isAdmin && retainedVisibilities.some((visibility) => data.policy[visibility].source === 'override') && (
            <div className="grid justify-items-start gap-3">
              <ResetButton
                environment={{
                  network: env.KP_RETENTION_NETWORK_DAYS,
                  org: env.KP_RETENTION_ORG_DAYS,
                  private: env.KP_RETENTION_PRIVATE_DAYS,
                }}
              />
            </div>
          )}
        </Section>
        {isAdmin && (
          <Section id="edit" title={t('edit.title')} lead={t('edit.lead')}>
            <PeriodForm inForce={periods} />
          </Section>
        )}
        <Section id="sweeps" title={t('history.title')} lead={t('history.lead')}>
          {isAdmin && <SweepNow running={sweeps.data.find(({ state }) => state === 'running')} />}
          <SweepHistory initial={sweeps} />
        </Section>
        <Section id="rest" title={t('rest.title')} lead={t('rest.lead')}>
          <OtherPeriods years={env.KP_REQUESTS_YEARS} days={env.KP_BACKUP_DAYS ?? -1} />
          <p>
            <TextLink href="/privacy">{t('rest.notice')}</TextLink>
          </p>
        </Section>
      </Page>
    </Messages>
  )
}
