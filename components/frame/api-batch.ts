'use client'

import { useQueryClient } from '@tanstack/react-query'
import { useRouter } from 'next/navigation'
import { useRef, useState } from 'react'
import { askForApproval } from '#components/approvals/proposing.ts'
import { useApprovalMode } from '#components/ui/approval-mode.tsx'
import { type Endpoint, type ProblemDocument, type RequestInput, RequestRefused, request } from '#lib/client/request.ts'
import type { OperationShape, Output } from '#lib/kernel/operation.ts'
import { refetch } from './refetch.ts'
import { useStepUp } from './step-up.tsx'

/** What a batch did to one item. */
export interface BatchOutcome<T> {
  item: T
  /** The rejection; undefined after success. */
  problem: ProblemDocument | undefined
}

/**
 * Calls an operation once for each item, one after the other, and collects an outcome for each: a rejected item does not stop the others.
 * `partsOf` receives the item and the newest answer.
 * At the end it refetches the page and every cached answer under a path that begins with one of `touches`.
 */
export function useApiBatch<O extends OperationShape, T>(
  at: Endpoint<O>,
  partsOf: (item: T, last: Output<O> | undefined) => RequestInput<O>,
  { touches = [] }: { touches?: readonly string[] } = {},
) {
  const client = useQueryClient()
  const router = useRouter()
  const stepUp = useStepUp()
  const isApprovalRequired = useApprovalMode()
  const isBusy = useRef(false)
  const [outcomes, setOutcomes] = useState<readonly BatchOutcome<T>[]>([])
  const [total, setTotal] = useState(0)
  const [isPending, setPending] = useState(false)

  const last = useRef<Output<O>>(undefined)

  async function callFor(item: T): Promise<BatchOutcome<T>> {
    const target = at.method === 'post' ? { idempotencyKey: crypto.randomUUID() } : {}
    try {
      const parts = partsOf(item, last.current)
      last.current = await stepUp(() => request<O>(at, parts, target)).catch(async (refusal: unknown) => {
        throw isApprovalRequired ? await stepUp(() => askForApproval(refusal, parts)) : refusal
      })
      return { item, problem: undefined }
    } catch (error) {
      if (error instanceof RequestRefused) return { item, problem: error.problem }
      throw error
    }
  }
  async function run(items: readonly T[], done?: (outcomes: readonly BatchOutcome<T>[]) => void): Promise<void> {
    // Two clicks can arrive before the next render.
    if (isBusy.current) return
    isBusy.current = true
    setPending(true)
    setTotal(items.length)
    const made: BatchOutcome<T>[] = []
    try {
      for (const item of items) {
        made.push(await callFor(item))
        setOutcomes([...made])
      }
      await refetch(client, touches)
      router.refresh()
    } finally {
      isBusy.current = false
      setPending(false)
    }
    done?.(made)
  }
  return {
    outcomes,
    total,
    isPending,
    begin: (items: readonly T[], done?: (outcomes: readonly BatchOutcome<T>[]) => void) => void run(items, done),
    reset: () => {
      setOutcomes([])
      setTotal(0)
    },
  }
}
