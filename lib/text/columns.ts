import type { LayerBuilder } from './layer.ts'
import { mixed } from './words.ts'

/** Longer strings contain whole runs of their own: only short ones must be read together. In characters, on average. */
const longestPiece = 48
/** Words that stand between strings matter less the more words a string has. */
const longestLine = 40
/** No short string is longer in any encoding. */
const longestEncoded = 400
/** Of tokens, at least one in this many has a space at its end. */
const rarestEdge = 10

interface Column {
  /** Offsets of the base, in pairs. */
  readonly pieces: number[]
  characters: number
  /** Whether every string followed directly after the one before in the text of the layer. */
  isAdjacent: boolean
  last: number
}
const isSpaceAt = (text: string, at: number): boolean => text.charCodeAt(at) <= 32
/** Whether a space or an escaped line break is at the end of a string: tokens of a model carry the spaces between words. */
const hasEdge = (text: string, start: number, end: number): boolean =>
  isSpaceAt(text, start) || isSpaceAt(text, end - 1) || text.startsWith('\\n', start) || text.startsWith('\\n', end - 2)
/** What a string without spaces contains if it is a part of an encoded text. */
const isSign = (unit: number): boolean => unit < 65 || unit === 92

/** What an escape sequence has besides its first sign, on average. */
const ofEscape = 5

/** How the strings of a column are read. */
function measured(text: string, pieces: readonly number[]) {
  let [edges, lengths, spaces, signs, escapes, characters] = [0, 0, 0, 0, 0, 0]
  const length = (pieces[1] ?? 0) - (pieces[0] ?? 0)
  for (let at = 0; at < pieces.length; at += 2) {
    const [start = 0, end = 0] = [pieces[at], pieces[at + 1]]
    if (hasEdge(text, start, end)) edges++
    if (end - start === length) lengths++
    characters += end - start
    for (let inner = start; inner < end; inner++) {
      const unit = text.charCodeAt(inner)
      if (unit === 32) spaces++
      else if (isSign(unit)) {
        signs++
        if (unit === 92 || unit === 38 || unit === 37 || unit === 61) escapes++
      }
    }
  }
  const count = pieces.length / 2
  return {
    /** Strings that continue each other without a space: tokens, parts of one length, or parts of an encoded text. */
    isContinued: edges * rarestEdge >= count || (lengths >= count - 1 && length > 1) || (spaces === 0 && signs > 0),
    mayContinue: edges + spaces + signs > 0,
    average: Math.max(characters / 8, characters - ofEscape * escapes) / count,
  }
}

/**
 * The strings at the same place of consecutive values: deltas of a model, one word in each line, tokens with their times. What the values
 * contain besides separates the words in the text of the layer, so each place is also read by itself, at the end of the layer.
 */
export class StringColumns {
  readonly #byPath = new Map<number, Column>()
  /** The strings of each path whose records have different indexes, by these. */
  readonly #byIndex = new Map<number, Map<number, Column>>()
  #count = 0
  readonly #path = new Path()

  /** Begins a value. `isItem`: it is one of several that follow each other. */
  begin(isItem: boolean): Path {
    this.#path.begin(isItem)
    return this.#path
  }
  /** Counts a word of the text that belongs to no column. */
  skip(): void {
    this.#count++
  }
  add(path: number, start: number, end: number): void {
    const at = this.#count++
    if (end === start) return
    const column = this.#byPath.get(path)
    if (!column) {
      this.#byPath.set(path, { pieces: [start, end], characters: end - start, isAdjacent: true, last: at })
      return
    }
    column.pieces.push(start, end)
    column.characters += end - start
    column.isAdjacent &&= column.last === at - 1
    column.last = at
  }

  /** Adds a string to the others of the same index, such as one of several answers of a model whose deltas alternate. */
  addIndexed(path: number, index: number, start: number, end: number): void {
    if (end === start) return
    const columns = this.#byIndex.get(path) ?? new Map<number, Column>()
    this.#byIndex.set(path, columns)
    const column = columns.get(index) ?? { pieces: [], characters: 0, isAdjacent: false, last: 0 }
    columns.set(index, column)
    column.pieces.push(start, end)
    column.characters += end - start
  }

  /** `write` appends one string, without its encoding. `isStream`: the values are messages of a stream, not records. */
  writeTo(layer: LayerBuilder, isStream: boolean, write: (start: number, end: number) => void): void {
    const { base } = layer
    const indexed = [...this.#byIndex.values()].flatMap((columns) => (columns.size > 1 ? [...columns.values()] : []))
    for (const { pieces, characters, isAdjacent } of [...this.#byPath.values(), ...indexed]) {
      const count = pieces.length / 2
      if (count < 2 || characters > count * longestEncoded) continue
      const { isContinued, mayContinue, average } = measured(base, pieces)
      if (average > longestPiece) continue
      if (isContinued || (isStream && mayContinue)) layer.afterwards(() => writePieces(pieces, write))
      if (!isAdjacent && average <= longestLine)
        layer.afterwards(() => writePieces(pieces, write, (start) => layer.markup(start, start, '\n')))
    }
  }
}
function writePieces(
  pieces: readonly number[],
  write: (start: number, end: number) => void,
  separate?: (start: number) => void,
): void {
  for (let at = 0; at < pieces.length; at += 2) {
    const [start = 0, end = 0] = [pieces[at], pieces[at + 1]]
    if (at > 0) separate?.(start)
    write(start, end)
  }
}

/** The place of a value inside a list, a record or a call, as a hash. */
class Path {
  readonly #ids = new Map<string, number>()
  readonly #hashes: number[] = []
  /** The position in a list whose items are told apart; -1 in other lists, -2 in a record. */
  readonly #positions: number[] = []
  #hash = 1
  #position = -1
  /** The lists and records, by their order, and their enclosing ones. */
  readonly #parents: number[] = [-1]
  readonly #indexes = new Map<number, number>()
  #record = 0
  /** The path, the record, the beginning and the end of each string. */
  readonly #strings: number[] = []

  begin(isItem: boolean): void {
    this.#hashes.length = 0
    this.#positions.length = 0
    this.#hash = 1
    this.#position = isItem ? -1 : -3
    this.#parents.length = 1
    if (this.#indexes.size > 0) this.#indexes.clear()
    this.#record = 0
    this.#strings.length = 0
  }
  /** `isTuple`: the items of a list are told apart; by default, those of a list inside another list are. */
  open(isRecord: boolean, property: string, isTuple = this.#position > -2): void {
    this.#hashes.push(this.#hash)
    this.#positions.push(this.#position)
    this.#hash = this.of(property)
    this.#position = isRecord ? -2 : isTuple ? 0 : -1
    this.#parents.push(this.#record)
    this.#record = this.#parents.length - 1
  }
  close(): void {
    this.#hash = this.#hashes.pop() ?? 1
    this.#position = this.#positions.pop() ?? -3
    this.#record = Math.max(0, this.#parents[this.#record] ?? 0)
  }
  next(): void {
    if (this.#position >= 0) this.#position++
  }
  /** The place of a string with the given property, or of an item. */
  of(property: string): number {
    if (this.#position > -2) return mixed(this.#hash + this.#position + 2)
    const id = this.#ids.get(property) ?? this.#ids.size + 16
    this.#ids.set(property, id)
    return mixed(this.#hash ^ Math.imul(id, 0x9e3779b1))
  }
  /** Adds a string with the given property, or an item. */
  add(columns: StringColumns, property: string, start: number, end: number): void {
    const path = this.of(property)
    columns.add(path, start, end)
    this.#strings.push(path, this.#record, start, end)
  }
  /** Reads a number of the given property: an index tells apart what records at the same place contain. */
  number(property: string, value: string): void {
    if (property === 'index' && this.#position === -2) this.#indexes.set(this.#record, Number(value))
  }
  /** Adds the strings of records with an index, which may follow them. */
  finish(columns: StringColumns): void {
    if (this.#indexes.size === 0) return
    // An enclosing record comes before those inside it.
    const hashes = this.#parents.map(() => 0)
    for (const [record, parent] of this.#parents.entries()) {
      const index = this.#indexes.get(record)
      const above = hashes[parent] ?? 0
      hashes[record] = index === undefined ? above : mixed(above ^ Math.imul(index + 1, 0x9e3779b1))
    }
    for (let at = 0; at < this.#strings.length; at += 4) {
      const [path = 0, record = 0, start = 0, end = 0] = this.#strings.slice(at, at + 4)
      const index = hashes[record] ?? 0
      if (index !== 0) columns.addIndexed(path, index, start, end)
    }
  }
}
