import type { QueryClient } from '@tanstack/react-query'
import { waitingAt } from './endpoints.ts'

/** Refetches every cached answer under a path that begins with one of `touches`, and the counts in the navigation. */
export async function refetch(client: QueryClient, touches: readonly string[]): Promise<void> {
  // Not awaited: the action is done without the counts.
  void client.invalidateQueries({ queryKey: [waitingAt.path] })
  await client.invalidateQueries({
    predicate: ({ queryKey: [path] }) =>
      typeof path === 'string' && touches.some((touched) => path.startsWith(touched)),
  })
}
