'use client'

import { useTranslations } from 'next-intl'
import { type FormEvent, type ReactNode, useId } from 'react'
import type { ProblemDocument } from '#lib/client/request.ts'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { ProblemAlert } from './problem-alert.tsx'

/** What does something, as `useChange` gives it. */
export interface Confirmed {
  isPending: boolean
  problem: ProblemDocument | undefined
  reset: () => void
}
interface ConfirmProps {
  open: boolean
  onOpenChange: (open: boolean) => void
  title: ReactNode
  /** What follows: what goes, what stays, what cannot be undone. */
  consequences: ReactNode
  /** On the button that does it: a verb and what it is done to. */
  action: string
  tone?: 'danger' | 'main'
  change: Confirmed
  onConfirm: () => void
  /** Not yet: something that has to be filled in is missing. */
  isIncomplete?: boolean
  /** Fields. */
  children?: ReactNode
}

/**
 * Consequences before the button; one effect however often it is pressed. Whoever opens it closes it on success; dismissed, it forgets
 * what was refused.
 */
export function Confirm({
  open,
  onOpenChange,
  title,
  consequences,
  action,
  tone = 'danger',
  change,
  onConfirm,
  isIncomplete = false,
  children,
}: ConfirmProps) {
  const t = useTranslations('common')
  const id = useId()
  const toggle = (next: boolean) => {
    if (change.isPending) return
    onOpenChange(next)
    if (!next) change.reset()
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    // A dialog inside a form of the page: its own alone is meant.
    event.stopPropagation()
    if (!change.isPending && !isIncomplete) onConfirm()
  }
  return (
    <Dialog open={open} onOpenChange={toggle} title={title} lead={consequences}>
      <form id={id} onSubmit={submit} className="grid gap-5">
        {change.problem && <ProblemAlert problem={change.problem} />}
        {children}
        <div className="flex flex-wrap justify-end gap-2">
          <Button tone="plain" onClick={() => toggle(false)} aria-disabled={change.isPending}>
            {t('cancel')}
          </Button>
          <Button type="submit" tone={tone} aria-disabled={change.isPending || isIncomplete}>
            {change.isPending ? t('busy') : action}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
