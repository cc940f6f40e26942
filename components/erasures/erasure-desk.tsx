'use client'

import { useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { useApiQuery } from '#components/frame/api-query.ts'
import { FactList } from '#components/ui/facts.tsx'
import { Page, Section } from '#components/ui/page.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { ShortId } from '#components/ui/short-id.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import { erasureAt, erasurePollInterval, isLive, type Run } from './endpoints.ts'
import { isStuck } from './fault-rules.ts'
import { Mentions } from './mentions.tsx'
import { References } from './references.tsx'
import { RetryErasure } from './retry-erasure.tsx'
import { StoreProgress } from './store-progress.tsx'
import { StuckSteps } from './stuck-steps.tsx'
import { ThreadDecisions } from './thread-decisions.tsx'

/** One erasure, store by store, until the receipt is signed. Auditors can read it; admins can also retry stuck steps. */
export function ErasureDesk({ initial, isAdmin }: { initial: { data: Run }; isAdmin: boolean }) {
  const t = useTranslations('erasures.one')
  const list = useTranslations('erasures')
  const asked = useApiQuery(
    erasureAt,
    { params: { id: initial.data.run_id } },
    { initial, every: (answer) => (answer && isLive(answer.data) ? erasurePollInterval : false) },
  )
  const run = asked.data?.data ?? initial.data
  const planned = run.steps.reduce((sum, step) => sum + step.planned, 0)
  const erased = run.steps.reduce((sum, step) => sum + step.erased, 0)
  const percent = planned === 0 ? 0 : Math.floor((erased / planned) * 100)
  const holds = [...new Set(run.steps.flatMap(({ held }) => held.map(({ hold_id }) => hold_id)))]
  const hasFailed = run.steps.some(isStuck)
  const facts: [string, ReactNode][] = [
    [t('run'), <ShortId key="run" id={run.run_id} what={t('run')} />],
    [list('columns.state'), list(`states.${run.state}`)],
    [
      t('request'),
      run.request_id === null ? (
        run.part ? (
          t(`parts.${run.part.kind}`)
        ) : (
          t('operator')
        )
      ) : isAdmin ? (
        <TextLink key="request" href={`/admin/requests/${run.request_id}`}>
          {t('requestLink')}
        </TextLink>
      ) : (
        <ShortId key="request" id={run.request_id} what={t('request')} />
      ),
    ],
    [t('began'), <Time key="began" at={run.created_at} />],
    [t('fenced'), run.fenced_at === null ? list('notYet') : <Time key="fenced" at={run.fenced_at} />],
    [t('finished'), run.finished_at === null ? list('notYet') : <Time key="finished" at={run.finished_at} />],
  ]
  return (
    <Page
      width="wide"
      title={t(`title.${run.state}`, { percent, erased, planned })}
      lead={
        <p>
          <TextLink href="/admin/erasures">{t('all')}</TextLink>
        </p>
      }
    >
      {asked.problem && <ProblemAlert problem={asked.problem} />}
      <Section id="progress" title={t('progress')}>
        {isAdmin && <ThreadDecisions run={run} mayDelete />}
        <StuckSteps steps={run.steps} requestId={isAdmin ? run.request_id : null} />
        {isAdmin && <RetryErasure run={run} />}
        {hasFailed && !isAdmin && <p>{t('auditorStuck')}</p>}
        {run.state === 'failed' && <p className="text-red">{t('failedText')}</p>}
        {run.state === 'held' && (
          <div className="grid gap-2">
            <p>{t('heldText')}</p>
            {isAdmin && (
              <ul className="grid gap-1">
                {holds.map((hold) => (
                  <li key={hold}>
                    <TextLink href={`/admin/holds?q=${hold}`} className="font-mono text-[0.8125rem]">
                      {hold}
                    </TextLink>
                  </li>
                ))}
              </ul>
            )}
          </div>
        )}
        <StoreProgress run={run} />
      </Section>
      <Mentions run={run} />
      {isAdmin && run.state === 'done' && run.part === null && run.receipt_id !== null && (
        <References receiptId={run.receipt_id} />
      )}
      <Section id="facts" title={t('facts')}>
        <FactList facts={facts} />
      </Section>
      <Section id="proof" title={t('proof')}>
        <p>
          {run.receipt_id === null ? (
            <span className="text-quiet">{list('notYet')}</span>
          ) : (
            <TextLink href={`/receipts/${run.receipt_id}`}>{list('receipt')}</TextLink>
          )}
        </p>
      </Section>
    </Page>
  )
}
