'use client'

import { CircleCheck, CircleX } from 'lucide-react'
import { useTranslations } from 'next-intl'
import type { ProblemDocument } from '#lib/client/request.ts'
import { focusOnMount } from './focus-on-mount.ts'
import { usePunctuation } from './punctuation.ts'

export interface Outcome {
  key: string
  /** The name of the item. */
  name: string
  problem: ProblemDocument | undefined
  /** A reason that is more exact than that of the problem's code. */
  reason?: string | undefined
}

/** The outcome of a bulk action for each item: failures first, with their reasons. It takes the focus when it appears. */
export function OutcomeList({ title, done, outcomes }: { title: string; done: string; outcomes: readonly Outcome[] }) {
  const t = useTranslations('problems')
  const { colon } = usePunctuation()
  const ofApproval = useTranslations('common.approval')
  const reasonOf = ({ problem, reason }: Outcome) =>
    problem?.proposal_id === undefined
      ? (reason ?? (problem && t.has(`${problem.code}.what`) ? t(`${problem.code}.what`) : (problem?.title ?? '')))
      : ofApproval('asked')
  return (
    <section
      ref={focusOnMount}
      tabIndex={-1}
      role="status"
      className="grid gap-2 rounded-box border border-line bg-raised px-4 py-3"
    >
      <p className="font-medium">{title}</p>
      <ul className="grid max-h-72 gap-1.5 overflow-y-auto text-sm">
        {outcomes
          .toSorted((one, other) => Number(one.problem === undefined) - Number(other.problem === undefined))
          .map((outcome) => (
            <li key={outcome.key} data-ok={outcome.problem === undefined} className="flex gap-2 wrap-anywhere">
              {outcome.problem === undefined ? (
                <CircleCheck aria-hidden className="mt-0.5 size-4 shrink-0 text-green" />
              ) : (
                <CircleX aria-hidden className="mt-0.5 size-4 shrink-0 text-red" />
              )}
              <span>
                {outcome.name}
                {colon}
                {outcome.problem === undefined ? done : reasonOf(outcome)}
              </span>
            </li>
          ))}
      </ul>
    </section>
  )
}
