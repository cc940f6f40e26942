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
import { askForApproval } from '#components/approvals/proposing.ts'
import { useApprovalMode } from '#components/ui/approval-mode.tsx'
import type { QueryProblem } from '#components/ui/problem-alert.tsx'
import { type Endpoint, type ProblemDocument, type RequestInput, RequestRefused, request } from '#lib/client/request.ts'
import type { OperationShape, Output } from '#lib/kernel/operation.ts'
import { refetch } from './refetch.ts'
import { useStepUp } from './step-up.tsx'

/** Converts a refusal to its problem document. Rethrows any other error to the error boundary. */
function problemOf(error: unknown): ProblemDocument | undefined {
  if (error === null || error === undefined) return undefined
  if (error instanceof RequestRefused) return error.problem
  throw error
}
const mayHaveBeenDone = new Set<string>(['unreachable', 'unavailable', 'idempotency_in_progress'])
const keyOf = <O extends OperationShape>(at: Endpoint<O>, parts: RequestInput<O>): QueryKey => [
  at.path,
  parts.params ?? null,
  parts.query ?? null,
]

interface ApiQueryOptions<T> {
  /** The answer with which the server rendered the page. */
  initial?: T | undefined
  /** Milliseconds until the next poll; false stops polling. */
  every?: number | ((data: T | undefined) => number | false)
  enabled?: boolean
}

/** Runs a query and caches the answer by path, parameters and query string. */
export function useApiQuery<O extends OperationShape>(
  at: Endpoint<O>,
  parts: RequestInput<O> = {},
  { initial, every, enabled = true }: ApiQueryOptions<Output<O>> = {},
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
  const problem = problemOf(query.error)
  const retry = { again: () => void query.refetch(), isAsking: query.isFetching }
  return { ...query, problem: problem && ({ ...problem, retry } satisfies QueryProblem) }
}

/** The shape of every list page of the API. */
interface ListPage {
  data: unknown[]
  total?: number
  next_cursor: string | null
}
type RowOf<P> = P extends { data: (infer R)[] } ? R : never

/** Loads a list page by page with its cursor. `total` is the value from the first page. */
export function useApiInfiniteQuery<O extends OperationShape>(
  at: Endpoint<O>,
  parts: RequestInput<O> = {},
  { initial, enabled = true }: { initial?: Output<O> | undefined; enabled?: boolean } = {},
) {
  type Page = Output<O> & ListPage
  const query = useInfiniteQuery<Page, unknown, InfiniteData<Page, string | null>, QueryKey, string | null>({
    queryKey: [...keyOf(at, parts), 'pages'],
    queryFn: async ({ pageParam, signal }) => {
      const query = Object.assign({}, parts.query, pageParam !== null && { cursor: pageParam })
      return (await request<O>(at, { ...parts, query } as RequestInput<O>, { signal })) as Page
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
 * Runs a mutation. Before it counts as done, it refetches the page and every cached answer under a path that begins with one of `touches`.
 * If the action needs the approval of another admin, asks for it; the problem then has a `proposal_id`.
 * One intent has one Idempotency-Key: while it is pending, and for retries after a lost response, the server receives the same key.
 */
export function useApiMutation<O extends OperationShape>(
  at: Endpoint<O>,
  { touches = [], isQuiet = false }: { touches?: readonly string[]; isQuiet?: boolean } = {},
) {
  const client = useQueryClient()
  const router = useRouter()
  const stepUp = useStepUp()
  const isApprovalRequired = useApprovalMode()
  const intent = useRef<{ of: string; key: string }>(undefined)
  const isBusy = useRef(false)
  const mutation = useMutation<Output<O>, unknown, RequestInput<O>>({
    mutationFn: async (parts) => {
      const of = JSON.stringify(parts)
      if (intent.current?.of !== of) intent.current = { of, key: crypto.randomUUID() }
      const target = at.method === 'post' ? { idempotencyKey: intent.current.key } : {}
      const answer = await stepUp(() => request<O>(at, parts, target)).catch(async (error: unknown) => {
        throw isApprovalRequired ? await stepUp(() => askForApproval(error, parts)) : error
      })
      intent.current = undefined
      return answer
    },
    onError: (error) => {
      // A refusal ends the intent: the next try gets a new key. Without a response, or if the server asks for a retry, it may already have
      // been done.
      if (error instanceof RequestRefused && !mayHaveBeenDone.has(error.problem.code)) intent.current = undefined
    },
    onSettled: async (_answer, error) => {
      isBusy.current = false
      // The session has ended: a refresh would redirect to the sign-in page and lose the typed text.
      if (error instanceof RequestRefused && error.problem.status === 401) return
      await refetch(client, touches)
      if (!isQuiet) router.refresh()
    },
  })
  const problem = problemOf(mutation.error)
  return {
    ...mutation,
    // The password dialog asked, and the person cancelled it: they know that nothing was done.
    problem: problem?.code === 'step_up_required' ? undefined : problem,
    /**
     * Like `mutate`, but does nothing while a call is pending, so a second click has no effect. `asked` is called after the approval of
     * another admin was requested.
     */
    begin: (parts: RequestInput<O>, done?: (answer: Output<O>) => void, asked?: () => void) => {
      // Two clicks can arrive before the next render.
      if (isBusy.current) return
      isBusy.current = true
      mutation.mutate(parts, {
        ...(done && { onSuccess: done }),
        onError: (error) => {
          if (error instanceof RequestRefused && error.problem.proposal_id !== undefined) asked?.()
        },
      })
    },
  }
}
