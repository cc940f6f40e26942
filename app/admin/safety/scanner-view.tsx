import { getFormatter, getTranslations } from 'next-intl/server'
import { callUseCase } from '#app/page-access.ts'
import type { RejectionSummary } from '#components/safety/endpoints.ts'
import { analyzedKinds, redactedKinds, refusedKinds } from '#components/safety/findings.ts'
import { rejectionPeriodAddress } from '#components/safety/period.ts'
import { ScannerTrial } from '#components/safety/scanner-trial.tsx'
import { SecretsOverTime } from '#components/safety/secrets-over-time.tsx'
import { Badge } from '#components/ui/badge.tsx'
import { FactList } from '#components/ui/facts.tsx'
import { Section } from '#components/ui/page.tsx'
import { Tabs } from '#components/ui/tabs.tsx'
import { app } from '#lib/app-instance.ts'
import { rejectionPeriodNames } from '#lib/domains/knowledge/moderation/safety-rules.ts'
import { Problem } from '#lib/kernel/problem.ts'

/** Whether the name analyzer (Presidio) is configured, and whether it responds to a scan of a single full stop. */
async function analyzerState(): Promise<'off' | 'ok' | 'down' | 'unasked'> {
  if (!app.assessedLocations.some(({ name }) => name === 'presidio')) return 'off'
  try {
    const { data } = await callUseCase(app.pii.scan, { body: { text: '.' } })
    return data.degraded === undefined ? 'ok' : 'down'
  } catch (error) {
    // Some users may not scan, for example while their own processing is restricted. They still see the rest of the page.
    if (Problem.is(error)) return 'unasked'
    throw error
  }
}

/** The scanner: the kinds of data that it detects, its rejections, and a form to try it. */
export async function ScannerView({ seen }: { seen: RejectionSummary }) {
  const [t, kindName, shared, format, analyzer] = await Promise.all([
    getTranslations('safety.scanner'),
    getTranslations('sensitiveKinds'),
    getTranslations('safety.rejections'),
    getFormatter(),
    analyzerState(),
  ])
  const namesOf = (kinds: readonly (typeof refusedKinds | typeof redactedKinds | typeof analyzedKinds)[number][]) =>
    format.list(kinds.map((kind) => kindName(kind)))
  const tone = { off: 'neutral', ok: 'progress', down: 'warning', unasked: 'neutral' } as const
  return (
    <>
      <Section id="try" title={t('try.title')}>
        <ScannerTrial isAnalyzed={analyzer !== 'off'} />
      </Section>
      <Section id="looked" title={t('looked.title')}>
        <FactList
          facts={[
            [t('looked.block'), namesOf(refusedKinds)],
            [t('looked.redact'), namesOf(redactedKinds)],
            [t('looked.strategy'), kindName('strategy_detail')],
            [t('looked.names'), namesOf(analyzedKinds)],
            [
              t('looked.analyzer'),
              <span key="analyzer" className="grid justify-items-start gap-1">
                <Badge tone={tone[analyzer]}>{t(`looked.states.${analyzer}`)}</Badge>
                {t(`looked.${analyzer}`)}
              </span>,
            ],
          ]}
        />
      </Section>
      <Section id="over" title={t('over.title')}>
        <Tabs
          label={shared('periods')}
          tabs={rejectionPeriodNames.map((name) => ({
            href: rejectionPeriodAddress('/admin/safety', { view: 'scanner', period: name }),
            title: shared(`period.${name}`),
            isCurrent: name === seen.period,
          }))}
        />
        <SecretsOverTime seen={{ step: seen.step, points: seen.points }} />
      </Section>
    </>
  )
}
