'use client'

import { useTranslations } from 'next-intl'
import { useDataNames } from '#components/stores/data-names.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { usePunctuation } from '#components/ui/punctuation.ts'
import type { useCancelling } from './requests.ts'

/** The number of records that were already erased, by store, from the refusal. */
function erasedIn(problem: object | undefined): [store: string, count: number][] {
  if (!problem || !('erased' in problem)) return []
  const { erased } = problem
  if (typeof erased !== 'object' || erased === null) return []
  return Object.entries(erased).filter(
    (entry): entry is [string, number] => typeof entry[1] === 'number' && entry[1] > 0,
  )
}

interface CancelProps {
  id: string
  /** The button label. */
  label: string
  cancelling: ReturnType<typeof useCancelling>
}
/** Cancels a request. Further clicks have no effect. */
export function CancelButton({ id, label, cancelling }: CancelProps) {
  const t = useTranslations('common')
  return (
    <Button aria-disabled={cancelling.isPending} onClick={() => cancelling.begin({ params: { id } })}>
      {cancelling.isPending ? t('busy') : label}
    </Button>
  )
}

/** The result of a cancellation: done, refused, or too late, with the counts of erased records. */
export function CancelOutcome({ cancelling }: Pick<CancelProps, 'cancelling'>) {
  const t = useTranslations('requests.request.actions')
  const common = useTranslations('common')
  const { list } = usePunctuation()
  const names = useDataNames()
  const { problem, isSuccess } = cancelling
  if (isSuccess) return <Alert tone="done" isLive title={t('cancelled')} />
  if (problem?.code !== 'wrong_state') return problem ? <ProblemAlert problem={problem} /> : null
  const erased = erasedIn(problem)
  return (
    <Alert tone="warning" isLive title={t('tooLate')}>
      {erased.length > 0 && (
        <p>
          {t('erasedSoFar', {
            list: list(erased.map(([store, count]) => common('nameCount', { name: names.place(store), count }))),
          })}
        </p>
      )}
    </Alert>
  )
}
