'use client'

import { useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { Button } from './button.tsx'

interface BulkBarProps {
  /** The number of selected rows. The bar shows only when it is above 0. */
  count: number
  onClear: () => void
  /** Why the actions are disabled, or how far a running action is. */
  note?: ReactNode
  /** Buttons that act on all selected rows. */
  children: ReactNode
}

/** Actions for the selected rows. It floats at the bottom of the window, below the last row, so that it covers none at the end. */
export function BulkBar({ count, onClear, note, children }: BulkBarProps) {
  const t = useTranslations('common')
  if (count === 0) return null
  return (
    <section
      aria-label={t('selection')}
      className="sticky bottom-3 z-20 mt-3 flex flex-wrap items-center gap-x-4 gap-y-2 rounded-box border border-edge bg-raised px-4 py-2.5 shadow-md print:hidden"
    >
      <p role="status" className="font-medium">
        {t('chosen', { count })}
      </p>
      {note && <p className="text-sm text-quiet">{note}</p>}
      <div className="ml-auto flex flex-wrap items-center gap-2">
        {children}
        <Button tone="quiet" size="small" onClick={onClear}>
          {t('clearSelection')}
        </Button>
      </div>
    </section>
  )
}
