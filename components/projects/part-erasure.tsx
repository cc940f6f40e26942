'use client'

import { useRouter } from 'next/navigation'
import { useFormatter, useTranslations } from 'next-intl'
import { type ReactNode, useState } from 'react'
import { CancelErasure } from '#components/erasures/cancel-erasure.tsx'
import { erasureAt, isLive, type Run } from '#components/erasures/endpoints.ts'
import { isStuck } from '#components/erasures/fault-rules.ts'
import { Mentions } from '#components/erasures/mentions.tsx'
import { RetryErasure } from '#components/erasures/retry-erasure.tsx'
import { StoreProgress } from '#components/erasures/store-progress.tsx'
import { StuckSteps } from '#components/erasures/stuck-steps.tsx'
import { ThreadDecisions } from '#components/erasures/thread-decisions.tsx'
import { useApiQuery } from '#components/frame/api-query.ts'
import { useDataNames } from '#components/stores/data-names.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Badge, type BadgeTone } from '#components/ui/badge.tsx'
import { CopyableId } from '#components/ui/copyable-id.tsx'
import { FactList } from '#components/ui/facts.tsx'
import { Card, Page, Section } from '#components/ui/page.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import { projectPage } from './endpoints.ts'
import { type PartErasureSaying, paceOf, partErasureSayingOf } from './part-erasure-rules.ts'

const tones: Record<PartErasureSaying, BadgeTone> = {
  planning: 'progress',
  erasing: 'progress',
  verifying: 'progress',
  held: 'warning',
  done: 'success',
  doneLate: 'success',
  failed: 'danger',
  stuck: 'danger',
  waiting: 'warning',
  undecided: 'warning',
}

/** The receipt and the facts of the erasure. */
function ErasureProof({ run }: { run: Run }) {
  const t = useTranslations('projects.erasure')
  const facts: [string, ReactNode][] = [
    ...(run.part ? [[t('what'), t(`parts.${run.part.kind}`)] satisfies [string, ReactNode]] : []),
    [t('audit'), <CopyableId key="audit" id={run.audit_id ?? run.run_id} what={t('audit')} />],
    [t('began'), <Time key="began" at={run.created_at} />],
    ...(run.finished_at === null
      ? []
      : [[t('finished'), <Time key="finished" at={run.finished_at} />] satisfies [string, ReactNode]]),
  ]
  return (
    <Card title={t('proof')}>
      <p>
        {run.receipt_id === null ? (
          <span className="text-quiet">{t('receiptLater')}</span>
        ) : (
          <TextLink href={`/receipts/${run.receipt_id}`} prefetch={false}>
            {t('receiptOpen')}
          </TextLink>
        )}
      </p>
      <FactList facts={facts} />
    </Card>
  )
}

/** When the stores that applications write to are searched again, or what that search found. */
function SecondSearch({ run: { recheck_at: due, rechecked_at: done, late_found: count } }: { run: Run }) {
  const t = useTranslations('projects.erasure.recheck')
  if (due === null) return null
  return (
    <Section id="recheck" title={t('title')}>
      <p>
        {done === null
          ? t.rich('ahead', { time: () => <Time key="at" at={due} relative /> })
          : t.rich('done', { time: () => <Time key="at" at={done} />, count })}
      </p>
    </Section>
  )
}

interface PartErasureProps {
  projectId: string
  /** Undefined if the reader can no longer see the project. */
  projectName: string | undefined
  initial: { data: Run }
  isAdmin: boolean
  /** May delete a thread that cannot be rewritten, including messages of others. */
  mayDelete: boolean
  /** Everybody who can read the erasure may retry it, except auditors. */
  mayRetry: boolean
}
/** Progress of the erasure of a message, conversation or document, store by store, until the receipt is signed. */
export function PartErasurePanel({ projectId, projectName, initial, isAdmin, mayDelete, mayRetry }: PartErasureProps) {
  const t = useTranslations('projects.erasure')
  const words = useTranslations('projects')
  const format = useFormatter()
  const names = useDataNames()
  const router = useRouter()
  const [isCancelled, setCancelled] = useState(false)
  const leave = () => {
    setCancelled(true)
    router.push(projectPage(projectId))
  }
  const asked = useApiQuery(
    erasureAt,
    { params: { id: initial.data.audit_id ?? initial.data.run_id } },
    { initial, enabled: !isCancelled, every: (answer) => paceOf(answer?.data ?? initial.data) },
  )
  const run = asked.data?.data ?? initial.data
  const planned = run.steps.reduce((sum, step) => sum + step.planned, 0)
  const erased = run.steps.reduce((sum, step) => sum + step.erased, 0)
  const percent = planned === 0 ? 0 : Math.floor((erased / planned) * 100)
  const saying = partErasureSayingOf(run)
  const stuck = [...new Set(run.steps.filter(isStuck).map(({ store }) => names.place(store)))]
  return (
    <Page
      width="wide"
      title={t(run.part ? `heading.${run.part.kind}` : 'name')}
      breadcrumbs={[
        { href: '/projects', title: words('one.back') },
        { href: projectPage(projectId), title: projectName || t('back') },
      ]}
      status={
        <Badge tone={tones[saying]} hasDot role="status" className="whitespace-normal">
          {t(`title.${saying}`, { percent, stores: format.list(run.waits_for.map(({ store }) => names.place(store))) })}
        </Badge>
      }
      summary={isLive(run) && t('leave')}
      aside={<ErasureProof run={run} />}
    >
      {asked.problem &&
        (asked.problem.code === 'unreachable' ? (
          <Alert tone="warning" title={t('offline')} isLive />
        ) : (
          <ProblemAlert problem={asked.problem} />
        ))}
      {saying === 'stuck' && <Alert tone="warning" title={t('stuckText', { stores: format.list(stuck) })} isLive />}
      {saying === 'held' && <Alert tone="warning" title={t('held')} />}
      {saying === 'failed' && <Alert tone="danger" title={t('failedText')} isLive />}
      <Section id="progress" title={t('stores')}>
        {mayRetry && <ThreadDecisions run={run} mayDelete={mayDelete} />}
        {isAdmin && <StuckSteps steps={run.steps} requestId={null} />}
        {mayRetry && (
          <div className="flex flex-wrap items-end gap-2 empty:hidden">
            <RetryErasure run={run} />
            <CancelErasure run={run} onCancelled={leave} />
          </div>
        )}
        <StoreProgress run={run} />
      </Section>
      <Mentions run={run} />
      <SecondSearch run={run} />
    </Page>
  )
}
