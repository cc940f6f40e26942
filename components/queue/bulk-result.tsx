'use client'

import { clsx } from 'clsx'
import { X } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { TextLink } from '#components/ui/text-link.tsx'
import type { ProblemDocument } from '#lib/client/request.ts'
import { labelOf } from './acts.ts'
import type { BulkResult } from './bulk.ts'
import type { BulkOutcome } from './endpoints.ts'
import { requestHref } from './queue-table.tsx'
import { useRequestWords } from './request-words.tsx'

type Code = ProblemDocument['code']

/** The outcome for each request. Failures come first, each with its reason. */
export function BulkResultView({ result, close }: { result: BulkResult; close: () => void }) {
  const t = useTranslations('queue')
  const problems = useTranslations('problems')
  const words = useRequestWords()
  const { act, outcomes } = result
  const failed = outcomes.filter(({ outcome }) => !outcome.ok).length
  const [total, done] = [outcomes.length, outcomes.length - failed]
  const action = t(`acts.${labelOf(act)}`)
  const why = ({ code, state, detail }: BulkOutcome): string => {
    if (code === 'not_found') return t('result.notThere')
    if (code === 'wrong_state' && state !== null)
      return t('result.wrongState', { state: words.state({ state }), why: t(`whyNot.${act}`) })
    const known = code as Code | null
    return known !== null && problems.has(`${known}.what`) ? problems(`${known}.what`) : (detail ?? '')
  }
  return (
    <section
      role="status"
      data-result={failed === 0 ? 'all' : done === 0 ? 'none' : 'some'}
      className={clsx(
        'grid gap-2 rounded-box border px-4 py-3',
        failed === 0 ? 'border-line bg-accent-wash' : 'border-amber/40 bg-amber-wash',
      )}
    >
      <div className="flex items-start justify-between gap-3">
        <p className="font-medium">{t('result.summary', { action, done, total })}</p>
        <button type="button" onClick={close} className="inline-flex size-8 shrink-0 items-center justify-center">
          <X aria-hidden className="size-4" />
          <span className="sr-only">{t('result.close')}</span>
        </button>
      </div>
      {failed > 0 && <p className="text-sm">{t('result.kept')}</p>}
      <ul aria-label={t('result.list')} className="grid max-h-60 gap-1 overflow-y-auto text-sm">
        {outcomes
          .toSorted((one, other) => Number(one.outcome.ok) - Number(other.outcome.ok))
          .map(({ request, outcome }) => (
            <li key={request.id} data-ok={outcome.ok} className="[overflow-wrap:anywhere]">
              <TextLink href={requestHref(request)}>{words.whole(request)}</TextLink>
              {' – '}
              {outcome.ok
                ? outcome.state === null || outcome.state === request.state
                  ? t('result.ok')
                  : t('result.okNow', { state: words.state({ state: outcome.state }) })
                : why(outcome)}
            </li>
          ))}
      </ul>
    </section>
  )
}
