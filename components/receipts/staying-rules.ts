import type { Receipt } from '#lib/kernel/receipt.ts'
import { type ReceiptTextCode, recognizeReceiptText } from '#lib/kernel/receipt-texts.ts'
import type en from '#messages/en.ts'

type Part = keyof typeof en.receipt.staying.parts
type GroupName = 'proof' | 'return' | 'passing'
type Code = ReceiptTextCode<'retained'>

export interface StayingGroup {
  name: GroupName
  parts: Part[]
  /** When the last of it is deleted; null if that has no fixed date. */
  until: string | null
}

/**
 * The plain words for each kind of retained data. Absent: data that was to be deleted and is still there, such as under a legal hold. It has
 * its own line, so that no group hides it.
 */
const plain: Partial<Record<Code, readonly [GroupName, Part]>> = {
  audit: ['proof', 'acts'],
  adminActs: ['proof', 'acts'],
  proof: ['proof', 'receipt'],
  request: ['proof', 'request'],
  id: ['return', 'id'],
  hashes: ['return', 'hashes'],
  fingerprints: ['return', 'fingerprints'],
  address: ['passing', 'emails'],
  lastEmail: ['passing', 'emails'],
  emails: ['passing', 'emails'],
  sharedIds: ['passing', 'sharedIds'],
}

const later = (one: string | null, other: string | null): string | null =>
  one === null || other === null ? null : Date.parse(one) > Date.parse(other) ? one : other

/** Retained data and remaining copies of a receipt in three groups; what belongs to none is listed as it is. */
export function stayingData({ retained, physical }: Pick<Receipt, 'retained' | 'physical'>): {
  groups: StayingGroup[]
  others: Receipt['retained']
} {
  const groups = new Map<GroupName, StayingGroup>()
  const others: Receipt['retained'] = []
  const add = (name: GroupName, part: Part, until: string | null) => {
    const group = groups.get(name)
    if (!group) groups.set(name, { name, parts: [part], until })
    else {
      if (!group.parts.includes(part)) group.parts.push(part)
      group.until = later(group.until, until)
    }
  }
  for (const one of retained) {
    const code = recognizeReceiptText('retained', one.what)?.code
    const found = code && plain[code]
    if (found) add(...found, one.until)
    else others.push(one)
  }
  for (const { until } of physical) add('passing', 'copies', until)
  const order: readonly GroupName[] = ['proof', 'return', 'passing']
  return { groups: order.flatMap((name) => groups.get(name) ?? []), others }
}
