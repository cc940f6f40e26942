import type { View } from './places.ts'

/** As the API takes it; what cannot be the beginning of an id is left out. */
export const holdQuery = (active: View, q: string | null) => ({
  active,
  ...(q !== null && /^[\w.:-]{1,200}$/.test(q) && { q }),
  limit: '50',
})
