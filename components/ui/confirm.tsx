'use client'

import { useTranslations } from 'next-intl'
import { type FormEvent, type ReactNode, useId } from 'react'
import type { ProblemDocument } from '#lib/client/request.ts'
import { useApprovalMode } from './approval-mode.tsx'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { DialogFooter } from './dialog-footer.tsx'
import { ProblemAlert } from './problem-alert.tsx'

/** The part of a `useApiMutation` result that the dialog needs. */
export interface Confirmed {
  isPending: boolean
  problem: ProblemDocument | undefined
  reset: () => void
}
interface ConfirmProps {
  open: boolean
  onOpenChange: (open: boolean) => void
  title: ReactNode
  /** What is deleted, what stays and what cannot be undone. */
  consequences: ReactNode
  /** Button label: a verb and its object. */
  action: string
  tone?: 'danger' | 'main'
  change: Confirmed
  onConfirm: () => void
  /** Disables the button while required input is missing. */
  isIncomplete?: boolean
  /** Whether the action needs the approval of another admin while approvals are required. The button then asks for it. */
  needsApproval?: boolean
  /** Form fields. */
  children?: ReactNode
}

/**
 * Shows consequences before the button and runs the action once, however often the button is pressed. The caller closes it on success;
 * dismissing it clears the refusal.
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
  needsApproval = false,
  children,
}: ConfirmProps) {
  const t = useTranslations('common')
  const id = useId()
  const asks = useApprovalMode() && needsApproval
  const isAsked = change.problem?.proposal_id !== undefined
  const lead =
    asks && !isAsked ? (
      <>
        <p>{t('approval.needed')}</p>
        {consequences}
      </>
    ) : (
      consequences
    )
  const toggle = (next: boolean) => {
    if (change.isPending) return
    onOpenChange(next)
    if (!next) change.reset()
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    // React bubbles events out of a dialog to a surrounding form, which must not be submitted.
    event.stopPropagation()
    if (!change.isPending && !isIncomplete && !isAsked) onConfirm()
  }
  return (
    <Dialog open={open} onOpenChange={toggle} title={title} lead={lead}>
      <form id={id} onSubmit={submit} className="grid gap-5">
        {change.problem && <ProblemAlert problem={change.problem} />}
        {!isAsked && children}
        <DialogFooter>
          <Button tone="plain" onClick={() => toggle(false)} aria-disabled={change.isPending}>
            {t(isAsked ? 'close' : 'cancel')}
          </Button>
          {!isAsked && (
            <Button type="submit" tone={asks ? 'main' : tone} aria-disabled={change.isPending || isIncomplete}>
              {change.isPending ? t('busy') : asks ? t('approval.ask') : action}
            </Button>
          )}
        </DialogFooter>
      </form>
    </Dialog>
  )
}
