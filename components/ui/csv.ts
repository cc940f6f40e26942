import { csvCell } from '#lib/domains/audit/rules.ts'
import { saveFile } from './save-file.ts'
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
export const saveCsv = (name: string, text: string): void => saveFile(`${name}.csv`, `\uFEFF${text}`, 'text/csv')
