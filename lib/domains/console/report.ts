import { Readable } from 'node:stream'
import { csvCell, csvStart } from '#lib/domains/audit/rules.ts'
import { reportOfErasures } from '#lib/domains/erasure/queries.ts'
import { reportOfHolds } from '#lib/domains/holds/queries.ts'
import { reportOfRequests } from '#lib/domains/privacy-requests/queries.ts'
import { writtenPdf } from '#lib/kernel/pdf.ts'
import { invalid } from '#lib/kernel/problem.ts'
import { read, stream } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { exportReport, type MonthlyReport, readReport } from './report-contract.ts'
import { lastCompleteMonth, monthPeriod } from './rules.ts'

/** @throws Problem `invalid` for a month that has not begun */
async function reportOf(db: Database, month: string, now: Date): Promise<MonthlyReport> {
  const period = monthPeriod(month, now)
  if (!period) throw invalid(['query', 'month'], 'has not begun yet')
  const [requests, erasures, holds] = await Promise.all([
    reportOfRequests(db, period),
    reportOfErasures(db, period),
    reportOfHolds(db, period),
  ])
  return {
    month,
    from: period.from.toISOString(),
    until: period.until.toISOString(),
    requests: {
      ...requests.totals,
      kinds: requests.kinds,
    },
    deletions: erasures.deletions.map(({ from, count }) => ({ from: from.toISOString(), count })),
    verified: erasures.verified,
    holds: { set: holds.set, ended: holds.ended, in_force: holds.inForce },
  }
}

const daysText = (days: number | null): string => (days === null ? 'none' : days.toFixed(1))

/** Every number of the report with its name, by section, for files. They are in English, like the receipts. */
function reportLines({ requests, deletions, verified, holds }: MonthlyReport): [string, [string, string][]][] {
  return [
    [
      'Privacy requests',
      [
        ['Received', String(requests.received)],
        ['Answered', String(requests.answered)],
        ['Answered within the legal deadline', String(requests.on_time)],
        ['Refused', String(requests.refused)],
        ['Cancelled', String(requests.closed - requests.answered)],
        ['Median days to answer (requests that staff worked on)', daysText(requests.median_days)],
        ['Longest days to answer (requests that staff worked on)', daysText(requests.longest_days)],
        ['Open at the end', String(requests.open)],
        ['Open past the legal deadline at the end', String(requests.late)],
        ['With a failed part', String(requests.failed)],
      ],
    ],
    [
      'Requests by type (received, completed, refused)',
      requests.kinds.map(({ kind, received, done, refused }) => [kind, `${received}, ${done}, ${refused}`]),
    ],
    [
      'Deletions with a receipt, by week',
      deletions.map(({ from, count }) => [`From ${from.slice(0, 10)}`, String(count)]),
    ],
    [
      'Verification',
      [
        ['Receipts signed', String(verified.receipts)],
        ['Deletions that failed', String(verified.failed)],
        ['Late writes found and deleted', String(verified.late_writes)],
        ['Complete readings of connected stores', String(verified.readings)],
        ['Signed attestations of readings', String(verified.attestations)],
        ['Places with deleted words, deleted', String(verified.places_erased)],
        ['Places with deleted words that remain', String(verified.places_left)],
      ],
    ],
    [
      'Legal holds',
      [
        ['Set', String(holds.set)],
        ['Ended', String(holds.ended)],
        ['In force at the end', String(holds.in_force)],
      ],
    ],
  ]
}

const csvOf = (report: MonthlyReport): string =>
  [
    ['section', 'item', 'value'],
    ...reportLines(report).flatMap(([section, rows]) => rows.map((row) => [section, ...row])),
  ]
    .map((cells) => `${cells.map(csvCell).join(',')}\r\n`)
    .join('')

const pdfOf = (report: MonthlyReport): Promise<Uint8Array<ArrayBuffer>> =>
  writtenPdf({ title: `Data protection report ${report.month}`, at: new Date(report.until) }, (page) => {
    page.title(`Data protection report ${report.month}`)
    page.fact('Period (UTC)', `${report.from} to ${report.until}`)
    for (const [section, rows] of reportLines(report)) {
      page.heading(section)
      for (const [name, value] of rows) page.fact(name, value)
    }
  })

/** What happened in a month, in numbers, for the data protection officer. */
export const reportService = ({ db }: { db: Database }) => ({
  report: read(readReport, async ({ now }, { query: { month = lastCompleteMonth(now) } }) => ({
    resourceId: month,
    body: { data: await reportOf(db, month, now) },
  })),
  exportReport: stream(exportReport, async ({ now }, { query: { month = lastCompleteMonth(now), format } }) => {
    const report = await reportOf(db, month, now)
    const file = format === 'csv' ? Buffer.from(`${csvStart}${csvOf(report)}`) : await pdfOf(report)
    return {
      resourceId: month,
      details: { format },
      headers: {
        'Content-Type': format === 'csv' ? 'text/csv; charset=utf-8' : 'application/pdf',
        'Content-Length': String(file.byteLength),
        'Content-Disposition': `attachment; filename="data-protection-${month}.${format}"`,
      },
      body: Readable.from([file]),
    }
  }),
})
