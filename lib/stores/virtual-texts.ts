import type { ErasedRunMatch } from '#lib/kernel/data-source.ts'

/** A part of a piece: UTF-16 offsets, `end` exclusive. */
export interface PieceSpan {
  start: number
  end: number
}
export interface AcrossPieces {
  /** The joined text, and the runs in it that span several pieces. */
  text: string
  matches: ErasedRunMatch[]
  /** The pieces that each run covers, by the id of the run. */
  runs: Map<number, Set<number>>
  /** The parts of the runs that each piece contains, by the index of the piece. */
  spans: Map<number, PieceSpan[]>
}
type RunsIn = (text: string) => readonly ErasedRunMatch[]

/** Of a longer piece, only its beginning and end can be part of a run that continues in its neighbors. */
const edge = 256
/** Separates texts that are not adjacent: no run contains this word. */
const gap = ' \uE000kpgap\uE000 '

/**
 * Reads consecutive pieces together as one text, as a person would: tokens of a model, deltas, short chat lines, adjacent fields. Returns
 * the runs of erased words that no single piece contains.
 */
export function runsAcross(
  pieces: readonly string[],
  runsIn: RunsIn,
  glue: '' | ' ' = ' ',
  isSought: (run: number) => boolean = () => true,
): AcrossPieces {
  const found: AcrossPieces = { text: '', matches: [], runs: new Map(), spans: new Map() }
  if (pieces.length < 2) return found
  let text = ''
  /** Where each part of a piece begins in the joined text. */
  const parts: { piece: number; at: number; from: number; length: number }[] = []
  for (const [piece, one] of pieces.entries()) {
    if (piece > 0) text += glue
    const isLong = one.length > 2 * edge
    parts.push({ piece, at: text.length, from: 0, length: isLong ? edge : one.length })
    text += isLong ? one.slice(0, edge) : one
    if (!isLong) continue
    text += gap
    parts.push({ piece, at: text.length, from: one.length - edge, length: edge })
    text += one.slice(-edge)
  }
  found.text = text
  for (const match of runsIn(text)) {
    const { run, start, end } = match
    if (!isSought(run)) continue
    const touched = partsWithin(parts, start, end)
    const pieces = new Set(touched.map(({ piece }) => piece))
    if (pieces.size < 2) continue
    found.matches.push(match)
    found.runs.set(run, pieces.union(found.runs.get(run) ?? new Set()))
    for (const { piece, at, from, length } of touched) {
      const span = { start: from + Math.max(0, start - at), end: from + Math.min(length, end - at) }
      found.spans.set(piece, [...(found.spans.get(piece) ?? []), span])
    }
  }
  return found
}

/** The parts that overlap a range of the joined text. They are ordered by position. */
function partsWithin<P extends { at: number; length: number }>(parts: readonly P[], start: number, end: number): P[] {
  let [low, high] = [0, parts.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    const part = parts[middle]
    if (part && part.at + part.length <= start) low = middle + 1
    else high = middle
  }
  const touched: P[] = []
  for (let at = low; at < parts.length; at++) {
    const part = parts[at]
    if (!part || part.at >= end) break
    if (part.length > 0) touched.push(part)
  }
  return touched
}

/** A text without these spans, which may overlap. */
export function withoutSpans(text: string, spans: readonly PieceSpan[]): string {
  let rest = ''
  let from = 0
  for (const { start, end } of [...spans].sort((one, other) => one.start - other.start)) {
    if (start > from) rest += text.slice(from, start)
    from = Math.max(from, end)
  }
  return rest + text.slice(from)
}

/** A string in a decoded value, with the list or record that contains it. */
export interface StringLeaf<O> {
  text: string
  container: object
  key: string | number
  owner: O
}
type Tree<O> = (value: unknown, owner: O) => { children: [string | number, unknown][]; owner: O } | undefined

/** Maximum depth of the path of a string in the items of a list. */
const deepest = 6
/** Maximum number of strings in one reading. */
const maxLeaves = 200_000

/**
 * The strings of a decoded value that are read together: all strings in their order, and for each list the strings at the same place of its
 * items. `children` lists the parts of a record or list, with the owner of their strings; undefined for other values.
 */
export function* leavesTogether<O>(
  value: unknown,
  owner: O,
  children: Tree<O>,
): Generator<{ leaves: StringLeaf<O>[]; glues: readonly ('' | ' ')[] }> {
  const all: StringLeaf<O>[] = []
  const groups: StringLeaf<O>[][] = []
  /** `lists`: the lists around the value, each with the strings by their path in an item. */
  function walk(one: unknown, of: O, lists: { byPath: Map<string, StringLeaf<O>[]>; path: string; depth: number }[]) {
    const parts = children(one, of)
    if (!parts || typeof one !== 'object' || one === null) return
    const isList = Array.isArray(one)
    const byPath = new Map<string, StringLeaf<O>[]>()
    const around = isList ? [...lists, { byPath, path: '', depth: 0 }] : lists
    for (const [key, item] of parts.children) {
      const below = around.flatMap((list) => {
        // In a list, the position of an item does not belong to the path.
        const path = list.byPath === byPath ? '' : `${list.path}/${key}`
        return list.depth < deepest ? [{ byPath: list.byPath, path, depth: list.depth + 1 }] : []
      })
      if (typeof item !== 'string') {
        walk(item, parts.owner, below)
        continue
      }
      if (item === '' || all.length >= maxLeaves) continue
      const leaf = { text: item, container: one, key, owner: parts.owner }
      all.push(leaf)
      for (const list of below) {
        const known = list.byPath.get(list.path)
        if (known) known.push(leaf)
        else list.byPath.set(list.path, [leaf])
      }
    }
    if (isList) for (const leaves of byPath.values()) if (leaves.length > 1) groups.push(leaves)
  }
  walk(value, owner, [])
  if (all.length > 1) yield { leaves: all, glues: [' '] }
  for (const leaves of groups) yield { leaves, glues: ['', ' '] }
}
