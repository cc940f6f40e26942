'use client'

import { useTranslations } from 'next-intl'
import { useApiQuery } from '#components/frame/api-query.ts'
import { Badge } from '#components/ui/badge.tsx'
import { Page, Section } from '#components/ui/page.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { erasureAt, erasurePollInterval, isLive, type Run } from './endpoints.ts'
import { runTones } from './erasure-columns.tsx'
import { ErasureFacts } from './erasure-facts.tsx'
import { isStuck } from './fault-rules.ts'
import { Mentions } from './mentions.tsx'
import { References } from './references.tsx'
import { RetryErasure } from './retry-erasure.tsx'
import { StoreProgress } from './store-progress.tsx'
import { heldOf } from './store-rows.ts'
import { StuckSteps } from './stuck-steps.tsx'
import { ThreadDecisions } from './thread-decisions.tsx'

function HeldBy({ run, isAdmin }: { run: Run; isAdmin: boolean }) {
  const t = useTranslations('erasures.one')
  const holds = [...new Set(run.steps.flatMap(({ held }) => held.map(({ hold_id }) => hold_id)))]
  return (
    <div className="grid gap-2">
      <p>{t('heldText')}</p>
      {isAdmin && (
        <ul className="grid gap-1">
          {holds.map((hold) => (
            <li key={hold}>
              <TextLink href={`/admin/holds?q=${hold}`} className="font-mono text-[0.8125rem] wrap-anywhere">
                {hold}
              </TextLink>
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

/** One deletion, store by store, until the receipt is signed. Auditors can read it; admins can also retry stuck steps. */
export function ErasureDesk({ initial, isAdmin }: { initial: { data: Run }; isAdmin: boolean }) {
  const t = useTranslations('erasures.one')
  const list = useTranslations('erasures')
  const asked = useApiQuery(
    erasureAt,
    { params: { id: initial.data.run_id } },
    { initial, every: (answer) => (answer && isLive(answer.data) ? erasurePollInterval : false) },
  )
  const run = asked.data?.data ?? initial.data
  const planned = run.steps.reduce((sum, step) => sum + step.planned + heldOf(step), 0)
  const erased = run.steps.reduce((sum, step) => sum + step.erased, 0)
  const percent = planned === 0 ? 0 : Math.floor((erased / planned) * 100)
  const what = run.part ? list(`who.${run.part.kind}`) : run.request_id === null ? list('who.replayed') : t('name')
  return (
    <Page
      width="wide"
      breadcrumbs={[{ href: '/admin/erasures', title: list('name') }]}
      title={what}
      status={
        <Badge tone={runTones[run.state]} hasDot>
          {list(`states.${run.state}`)}
        </Badge>
      }
      summary={<p>{t(`summary.${run.state}`, { percent, erased, planned })}</p>}
      aside={<ErasureFacts run={run} isAdmin={isAdmin} />}
    >
      {asked.problem && <ProblemAlert problem={asked.problem} />}
      <Section id="progress" title={t('progress')}>
        {isAdmin && <ThreadDecisions run={run} mayDelete />}
        <StuckSteps steps={run.steps} requestId={isAdmin ? run.request_id : null} />
        {isAdmin && <RetryErasure run={run} />}
        {run.steps.some(isStuck) && !isAdmin && <p>{t('auditorStuck')}</p>}
        {run.state === 'failed' && <p className="text-red">{t('failedText')}</p>}
        {run.state === 'held' && <HeldBy run={run} isAdmin={isAdmin} />}
        <StoreProgress run={run} />
      </Section>
      <Mentions run={run} />
      {isAdmin && run.state === 'done' && run.part === null && run.receipt_id !== null && (
        <References receiptId={run.receipt_id} />
      )}
    </Page>
  )
}
