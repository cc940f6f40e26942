// Tables with one word in each line, as transcripts, tokenizers and parsers write them.

/** A part of a text in a column: offsets, in pairs. */
export type WordColumn = readonly number[]

const delimiters = [9, 44, 59, 124, 32]
/** The place of each of them in the list; -1 for other signs. */
const indexOf = Int8Array.from({ length: 128 }, (_, unit) => delimiters.indexOf(unit))
/** Fewer words are no run. */
const leastRows = 6
/** Lines of code often have one space. */
const leastSpaces = 2
const mostCells = 16
const longestRow = 240
const longestCell = 40
/** Of a column of words, most cells contain a letter, and one word. */
const leastWords = 0.75
/** A column with so few different words has none of a text. */
const mostEqual = 2
/** The letter of a word is one of its first signs. */
const isWord = /^[^\s]{0,4}\p{L}[^\s]*$/u
const longestLead = 4
function isWordIn(text: string, start: number, end: number): boolean {
  let hasLetter = false
  for (let at = start; at < end; at++) {
    const unit = text.charCodeAt(at)
    if (unit >= 128) return isWord.test(text.slice(start, end))
    if (unit === 32 || (unit >= 9 && unit <= 13)) return false
    if (at - start <= longestLead && (unit | 32) >= 97 && (unit | 32) <= 122) hasLetter = true
  }
  return hasLetter
}

const isEdge = (unit: number): boolean => unit <= 32 || unit === 34 || unit === 39
/** The columns of words in rows that have the same number of cells. A cell is trimmed, and has no quotation marks. */
function columnsOf(text: string, rows: readonly number[], delimiter: number, cells: number): WordColumn[] {
  const columns: number[][] = Array.from({ length: cells }, () => [])
  for (let row = 0; row < rows.length; row += 2) {
    const [start = 0, end = 0] = [rows[row], rows[row + 1]]
    let [from, cell] = [start, 0]
    for (let at = start; at <= end; at++) {
      if (at < end && text.charCodeAt(at) !== delimiter) continue
      let to = at
      while (from < to && isEdge(text.charCodeAt(from))) from++
      while (to > from && isEdge(text.charCodeAt(to - 1))) to--
      columns[cell]?.push(from, to)
      from = at + 1
      cell++
    }
  }
  return columns.filter((column) => {
    let [words, filled] = [0, 0]
    const different = new Set<string>()
    for (let at = 0; at < column.length; at += 2) {
      const [start = 0, end = 0] = [column[at], column[at + 1]]
      if (end - start > longestCell) return false
      if (end > start) filled++
      if (!isWordIn(text, start, end)) continue
      words++
      if (different.size <= mostEqual) different.add(text.slice(start, end))
    }
    return words >= leastRows && words >= filled * leastWords && different.size > mostEqual
  })
}

/** The columns of words of the tables in a text: consecutive lines with the same number of cells. */
export function wordColumnsIn(text: string): WordColumn[] {
  const found: WordColumn[] = []
  const groups = delimiters.map((delimiter) => ({ delimiter, count: 0, rows: [] as number[] }))
  const close = (group: (typeof groups)[number]): void => {
    if (group.rows.length >= leastRows * 2)
      for (const column of columnsOf(text, group.rows, group.delimiter, group.count + 1)) found.push(column)
    if (group.rows.length > 0) group.rows = []
    group.count = 0
  }
  const counts = new Uint16Array(delimiters.length)
  for (let start = 0; start < text.length; ) {
    const next = text.indexOf('\n', start)
    const end = next < 0 ? text.length : next
    const isRow = end - start <= longestRow && end > start
    if (isRow) {
      counts.fill(0)
      for (let at = start; at < end; at++) {
        const unit = text.charCodeAt(at)
        const index = unit < 128 ? (indexOf[unit] ?? -1) : -1
        if (index >= 0) counts[index] = (counts[index] ?? 0) + 1
      }
    }
    for (let at = 0; at < groups.length; at++) {
      const group = groups[at]
      if (!group) continue
      const { delimiter } = group
      const count = isRow ? (counts[at] ?? 0) : 0
      if (count === 0 && group.rows.length === 0) continue
      if (count !== group.count) close(group)
      if (count === 0 || count >= mostCells) continue
      if (delimiter === 32 && (count < leastSpaces || text.charCodeAt(start) === 32)) continue
      group.count = count
      group.rows.push(start, end)
    }
    start = end + 1
  }
  for (const group of groups) close(group)
  return found
}
