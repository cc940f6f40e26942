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

const milliseconds = { plain: 5_000, withUndo: 10_000 }

/** Draws toasts with sonner. */
export function DrawnToaster({ waiting, onShown }: DrawnToasterProps) {
  const t = useTranslations('common')
  const { resolvedTheme } = useTheme()
  useEffect(() => {
    if (waiting.length === 0) return
    for (const { title, undo, tone = 'success' } of waiting)
      show[tone === 'danger' ? 'error' : 'success'](title, {
        duration: undo ? milliseconds.withUndo : milliseconds.plain,
        ...(undo && { action: { label: undo.label, onClick: undo.run } }),
      })
    onShown()
  }, [waiting, onShown])
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
