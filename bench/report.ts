import { type BenchRow, ratioOf } from './row.ts'

/** Three significant digits. */
const number = (value: number): string =>
  Number.isInteger(value) || Math.abs(value) >= 1000
    ? Math.round(value).toLocaleString('en')
    : value.toPrecision(3).replace(/\.0+$/, '')

const cells = (row: BenchRow): string[] => {
  const ratio = ratioOf(row)
  return [
    row.name,
    number(row.value),
    row.unit,
    row.ceiling ? `${number(row.ceiling.value)} (${row.ceiling.name})` : '',
    ratio === undefined ? '' : ratio.toFixed(2),
    row.bar ?? '',
    row.met === undefined ? '' : row.met ? '✓' : '✗',
  ]
}
const head = ['what', 'value', 'unit', 'bound, in the same run', 'ratio', 'bar', 'met']
const isNumber = [false, true, false, false, true, false, false]

/** A Markdown table with aligned columns. */
export function markdownTableOf(rows: readonly BenchRow[]): string {
  const lines = [head, ...rows.filter((row) => !row.isDetail || row.met === false).map(cells)]
  const widths = head.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0), 3))
  const drawn = lines.map((line) =>
    line.map((cell, column) =>
      isNumber[column] ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
    ),
  )
  const rule = widths.map((width, column) => (isNumber[column] ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width)))
  return [drawn[0] ?? [], rule, ...drawn.slice(1)].map((line) => `| ${line.join(' | ')} |`).join('\n')
}

/** Replaces the text between the two markers of a group. @throws when the document has no markers */
export function replaceBetween(document: string, group: string, text: string): string {
  const [begin, end] = [`<!-- measured: ${group} -->`, `<!-- end: ${group} -->`]
  const from = document.indexOf(begin)
  const to = document.indexOf(end)
  if (from < 0 || to < from) throw new Error(`the document has no place for "${group}": ${begin} … ${end}`)
  return `${document.slice(0, from + begin.length)}\n${text}\n${document.slice(to)}`
}
