import { csvCell } from '#lib/domains/audit/rules.ts'
import type { ShownColumn } from './table-column.ts'

/** The rows as CSV (RFC 4180), with the titles of the columns in the first line. Columns without a value are left out. */
export function csvOf<Row>(columns: readonly ShownColumn<Row>[], rows: readonly Row[]): string {
  const written = columns.flatMap(({ title, value }) => (value ? [{ title, value }] : []))
  const lines = [
    written.map(({ title }) => csvCell(title)),
    ...rows.map((row) => written.map(({ value }) => csvCell(String(value(row) ?? '')))),
  ]
  return lines.map((line) => `${line.join(',')}\r\n`).join('')
}

/** Lets the browser save the text as a file. The byte order mark makes spreadsheets read it as UTF-8. */
export function saveCsv(name: string, text: string): void {
  const address = URL.createObjectURL(new Blob(['\uFEFF', text], { type: 'text/csv;charset=utf-8' }))
  const link = document.createElement('a')
  link.href = address
  link.download = `${name}.csv`
  link.click()
  URL.revokeObjectURL(address)
}
