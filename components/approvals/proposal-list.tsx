'use client'

import { useTranslations } from 'next-intl'
import { useRef, useState } from 'react'
import { useApiQuery } from '#components/frame/api-query.ts'
import { Badge, type BadgeTone } from '#components/ui/badge.tsx'
import { Button } from '#components/ui/button.tsx'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { Section } from '#components/ui/page.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { Time } from '#components/ui/time.tsx'
import { type Proposal, type Proposals, proposalsAt } from './endpoints.ts'
import { CarryOutDialog, DecisionDialog, type ProposalStep } from './proposal-dialog.tsx'
import { ProposalFacts } from './proposal-facts.tsx'

const tones: Record<Proposal['status'], BadgeTone> = {
  waiting: 'neutral',
  approved: 'progress',
  carried_out: 'success',
  rejected: 'neutral',
  withdrawn: 'neutral',
  outdated: 'warning',
  expired: 'neutral',
}
const isOpen = ({ status }: Proposal): boolean => status === 'waiting' || status === 'approved'

/** The steps that the reader can take. */
function stepsOf({ status, is_own: isOwn, request }: Proposal): ProposalStep[] {
  if (!isOwn) return status === 'waiting' ? ['approve', 'reject'] : []
  if (status === 'approved' && request) return ['carryOut', 'withdraw']
  return status === 'waiting' || status === 'approved' ? ['withdraw'] : []
}

function ProposalItem({ proposal, start }: { proposal: Proposal; start: (step: ProposalStep) => void }) {
  const t = useTranslations('approvals')
  const { status, facts, proposed_by: proposer, decided_by: decider } = proposal
  const by = ({ name, account_id: id }: Proposal['proposed_by']) => name ?? id
  const what = t(`operations.${proposal.operation}`)
  return (
    <li className="grid gap-3 px-4 py-3">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <h3 className="font-medium">{what}</h3>
        <Badge tone={tones[status]} hasDot>
          {t(`statuses.${status}`)}
        </Badge>
      </div>
      <p className="text-sm text-quiet wrap-anywhere">
        {t.rich('proposedBy', { name: by(proposer), time: () => <Time at={proposal.created_at} show="relative" /> })}
        {decider && <> · {t(`decided.${status === 'rejected' ? 'rejected' : 'approved'}`, { name: by(decider) })}</>}
        {isOpen(proposal) && (
          <> · {t.rich('expires', { time: () => <Time at={proposal.expires_at} show="relative" /> })}</>
        )}
      </p>
      {facts && <ProposalFacts facts={facts} />}
      {status === 'outdated' && <p className="text-sm text-quiet">{t('outdatedText')}</p>}
      {status === 'approved' && !proposal.is_own && <p className="text-sm text-quiet">{t('waitsForProposer')}</p>}
      {stepsOf(proposal).length > 0 && (
        <div className="flex flex-wrap gap-2">
          {stepsOf(proposal).map((step, at) => (
            <Button
              key={step}
              tone={at === 0 && step !== 'withdraw' ? 'main' : 'plain'}
              size="small"
              aria-label={t('stepOn', { step: t(`steps.${step}.action`), what })}
              onClick={() => start(step)}
            >
              {t(`steps.${step}.action`)}
            </Button>
          ))}
        </div>
      )}
    </li>
  )
}

/** Proposals in three groups: those that the reader can decide, the reader's own open ones, and all others. */
export function ProposalList({ initial }: { initial: Proposals }) {
  const t = useTranslations('approvals')
  const query = useApiQuery(proposalsAt, {}, { initial, every: 60_000 })
  const [step, setStep] = useState<{ proposal: Proposal; of: ProposalStep }>()
  const top = useRef<HTMLDivElement>(null)
  const { data } = query.data ?? initial
  const isMine = (one: Proposal) => isOpen(one) && one.is_own
  const isForMe = (one: Proposal) => one.status === 'waiting' && !one.is_own
  const groups = [
    { name: 'forYou', rows: data.filter(isForMe) },
    { name: 'yours', rows: data.filter(isMine) },
    { name: 'others', rows: data.filter((one) => !isForMe(one) && !isMine(one)) },
  ] as const
  const close = () => {
    setStep(undefined)
    // The button that opened the dialog may be gone.
    top.current?.focus()
  }
  return (
    <div ref={top} tabIndex={-1} className="grid gap-8 outline-none">
      {query.problem && <ProblemAlert problem={query.problem} />}
      {groups
        .filter(({ name, rows }) => name === 'forYou' || rows.length > 0)
        .map(({ name, rows }) => (
          <Section key={name} id={name} title={t(`groups.${name}`)}>
            {rows.length === 0 ? (
              <EmptyState title={t('empty.title')}>
                <p>{t('empty.text')}</p>
              </EmptyState>
            ) : (
              <ul className="divide-y divide-line rounded-box border border-line bg-raised">
                {rows.map((proposal) => (
                  <ProposalItem
                    key={proposal.proposal_id}
                    proposal={proposal}
                    start={(of) => setStep({ proposal, of })}
                  />
                ))}
              </ul>
            )}
          </Section>
        ))}
      {step &&
        (step.of !== 'carryOut' ? (
          <DecisionDialog proposal={step.proposal} decision={step.of} close={close} />
        ) : (
          step.proposal.request && (
            <CarryOutDialog
              proposal={step.proposal}
              request={step.proposal.request}
              isOutdated={data.some(
                (one) => one.proposal_id === step.proposal.proposal_id && one.status === 'outdated',
              )}
              close={close}
            />
          )
        ))}
    </div>
  )
}
