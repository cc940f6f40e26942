'use client'

import {
  type InfiniteData,
  type QueryKey,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query'
import { useRouter } from 'next/navigation'
import { useRef } from 'react'
import { type Endpoint, type ProblemDocument, type RequestParts, RequestRefused, request } from '#lib/client/request.ts'
import type { OperationShape, Output } from '#lib/kernel/operation.ts'
import { useStepUp } from './step-up.tsx'

/** What went wrong, as a problem; a fault of the page itself is thrown on, to the error boundary. */
function problemOf(error: unknown): ProblemDocument | undefined {
  if (error === null || error === undefined) return undefined
  if (error instanceof RequestRefused) return error.problem
  throw error
}
const mayHaveBeenDone = new Set<string>(['unreachable', 'unavailable', 'idempotency_in_progress'])
const keyOf = <O extends OperationShape>(at: Endpoint<O>, parts: RequestParts<O>): QueryKey => [
  at.path,
  parts.params ?? null,
  parts.query ?? null,
]

interface Asking<T> {
  /** What the server rendered the page with. */
  initial?: T | undefined
  /** Asks again after so many milliseconds; false: not any more. */
  every?: number | ((data: T | undefined) => number | false)
  enabled?: boolean
}

/** Asks an operation, and keeps the answer under its path, parameters and query. */
export function useAsked<O extends OperationShape>(
  at: Endpoint<O>,
  parts: RequestParts<O> = {},
  { initial, every, enabled = true }: Asking<Output<O>> = {},
) {
  const query = useQuery<Output<O>>({
    queryKey: keyOf(at, parts),
    queryFn: ({ signal }) => request<O>(at, parts, { signal }),
    enabled,
    ...(initial !== undefined && { initialData: () => initial }),
    ...(every !== undefined && {
      refetchInterval: typeof every === 'number' ? every : ({ state }) => every(state.data),
    }),
  })
  return { ...query, problem: problemOf(query.error) }
}

/** A page of a list as every list of the API answers. */
interface ListPage {
  data: unknown[]
  total?: number
  next_cursor: string | null
}
type RowOf<P> = P extends { data: (infer R)[] } ? R : never

/** Asks a list page by page, along its cursor. `total` is the first page's. */
export function usePages<O extends OperationShape>(
  at: Endpoint<O>,
  parts: RequestParts<O> = {},
  { initial, enabled = true }: { initial?: Output<O> | undefined; enabled?: boolean } = {},
) {
  type Page = Output<O> & ListPage
  const query = useInfiniteQuery<Page, unknown, InfiniteData<Page, string | null>, QueryKey, string | null>({
    queryKey: [...keyOf(at, parts), 'pages'],
    queryFn: async ({ pageParam, signal }) => {
      const query = Object.assign({}, parts.query, pageParam !== null && { cursor: pageParam })
      return (await request<O>(at, { ...parts, query } as RequestParts<O>, { signal })) as Page
    },
    initialPageParam: null,
    getNextPageParam: (last) => last.next_cursor,
    enabled,
    ...(initial !== undefined && {
      initialData: () => ({ pages: [initial as Page], pageParams: [null] }),
    }),
  })
  const pages = query.data?.pages ?? []
  return {
    rows: pages.flatMap(({ data }) => data) as RowOf<Output<O>>[],
    first: pages[0],
    total: pages[0]?.total,
    hasMore: query.hasNextPage,
    more: () => {
      if (!query.isFetchingNextPage) void query.fetchNextPage()
    },
    isLoading: query.isPending,
    isLoadingMore: query.isFetchingNextPage,
    problem: problemOf(query.error),
    again: () => void query.refetch(),
  }
}

/**
 * Does something. What it changes is asked for again before it counts as done: every answer kept under a path that begins with one of
 * `touches`, and the page itself. One intent has one Idempotency-Key: while it goes on, and when it is tried again after no answer came,
 * the server sees the same one.
 */
export function useChange<O extends OperationShape>(
  at: Endpoint<O>,
  { touches = [], isQuiet = false }: { touches?: readonly string[]; isQuiet?: boolean } = {},
) {
  const client = useQueryClient()
  const router = useRouter()
  const stepUp = useStepUp()
  const intent = useRef<{ of: string; key: string }>(undefined)
  const isBusy = useRef(false)
  const mutation = useMutation<Output<O>, unknown, RequestParts<O>>({
    mutationFn: async (parts) => {
      const of = JSON.stringify(parts)
      if (intent.current?.of !== of) intent.current = { of, key: crypto.randomUUID() }
      const target = at.method === 'post' ? { idempotencyKey: intent.current.key } : {}
      const answer = await stepUp(() => request<O>(at, parts, target))
      intent.current = undefined
      return answer
    },
    onError: (error) => {
      // Refused: the next try is another intent. Without an answer, or where it says to repeat the same, it may have been done.
      if (error instanceof RequestRefused && !mayHaveBeenDone.has(error.problem.code)) intent.current = undefined
    },
    onSettled: async (_answer, error) => {
      isBusy.current = false
      // The session has ended: the page asked for anew would lead to signing in, and away from what was typed.
      if (error instanceof RequestRefused && error.problem.status === 401) return
      await client.invalidateQueries({
        predicate: ({ queryKey: [path] }) =>
          typeof path === 'string' && touches.some((touched) => path.startsWith(touched)),
      })
      if (!isQuiet) router.refresh()
    },
  })
  return {
    ...mutation,
    problem: problemOf(mutation.error),
    /** As `mutate`, and nothing while it goes on: a second click is the same click. */
    begin: (parts: RequestParts<O>, done?: (answer: Output<O>) => void) => {
      // Two clicks come before the page is drawn anew.
      if (isBusy.current) return
      isBusy.current = true
      mutation.mutate(parts, done ? { onSuccess: done } : {})
    },
  }
}
