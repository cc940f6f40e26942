'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { showToast } from '#components/ui/toast.ts'
import { type BulkAct, labelOf } from './acts.ts'
import { type AdminRequest, type BulkOutcome, bulkAt, requestPaths } from './endpoints.ts'

/** The most requests per call of the API. */
export const maxAtOnce = 100

export interface BulkWords {
  text: string
  dropCopies: boolean
}
export interface BulkResult {
  act: BulkAct
  outcomes: { request: AdminRequest; outcome: BulkOutcome }[]
}

function bodyOf(act: BulkAct, ids: string[], me: string, { text, dropCopies }: BulkWords) {
  switch (act) {
    case 'assign':
      return { action: act, ids, account_id: me } as const
    case 'expedite':
      return { action: act, ids, reason: text, drop_copies: dropCopies } as const
    case 'pause':
      return { action: act, ids, reason: text } as const
    case 'comment':
      return { action: act, ids, note: text } as const
    case 'resume':
    case 'retry':
      return { action: act, ids } as const
  }
}

/** Applies an action to many requests and keeps the outcomes until the next action. */
export function useBulk(me: string) {
  const change = useApiMutation(bulkAt, { touches: requestPaths })
  const [result, setResult] = useState<BulkResult>()
  const [current, setCurrent] = useState<BulkAct>()
  const assigning = useApiMutation(bulkAt, { touches: requestPaths })
  const t = useTranslations('queue')
  const common = useTranslations('common')

  /** Assigns the requests to the earlier assignees again, one call for each of them. */
  async function undoAssigning(outcomes: BulkResult['outcomes']): Promise<void> {
    const groups = Map.groupBy(outcomes, ({ request }) => request.assigned_to)
    for (const [account_id, group] of groups)
      await assigning
        .mutateAsync({ body: { action: 'assign', ids: group.map(({ request }) => request.id), account_id } })
        .catch(() => undefined)
  }
  function announce({ act, outcomes }: BulkResult): void {
    const total = outcomes.length
    showToast({
      title: t('result.summary', { action: t(`acts.${labelOf(act)}`), done: total, total }),
      ...(act === 'assign' && { undo: { label: common('undo'), run: () => void undoAssigning(outcomes) } }),
    })
  }
  return {
    isPending: change.isPending,
    /** The action in progress. */
    current: change.isPending ? current : undefined,
    problem: change.problem,
    reset: change.reset,
    result,
    close: () => setResult(undefined),
    begin(act: BulkAct, requests: readonly AdminRequest[], words: BulkWords, done: (result: BulkResult) => void) {
      // Old outcomes must not appear as the result of this action.
      setResult(undefined)
      setCurrent(act)
      const ids = requests.map(({ id }) => id)
      change.begin({ body: bodyOf(act, ids, me, words) }, ({ data }) => {
        const outcomes = data.flatMap((outcome) => {
          const request = requests.find(({ id }) => id === outcome.id)
          return request ? [{ request, outcome }] : []
        })
        const made = { act, outcomes }
        // A complete success needs no list.
        if (outcomes.every(({ outcome }) => outcome.ok)) announce(made)
        else setResult(made)
        done(made)
      })
    },
  }
}
