'use client'

import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useRouter } from 'next/navigation'
import { type Endpoint, request } from '#lib/client/request.ts'
import type { listSessions, revokeSession } from '#lib/domains/accounts/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'

const listAt: Endpoint<typeof listSessions> = { method: 'get', path: '/api/sessions' }
const revokeAt: Endpoint<typeof revokeSession> = { method: 'delete', path: '/api/sessions/{id}' }
const key = ['sessions']

export type Sessions = Output<typeof listSessions>

export const useSessions = (initial: Sessions) =>
  useQuery({ queryKey: key, queryFn: () => request(listAt, { query: { limit: 100 } }), initialData: initial })

/** Ends a session; the list is asked for again before it is called done, and the page's numbers follow. */
export function useRevocation() {
  const client = useQueryClient()
  const router = useRouter()
  return useMutation({
    mutationFn: (id: string) => request(revokeAt, { params: { id } }),
    onSettled: async () => {
      await client.invalidateQueries({ queryKey: key })
      router.refresh()
    },
  })
}
