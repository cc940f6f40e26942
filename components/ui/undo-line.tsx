'use client'

import { useTranslations } from 'next-intl'
import { Button } from './button.tsx'
import { focusOnMount } from './focus-on-mount.ts'

/** What was removed in an open dialog, with the way back. It takes the focus, because the button of the removed row has disappeared. */
export function UndoLine({ text, onUndo }: { text: string; onUndo: () => void }) {
  const t = useTranslations('common')
  return (
    <p
      role="status"
      className="flex flex-wrap items-center justify-between gap-3 rounded-box border border-line bg-sunken px-3 py-1.5 text-sm"
    >
      <span className="min-w-0 wrap-anywhere">{text}</span>
      <Button ref={focusOnMount} tone="plain" size="small" onClick={onUndo}>
        {t('undo')}
      </Button>
    </p>
  )
}
