'use client'

import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useRouter } from 'next/navigation'
import { type Endpoint, request } from '#lib/client/request.ts'
import type { claimAgent, listOwnAgents } from '#lib/domains/agents/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'

const listAt: Endpoint<typeof listOwnAgents> = { method: 'get', path: '/api/agents' }
const claimAt: Endpoint<typeof claimAgent> = { method: 'post', path: '/api/agents/claim' }
const key = ['agents', 'own']

export type OwnAgents = Output<typeof listOwnAgents>

export const useOwnAgents = (initial: OwnAgents) =>
  useQuery({ queryKey: key, queryFn: () => request(listAt, { query: { limit: 100 } }), initialData: initial })

/** Makes the agent of a token the person's own; the page's numbers follow. */
export function useClaim() {
  const client = useQueryClient()
  const router = useRouter()
  return useMutation({
    mutationFn: (token: string) => request(claimAt, { body: { token } }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: key })
      router.refresh()
    },
  })
}
