'use client'

import { useTranslations } from 'next-intl'
import { type ReactNode, useRef } from 'react'
import { useDraft } from '#components/frame/draft.ts'
import { Confirm, type Confirmed } from '#components/ui/confirm.tsx'
import type { QueueAct } from './acts.ts'
import { type AdminRequestDetail, requestPaths } from './endpoints.ts'
import { gapIn } from './reply-texts.ts'
import { StateProblem } from './state-problem.tsx'

export type DialogAct = Exclude<QueueAct, 'comment'>
export interface ActProps {
  request: AdminRequestDetail
  /** The titles of records that were corrected on this page. */
  corrected?: readonly string[]
  close: () => void
  /** Called after success. */
  done: () => void
}
export const touching = { touches: requestPaths }

interface ShellProps extends Pick<ActProps, 'request' | 'close'> {
  act: DialogAct
  text: ReactNode
  tone?: 'danger' | 'main'
  change: Confirmed
  onConfirm: () => void
  isIncomplete?: boolean
  children?: ReactNode
}
/** The common frame of the dialogs: texts of the action, a refusal with the current state, and the button. */
export function Shell({ act, request, close, text, tone = 'main', change, children, ...rest }: ShellProps) {
  const t = useTranslations('adminRequest.dialogs')
  const queue = useTranslations('queue')
  const title = act === 'pause' || act === 'expedite' ? queue(`dialogs.${act}.title`, { count: 1 }) : t(`${act}.title`)
  return (
    <Confirm
      open
      onOpenChange={(open) => !open && close()}
      title={title}
      consequences={text}
      action={act === 'expedite' ? queue('dialogs.expedite.action') : queue(`acts.${act}`)}
      tone={tone}
      change={{ ...change, problem: undefined }}
      {...rest}
    >
      <StateProblem problem={change.problem} act={act} request={request} />
      {children}
    </Confirm>
  )
}

/** A text draft that survives a reload and an ended session until it is sent. */
export function useReasonText({ request, done }: ActProps, act: DialogAct, proposed = '') {
  const { draft, change, clear } = useDraft(`request:${request.id}:${act}`, { text: proposed })
  const field = useRef<HTMLTextAreaElement>(null)
  const { text } = draft
  const gap = gapIn(text)
  return {
    text,
    field,
    gap,
    isEmpty: text.trim() === '',
    /** Calls `send`, or selects the placeholder that must be replaced first. */
    unlessGap: (send: () => void) => () => {
      if (gap === undefined) return send()
      const start = text.indexOf(gap)
      field.current?.focus()
      field.current?.setSelectionRange(start, start + gap.length)
    },
    type: (text: string) => change({ text }),
    sent: () => {
      clear()
      done()
    },
  }
}
export type ReasonText = ReturnType<typeof useReasonText>
