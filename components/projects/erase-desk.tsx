'use client'

import { useQueryClient } from '@tanstack/react-query'
import { useRouter } from 'next/navigation'
import { useFormatter, useTranslations } from 'next-intl'
import { useState } from 'react'
import { useDataNames } from '#components/stores/data-names.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { Checkbox, Select } from '#components/ui/field.tsx'
import { Section } from '#components/ui/page.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { Space } from '#components/ui/punctuation.ts'
import { Skeleton } from '#components/ui/skeleton.tsx'
import { PlainLink } from '#components/ui/text-link.tsx'
import { DecisionList, DecisionTable } from './decision-list.tsx'
import {
  erasurePage,
  exportFile,
  type PartErasurePlan,
  type PlannedPart,
  projectDocumentFile,
  projectPaths,
} from './endpoints.ts'
import { type Erasing, type ErasureReason, shownErasureReasons, useErasing } from './erasing.ts'
import { goingIn, plansByStore } from './plan-rules.ts'
import { usePlanWords } from './plan-words.ts'
import { StorePlans } from './store-plans.tsx'

/** The result of a dry run: what is erased, what stays and why, first in words and numbers, then item by item. */
function PlanView({ plan }: { plan: PartErasurePlan }) {
  const t = useTranslations('projects.plan')
  const format = useFormatter()
  const names = useDataNames()
  const words = usePlanWords()
  const plans = plansByStore(plan)
  const goes = goingIn(plans)
  const held = plans.reduce((sum, one) => sum + one.held, 0)
  const untouched = plan.verdicts.filter(({ verdict }) => verdict === 'untouched')
  const entities = plans.flatMap((one) => words.entities(one) ?? [])
  return (
    <>
      <div className="grid gap-3">
        <p className="text-lg">{t('goes', { count: goes, stores: plans.filter((one) => one.goes > 0).length })}</p>
        {entities.map((said) => (
          <p key={said} className="text-lg">
            {said}
          </p>
        ))}
        {held > 0 && <Alert tone="warning" title={t('held', { count: held })} />}
        {plan.unanswered.length > 0 && (
          <Alert
            tone="warning"
            title={t('unanswered.title', { stores: format.list(plan.unanswered.map(names.place)) })}
          >
            <p>{t('unanswered.text')}</p>
          </Alert>
        )}
      </div>
      <Section id="stores" title={t('byStore')}>
        <StorePlans plans={plans} />
      </Section>
      {untouched.length > 0 && (
        <Section
          id="untouched"
          title={t('untouched.title')}
          lead={t('untouched.lead', { count: plan.counts.untouched })}
        >
          <DecisionTable label={t('untouched.title')} verdicts={untouched} />
        </Section>
      )}
      {plan.verdicts.length > 0 && (
        <Section
          id="verdicts"
          title={t('verdicts.title')}
          lead={t('verdicts.lead', { count: plan.verdicts.length + plan.omitted })}
        >
          <details>
            <summary className="cursor-pointer text-accent">{t('verdicts.open')}</summary>
            <div className="mt-4 grid gap-4">
              {plan.omitted > 0 && <p>{t('omitted', { count: plan.omitted, shown: plan.verdicts.length })}</p>}
              <DecisionList verdicts={plan.verdicts} />
            </div>
          </details>
        </Section>
      )}
    </>
  )
}

interface PlannedErasureProps {
  projectId: string
  target: PlannedPart
  /** Whether the reader may remove names from records of others. Only project owners may. */
  mayRedact: boolean
}

/** Another way to keep the content: a download. */
function CopyLine({ projectId, target }: Pick<PlannedErasureProps, 'projectId' | 'target'>) {
  const t = useTranslations('projects.plan.confirm')
  const isDocument = target.kind === 'document'
  return (
    <p>
      {t('copy')}
      <Space />
      <PlainLink href={isDocument ? projectDocumentFile(projectId, target.id) : exportFile(projectId)} download>
        {t(isDocument ? 'copyDocument' : 'copyProject')}
      </PlainLink>
    </p>
  )
}

/** Asks for the reason and a confirmation, and starts the erasure. */
function ErasureForm({
  projectId,
  target,
  mayRedact,
  erasing,
  count,
}: PlannedErasureProps & { erasing: Erasing; count: number }) {
  const t = useTranslations('projects.plan.confirm')
  const common = useTranslations('common')
  const reasonName = useTranslations('projects.reasons')
  const router = useRouter()
  const client = useQueryClient()
  const [isOpen, setOpen] = useState(false)
  const [reason, setReason] = useState<ErasureReason>('user_request')
  const [redacts, setRedacts] = useState(false)
  const { kind } = target
  const begin = () =>
    erasing.begin(reason, redacts, (auditId) => {
      // No cached list may still show the erased item.
      client.removeQueries({
        type: 'inactive',
        predicate: ({ queryKey: [path] }) => typeof path === 'string' && path.startsWith(projectPaths[0] ?? ''),
      })
      router.push(erasurePage(projectId, auditId))
    })
  return (
    <div className="grid justify-items-start gap-4">
      <div className="w-full sm:max-w-80">
        <Select
          label={t('reason')}
          name="reason"
          value={reason}
          options={shownErasureReasons.map((value) => ({ value, title: reasonName(value) }))}
          onChange={({ target: { value } }) =>
            setReason(shownErasureReasons.find((one) => one === value) ?? 'user_request')
          }
        />
      </div>
      {mayRedact && (
        <Checkbox
          name="redact"
          checked={redacts}
          onChange={({ target: { checked } }) => setRedacts(checked)}
          label={t('redact')}
          hint={t('redactHint')}
        />
      )}
      <CopyLine projectId={projectId} target={target} />
      <Button tone="danger" onClick={() => setOpen(true)}>
        {t(`do.${kind}`)}
      </Button>
      <Confirm
        open={isOpen}
        onOpenChange={setOpen}
        title={t(`ask.${kind}`)}
        consequences={
          <>
            <p>{t('final', { count })}</p>
            {erasing.isPending && <p role="status">{t('waiting')}</p>}
          </>
        }
        action={erasing.isPending ? common('busy') : t(`yes.${kind}`)}
        change={erasing}
        onConfirm={begin}
      />
    </div>
  )
}

/** Plans the erasure of a message, conversation or document, asks for confirmation and starts it. The dry run always comes first. */
export function EraseDesk(planned: PlannedErasureProps) {
  const t = useTranslations('projects.plan')
  const erasing = useErasing(planned.projectId, planned.target)
  const { plan, planProblem } = erasing
  if (planProblem?.code === 'forbidden') return <ProblemAlert problem={planProblem} advice={t('forbidden')} />
  if (planProblem)
    return (
      <div className="grid justify-items-start gap-3">
        <p>{t('failed')}</p>
        <ProblemAlert problem={planProblem} />
      </div>
    )
  if (!plan)
    return (
      <div className="grid gap-3">
        <p role="status" className="text-quiet">
          {t('looking')}
        </p>
        <Skeleton className="h-8" />
        <Skeleton className="h-40" />
      </div>
    )
  return (
    <>
      <PlanView plan={plan} />
      <Section id="erase" title={t('confirm.title')}>
        <div className="grid gap-2">
          <p>{t('confirm.never')}</p>
          <p className="text-quiet">{t('confirm.missing')}</p>
        </div>
        <ErasureForm {...planned} erasing={erasing} count={goingIn(plansByStore(plan))} />
      </Section>
    </>
  )
}
