import type { HoldView } from './endpoints.ts'

/** The query for the API. Omits search text that cannot be the beginning of an id. */
export const holdQuery = (active: HoldView, q: string | null) => ({
  active,
  ...(q !== null && /^[\w.:-]{1,200}$/.test(q) && { q }),
  limit: '50',
})
