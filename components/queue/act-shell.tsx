'use client'

import { useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { useDraft } from '#components/frame/draft.ts'
import { Confirm, type Confirmed } from '#components/ui/confirm.tsx'
import type { Act } from './acts.ts'
import { type AdminRequestDetail, touched } from './places.ts'
import { StateProblem } from './state-problem.tsx'

export type DialogAct = Exclude<Act, 'comment'>
export interface ActProps {
  request: AdminRequestDetail
  close: () => void
  /** It is done. */
  done: () => void
}
export const touching = { touches: touched }

interface ShellProps extends Pick<ActProps, 'request' | 'close'> {
  act: DialogAct
  text: ReactNode
  tone?: 'danger' | 'main'
  change: Confirmed
  onConfirm: () => void
  isIncomplete?: boolean
  children?: ReactNode
}
/** What every such dialog has: its words by its name, the refusal told beside what stands, the button. */
export function Shell({ act, request, close, text, tone = 'main', change, children, ...rest }: ShellProps) {
  const t = useTranslations('adminRequest.dialogs')
  return (
    <Confirm
      open
      onOpenChange={(open) => !open && close()}
      title={t(`${act}.title`)}
      consequences={text}
      action={t(`${act}.action`)}
      tone={tone}
      change={{ ...change, problem: undefined }}
      {...rest}
    >
      <StateProblem problem={change.problem} act={act} request={request} />
      {children}
    </Confirm>
  )
}

/** Words that survive a reload and an ended session, until they are sent. */
export function useWords({ request, done }: ActProps, act: DialogAct) {
  const { draft, change, clear } = useDraft(`request:${request.id}:${act}`, { text: '' })
  return {
    text: draft.text,
    isEmpty: draft.text.trim() === '',
    type: (text: string) => change({ text }),
    sent: () => {
      clear()
      done()
    },
  }
}
