'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { KeyDialog } from '#components/tokens/key-dialog.tsx'
import { Alert } from '#components/ui/alert.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { showToast } from '#components/ui/toast.ts'
import type { Endpoint } from '#lib/client/request.ts'
import type { OperationShape } from '#lib/kernel/operation.ts'
import { decideAt, type Proposal, proposalsAt } from './endpoints.ts'
import { ProposalFacts } from './proposal-facts.tsx'

export type ProposalStep = 'approve' | 'reject' | 'withdraw' | 'carryOut'
interface StepProps {
  proposal: Proposal
  close: () => void
}

/** Approves, rejects or withdraws a proposal. */
export function DecisionDialog({
  proposal,
  close,
  decision,
}: StepProps & { decision: Exclude<ProposalStep, 'carryOut'> }) {
  const t = useTranslations('approvals')
  const deciding = useApiMutation(decideAt, { touches: [proposalsAt.path] })
  return (
    <Confirm
      open
      onOpenChange={(open) => !open && close()}
      title={t(`steps.${decision}.title`, { what: t(`operations.${proposal.operation}`) })}
      consequences={
        <>
          <p>{t(`steps.${decision}.text`)}</p>
          {proposal.facts && <ProposalFacts facts={proposal.facts} />}
        </>
      }
      action={t(`steps.${decision}.action`)}
      tone={decision === 'approve' ? 'main' : 'danger'}
      change={deciding}
      onConfirm={() =>
        deciding.begin({ params: { id: proposal.proposal_id }, body: { decision } }, ({ data }) => {
          showToast({
            title: t(`statuses.${data.status}`),
            ...(data.status === 'outdated' && { tone: 'danger' as const }),
          })
          close()
        })
      }
    />
  )
}

const methods = ['post', 'put', 'patch', 'delete'] as const
const pathOf = (path: string): `/${string}` => `/${path.replace(/^\//, '')}`

/** The key in the answer, if the action created a token. */
function keyIn(answer: unknown): string | undefined {
  if (typeof answer !== 'object' || answer === null || !('data' in answer)) return undefined
  const { data } = answer
  return typeof data === 'object' && data !== null && 'api_key' in data && typeof data.api_key === 'string'
    ? data.api_key
    : undefined
}

/** Sends the approved request, which uses up the approval. `isOutdated`: the server closed the proposal instead. */
export function CarryOutDialog({
  proposal,
  request,
  isOutdated,
  close,
}: StepProps & { request: NonNullable<Proposal['request']>; isOutdated: boolean }) {
  const t = useTranslations('approvals')
  const keys = useTranslations('tokens.key')
  const at: Endpoint<OperationShape> = {
    method: methods.find((one) => one === request.method) ?? 'post',
    path: pathOf(request.path),
  }
  const input: Record<string, unknown> = {
    ...(request.params && { params: request.params }),
    ...(request.body && { body: request.body }),
  }
  const carrying = useApiMutation(at, { touches: ['/'] })
  const [apiKey, setApiKey] = useState<string>()
  if (apiKey !== undefined)
    return <KeyDialog apiKey={apiKey} title={keys('title')} replayed={keys('replayed')} onClose={close} />
  return (
    <Confirm
      open
      onOpenChange={(open) => !open && close()}
      title={t('steps.carryOut.title', { what: t(`operations.${proposal.operation}`) })}
      consequences={
        <>
          <p>{t('steps.carryOut.text')}</p>
          {proposal.facts && <ProposalFacts facts={proposal.facts} />}
        </>
      }
      action={t('steps.carryOut.action')}
      tone="main"
      change={{ ...carrying, problem: isOutdated ? undefined : carrying.problem }}
      isIncomplete={isOutdated}
      onConfirm={() =>
        carrying.begin(input, (answer) => {
          const key = keyIn(answer)
          if (key !== undefined) return setApiKey(key)
          showToast({ title: t('statuses.carried_out') })
          close()
        })
      }
    >
      {isOutdated && (
        <Alert tone="danger" title={t('steps.carryOut.conflict')} isLive>
          <p>{t('outdatedText')}</p>
        </Alert>
      )}
    </Confirm>
  )
}
