'use client'

import { useTranslations } from 'next-intl'
import { BulkBar } from '#components/ui/bulk-bar.tsx'
import { Button } from '#components/ui/button.tsx'
import { type BulkAct, bulkActs, labelOf } from './acts.ts'
import { maxAtOnce } from './bulk.ts'

interface QueueBulkBarProps {
  count: number
  /** The action in progress. */
  busy: BulkAct | undefined
  onAct: (act: BulkAct) => void
  onClear: () => void
}

/** The actions for the selected requests, with their keys. */
export function QueueBulkBar({ count, busy, onAct, onClear }: QueueBulkBarProps) {
  const t = useTranslations('queue')
  const note = busy
    ? t('result.busy', { action: t(`acts.${labelOf(busy)}`), count })
    : count > maxAtOnce
      ? t('tooMany')
      : undefined
  return (
    <BulkBar count={count} onClear={onClear} note={note}>
      {bulkActs.map(({ act, key, label }) => (
        <Button
          key={act}
          tone="plain"
          size="small"
          aria-keyshortcuts={key}
          aria-disabled={busy !== undefined || count > maxAtOnce}
          onClick={() => onAct(act)}
        >
          {t(`acts.${label}`)}
          <kbd aria-hidden className="font-mono text-quiet max-sm:hidden">
            {key}
          </kbd>
        </Button>
      ))}
    </BulkBar>
  )
}
