import type { Metadata } from 'next'
import { getFormatter, getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { bareId } from '#components/audit/filters.ts'
import { Messages } from '#components/frame/words.tsx'
import type { AdminNames } from '#components/retention/admin-names.ts'
import { OtherPeriods } from '#components/retention/other-periods.tsx'
import { PeriodForm } from '#components/retention/period-form.tsx'
import { PeriodsTable } from '#components/retention/periods-table.tsx'
import { ResetButton } from '#components/retention/reset-button.tsx'
import { SweepHistory } from '#components/retention/sweep-history.tsx'
import { SweepNow } from '#components/retention/sweep-now.tsx'
import { Page, Section } from '#components/ui/page.tsx'
import { type StatTile, StatTiles } from '#components/ui/stat-tiles.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import { app } from '#lib/app-instance.ts'
import { periodsOf, retainedVisibilities } from '#lib/domains/retention/rules.ts'
import { otherPeriods } from './other-periods.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('retention'))('name') })

/** The names of these admins by account id, as the audit log has them. Deleted admins have none. */
async function adminNames(ids: readonly string[]): Promise<AdminNames> {
  const found = await Promise.all([...new Set(ids)].map((q) => callUseCase(app.audit.actors, { query: { q } })))
  return Object.fromEntries(found.flatMap(({ data }) => data.map(({ id, name }) => [bareId(id), name ?? bareId(id)])))
}

export default async function RetentionPage() {
  const isAdmin = (await requirePageAccess('retention')).role === 'admin'
  const [t, format, { data }, sweeps, run, others] = await Promise.all([
    getTranslations('retention'),
    getFormatter(),
    callUseCase(app.retention.read),
    callUseCase(app.retention.sweeps, { query: { limit: '8' } }),
    isAdmin ? callUseCase(app.retention.dryRun, { body: {} }) : undefined,
    otherPeriods(),
  ])
  const names = await adminNames([
    ...retainedVisibilities.flatMap((visibility) => data.policy[visibility].set_by ?? []),
    ...sweeps.data.flatMap(({ trigger, requested_by }) => (trigger === 'demand' ? [requested_by] : [])),
  ])
  const { env } = app
  const last = sweeps.data.find(({ state }) => state !== 'running')
  const isOverridden = retainedVisibilities.some((visibility) => data.policy[visibility].source === 'override')
  const environment = {
    network: env.KP_RETENTION_NETWORK_DAYS,
    org: env.KP_RETENTION_ORG_DAYS,
    private: env.KP_RETENTION_PRIVATE_DAYS,
  }
  const tiles: StatTile[] = [
    ...(run
      ? [
          { label: t('tiles.due'), value: format.number(run.data.would_delete.total) },
          { label: t('tiles.soon'), value: format.number(run.data.upcoming.at(-1)?.total ?? 0) },
          { label: t('tiles.held'), value: format.number(run.data.would_delete.held) },
        ]
      : []),
    {
      label: t('tiles.last'),
      value: last ? <Time at={last.started_at} show="relative" /> : t('noSweep'),
      ...(last && { hint: t('removed', { count: last.deleted.total }) }),
    },
  ]
  return (
    <Messages of={['retention']}>
      <Page
        width="wide"
        title={t('name')}
        summary={
          <>
            <p>{t('lead')}</p>
            {!isAdmin && <p>{t('readOnly')}</p>}
          </>
        }
      >
        <StatTiles tiles={tiles} />
        <Section
          id="force"
          title={t('force.title')}
          actions={
            isAdmin && isOverridden && <ResetButton environment={environment} inForce={periodsOf(data.policy)} />
          }
        >
          <PeriodsTable policy={data.policy} run={run?.data} names={names} />
        </Section>
        {isAdmin && (
          <Section id="edit" title={t('edit.title')}>
            <PeriodForm inForce={periodsOf(data.policy)} />
          </Section>
        )}
        <Section id="sweeps" title={t('history.title')}>
          {isAdmin && <SweepNow running={sweeps.data.find(({ state }) => state === 'running')} />}
          <SweepHistory initial={sweeps} names={names} />
        </Section>
        <Section id="rest" title={t('rest.title')}>
          <details>
            <summary className="min-h-6 w-fit cursor-pointer text-accent underline-offset-3 hover:underline">
              {t('rest.show', { count: others.length })}
            </summary>
            <div className="mt-3">
              <OtherPeriods rows={others} />
            </div>
          </details>
          <p>
            <TextLink href="/privacy">{t('rest.notice')}</TextLink>
          </p>
        </Section>
      </Page>
    </Messages>
  )
}
