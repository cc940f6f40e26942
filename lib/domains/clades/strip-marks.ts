import type { StrippedKind } from './strip-kinds.ts'

/** Replaces removed values by marks such as `‹credential:1›` and counts them per kind. Equal values get equal numbers. */
export function stripMarks() {
  const removed: Partial<Record<StrippedKind, number>> = {}
  const numbers = new Map<string, number>()
  const last = new Map<StrippedKind, number>()

  function mark(kind: StrippedKind, written: string): string {
    removed[kind] = (removed[kind] ?? 0) + 1
    const value = `${kind} ${written}`
    const number = numbers.get(value) ?? (last.get(kind) ?? 0) + 1
    if (!numbers.has(value)) {
      numbers.set(value, number)
      last.set(kind, number)
    }
    return `‹${kind}:${number}›`
  }

  return { mark, removed }
}
export type Mark = ReturnType<typeof stripMarks>['mark']

export const isMark = (text: string): boolean => /^‹[a-z_]{2,20}:\d{1,6}›$/.test(text)
