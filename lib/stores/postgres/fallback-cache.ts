import { isDatabaseDown } from './problems.ts'

/** Caches the database's last answers and returns them while it is down. Only for public data that does not change. */
export function fallbackCache<T>(max: number) {
  const remembered = new Map<string, T>()
  return {
    async of(key: string, ask: () => Promise<T>): Promise<T> {
      try {
        const answer = await ask()
        remembered.delete(key)
        remembered.set(key, answer)
        const [oldest] = remembered.keys()
        if (remembered.size > max && oldest !== undefined) remembered.delete(oldest)
        return answer
      } catch (error) {
        const answer = isDatabaseDown(error) ? remembered.get(key) : undefined
        if (answer === undefined) throw error
        return answer
      }
    },
  }
}
