import { useTranslations } from 'next-intl'
import { Badge, type BadgeTone } from '#components/ui/badge.tsx'
import type { CheckView } from '#lib/domains/compliance/contract.ts'

export type Result = CheckView['state']
const tones: Record<Result, BadgeTone> = {
  holds: 'success',
  attention: 'warning',
  fails: 'danger',
  not_applicable: 'neutral',
  unknown: 'warning',
}

/** Most urgent first. */
export const resultOrder: readonly Result[] = ['fails', 'attention', 'unknown', 'holds', 'not_applicable']

/** Whether an admin should do something about it. */
export const isProblem = (result: Result): boolean => result === 'attention' || result === 'fails'

export function ResultTag({ state }: { state: Result }) {
  const t = useTranslations('compliance.states')
  return (
    <Badge tone={tones[state]} hasDot>
      {t(state)}
    </Badge>
  )
}
