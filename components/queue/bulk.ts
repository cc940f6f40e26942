'use client'

import { useState } from 'react'
import { useChange } from '#components/frame/asking.ts'
import type { BulkAct } from './acts.ts'
import { type AdminRequest, type BulkOutcome, bulkAt, touched } from './places.ts'

/** The API takes so many at once. */
export const mostAtOnce = 100

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

/** Does the same with many requests, and keeps what became of each until the next. */
export function useBulk(me: string) {
  const change = useChange(bulkAt, { touches: touched })
  const [result, setResult] = useState<BulkResult>()
  const [current, setCurrent] = useState<BulkAct>()
  return {
    isPending: change.isPending,
    /** What is being done. */
    current: change.isPending ? current : undefined,
    problem: change.problem,
    reset: change.reset,
    result,
    close: () => setResult(undefined),
    begin(act: BulkAct, requests: readonly AdminRequest[], words: BulkWords, done: (result: BulkResult) => void) {
      // What became of the last is no answer to this.
      setResult(undefined)
      setCurrent(act)
      const ids = requests.map(({ id }) => id)
      change.begin({ body: bodyOf(act, ids, me, words) }, ({ data }) => {
        const outcomes = data.flatMap((outcome) => {
          const request = requests.find(({ id }) => id === outcome.id)
          return request ? [{ request, outcome }] : []
        })
        const made = { act, outcomes }
        setResult(made)
        done(made)
      })
    },
  }
}
