'use client'

import { useEffect, useState, useSyncExternalStore } from 'react'
import { type Endpoint, type ProblemDocument, RequestRefused, request } from '#lib/client/request.ts'
import type { queryActs, queryAudit } from '#lib/domains/audit/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'
import { type AuditQuery, auditPageSize } from './filters.ts'
import { type LoadedPage, type PageWindow, pageWindow, type WindowState } from './page-window.ts'

export const queryAt: Endpoint<typeof queryAudit> = { method: 'get', path: '/v1/audit' }
const actsAt: Endpoint<typeof queryActs> = { method: 'get', path: '/api/audit/acts' }
export type AuditPage = Output<typeof queryActs>
export type ListedAct = AuditPage['data'][number]
export type ListedActPart = ListedAct['parts'][number]
export type AuditEntry = ListedActPart['entry']

interface Refusal {
  problem: ProblemDocument
  /** Seconds until a retry is useful; undefined if the answer has no such value. */
  retryAfter: number | undefined
}
export type EntryWindow = PageWindow<ListedAct, Refusal>

const loaded = ({ data, next_cursor, searched_to }: AuditPage): LoadedPage<ListedAct> => ({
  rows: data,
  next: next_cursor,
  reached: searched_to,
})

/** The window of rows for these filters. It keeps its state until it is remounted: use a `key` of filters and time. */
export function useEntryWindow(query: AuditQuery, first: AuditPage): [EntryWindow, WindowState<Refusal>] {
  const [view] = useState<EntryWindow>(() =>
    pageWindow<ListedAct, Refusal>({
      first: loaded(first),
      load: async (cursor) =>
        loaded(
          await request(actsAt, { query: { ...query, limit: auditPageSize, ...(cursor !== null && { cursor }) } }),
        ),
      failed(error) {
        if (!(error instanceof RequestRefused)) throw error
        return { problem: error.problem, retryAfter: error.retryAfter }
      },
    }),
  )
  const state = useSyncExternalStore(view.subscribe, view.state, view.state)
  const { problem } = state
  // Fast scrolling can reach the rate limit: continue after the wait.
  useEffect(() => {
    if (problem?.problem.code !== 'rate_limited') return
    const timer = setTimeout(view.goOn, Math.min(problem.retryAfter ?? 10, 60) * 1_000)
    return () => clearTimeout(timer)
  }, [problem, view])
  return [view, state]
}
