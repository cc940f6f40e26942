import { useTranslations } from 'next-intl'
import { Tag, type TagTone } from '#components/ui/tag.tsx'
import type { CheckView } from '#lib/domains/compliance/contract.ts'

export type Result = CheckView['state']
const tones: Record<Result, TagTone> = {
  holds: 'accent',
  attention: 'amber',
  fails: 'red',
  not_applicable: 'plain',
  unknown: 'amber',
}

/** Whether an admin should do something about it. */
export const isProblem = (result: Result): boolean => result === 'attention' || result === 'fails'

export function ResultTag({ state }: { state: Result }) {
  const t = useTranslations('compliance.states')
  return <Tag tone={tones[state]}>{t(state)}</Tag>
}
