import { leavesTogether, type PieceSpan, type StringLeaf, withoutSpans } from '#lib/stores/virtual-texts.ts'

/** A part of a value whose strings are read together with those of other parts: an item of a list, a field, a line. */
export class ValuePart {
  readonly n: number
  value: unknown
  constructor(n: number, value: unknown) {
    this.n = n
    this.value = value
  }
}

/** A JSON value, or the text. */
export function parsedValue(text: string): unknown {
  if (!/^\s*[[{"]/.test(text)) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
/** The lines of NDJSON, or the complete JSON value; undefined for other texts. */
export function jsonParts(text: string): ValuePart[] | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined
  const whole = parsedValue(text)
  if (typeof whole !== 'string') return [new ValuePart(0, whole)]
  const lines = text.split('\n')
  const parts = lines.map((line, n) => new ValuePart(n, line.trim() === '' ? '' : parsedValue(line)))
  const isLines = parts.every(({ value }, n) => typeof value !== 'string' || lines[n]?.trim() === '')
  return isLines && parts.length > 1 ? parts : undefined
}
export const textOfParts = (parts: readonly ValuePart[]): string =>
  parts.map(({ value }) => (value === '' ? '' : JSON.stringify(value))).join('\n')

type PartLeaf = StringLeaf<number>
function children(value: unknown, owner: number) {
  if (value instanceof ValuePart) return { children: [['value', value.value] as [string, unknown]], owner: value.n }
  if (Array.isArray(value)) return { children: value.map((item, at): [number, unknown] => [at, item]), owner }
  return typeof value === 'object' && value !== null ? { children: Object.entries(value), owner } : undefined
}
export const partLeaves = (parts: readonly ValuePart[]) => leavesTogether(parts, -1, children)

/** Removes the spans from the strings. Returns the numbers of the changed parts. */
export function cutLeaves(spans: ReadonlyMap<PartLeaf, readonly PieceSpan[]>): Set<number> {
  const changed = new Set<number>()
  const removed = new Map<unknown[], Set<number>>()
  for (const [{ container, key, text, owner }, cuts] of spans) {
    const cut = withoutSpans(text, cuts)
    const rest = /[\p{L}\p{N}]/u.test(cut) ? cut : ''
    changed.add(owner)
    if (Array.isArray(container) && typeof key === 'number') {
      if (rest === '') removed.set(container, (removed.get(container) ?? new Set()).add(key))
      else container[key] = rest
    } else Reflect.set(container, key, rest)
  }
  for (const [list, positions] of removed)
    for (const at of [...positions].sort((one, other) => other - one)) list.splice(at, 1)
  return changed
}
