import type { PlannedRecord } from '#lib/kernel/data-source.ts'

type Decision = Pick<PlannedRecord, 'verdict' | 'reason' | 'found'>

/**
 * The records of a dry run that name no erasing project, as numbers: their keys would tell an author who else said the same. Data of others
 * that remains is not counted either, because the number alone would tell whether somebody said it.
 */
export function hiddenRecords(store: string, kind: string) {
  const counts = new Map<string, { decision: Decision; count: number }>()
  return {
    add({ verdict, reason, found }: Decision): void {
      if (verdict === 'kept' || verdict === 'untouched') return
      const key = JSON.stringify([verdict, reason, found])
      const known = counts.get(key)
      if (known) known.count++
      else counts.set(key, { decision: { verdict, reason, found }, count: 1 })
    },
    records: (): PlannedRecord[] =>
      [...counts.values()].map(({ decision, count }) => ({
        store,
        kind,
        id: 'store',
        name: null,
        evidence: [`items:${count}`],
        ...decision,
      })),
  }
}
