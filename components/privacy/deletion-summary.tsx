'use client'

import { useTranslations } from 'next-intl'
import { FactList } from '#components/ui/facts.tsx'
import type { Consequences } from './deletion-rules.ts'

interface DeletionSummaryProps {
  numbers: Consequences
  withCopy: boolean
  redacts: boolean
}

/** What the button of the last step does, repeated in a few lines. */
export function DeletionSummary({ numbers, withCopy, redacts }: DeletionSummaryProps) {
  const t = useTranslations('deletion.confirm')
  const { gone, changed, held } = numbers
  const facts: (readonly [string, string])[] = [
    [t('facts.gone'), t('gone', { count: gone })],
    ...(changed > 0 ? [[t('facts.changed'), t('changed', { count: changed })] as const] : []),
    ...(held > 0 ? [[t('facts.held'), t('held', { count: held })] as const] : []),
    ...(withCopy ? [[t('facts.copy'), t('copyFirst')] as const] : []),
    ...(redacts ? [[t('facts.names'), t('names')] as const] : []),
  ]
  return (
    <div className="rounded-box border border-line bg-raised p-4">
      <FactList facts={facts} />
    </div>
  )
}
