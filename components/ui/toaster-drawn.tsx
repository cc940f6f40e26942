'use client'

import { useTranslations } from 'next-intl'
import { useTheme } from 'next-themes'
import { useEffect } from 'react'
import { Toaster as Sonner, toast as show } from 'sonner'
import type { Toast } from './toast.ts'

interface DrawnToasterProps {
  waiting: readonly Toast[]
  onShown: () => void
}

/** Pressing one of these outside of the toasts is the next action of the person. */
const controls = 'a, button, input, select, textarea, [role^="menuitem"], [role="option"], [role="tab"]'
const isNextAction = ({ target }: Event): boolean =>
  target instanceof Element && target.closest(controls) !== null && target.closest('[data-sonner-toaster]') === null

/** Draws toasts with sonner. Each stays until it is closed, or until the person does something else. */
export function DrawnToaster({ waiting, onShown }: DrawnToasterProps) {
  const t = useTranslations('common')
  const { resolvedTheme } = useTheme()
  useEffect(() => {
    if (waiting.length === 0) return
    show.dismiss()
    for (const { title, undo, tone = 'success' } of waiting)
      show[tone === 'danger' ? 'error' : 'success'](title, {
        duration: Number.POSITIVE_INFINITY,
        ...(undo && { action: { label: undo.label, onClick: undo.run } }),
      })
    onShown()
  }, [waiting, onShown])
  useEffect(() => {
    const dismiss = (event: Event) => {
      if (isNextAction(event)) show.dismiss()
    }
    // Before the control acts: the note of its own result comes later and stays.
    document.addEventListener('click', dismiss, true)
    document.addEventListener('submit', dismiss, true)
    return () => {
      document.removeEventListener('click', dismiss, true)
      document.removeEventListener('submit', dismiss, true)
    }
  }, [])
  return (
    <Sonner
      position="bottom-right"
      theme={resolvedTheme === 'dark' ? 'dark' : 'light'}
      containerAriaLabel={t('notifications')}
      closeButton
      toastOptions={{
        closeButtonAriaLabel: t('close'),
        classNames: {
          toast: 'rounded-box! border-line! bg-raised! font-sans! text-ink! shadow-md!',
          actionButton: 'min-h-7! rounded-small! bg-accent! text-on-accent!',
          closeButton: 'size-6! border-line! bg-raised! text-quiet!',
          success: '[&_[data-icon]]:text-green',
          error: '[&_[data-icon]]:text-red',
        },
      }}
    />
  )
}
