'use client'

import { useTranslations } from 'next-intl'
import { countText } from '#components/frame/count-text.ts'
import type { ProblemDocument } from '#lib/client/request.ts'
import { Button } from './button.tsx'
import { ProblemAlert } from './problem-alert.tsx'

interface MoreButtonProps {
  pages: {
    rows: readonly unknown[]
    total: number | undefined
    hasMore: boolean
    isLoadingMore: boolean
    more: () => void
    problem: ProblemDocument | undefined
  }
}
/** The foot of a list: how many rows are shown, and a button to load more. */
export function MoreButton({ pages: { rows, total, hasMore, isLoadingMore, more, problem } }: MoreButtonProps) {
  const t = useTranslations('common')
  const shown = rows.length
  return (
    <div className="grid gap-3">
      {problem && <ProblemAlert problem={problem} />}
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2 text-sm text-quiet">
        {total !== undefined && shown > 0 && (
          <p role="status">
            {!hasMore ? t('all', { count: shown }) : t('shown', { shown, total: countText(t, total) })}
          </p>
        )}
        {hasMore && (
          <Button tone="plain" size="small" onClick={more} aria-disabled={isLoadingMore}>
            {isLoadingMore ? t('loadingMore') : t('more')}
          </Button>
        )}
      </div>
    </div>
  )
}
