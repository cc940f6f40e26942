// Compares the known vulnerabilities of the packages in package-lock.json with the exceptions in audit-exceptions.json.
import '../runtime.ts'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { npm } from './npm.ts'

/** An accepted advisory: its id (GHSA-…), why it does not concern us or what we wait for, and the last valid day. */
const Exceptions = z.array(
  z.strictObject({
    advisory: z.string().regex(/^GHSA(?:-[0-9a-z]{4}){3}$/),
    reason: z.string().min(20),
    expires: z.iso.date(),
  }),
)
export type Exception = z.infer<typeof Exceptions>[number]

const Advisory = z.object({ name: z.string(), title: z.string(), url: z.string(), severity: z.string() })
const Report = z.object({
  auditReportVersion: z.literal(2),
  vulnerabilities: z.record(z.string(), z.object({ via: z.array(z.union([z.string(), Advisory])) })),
})
export interface AuditOutcome {
  failures: string[]
  notes: string[]
}

/**
 * Judges the JSON output of `npm audit`. An advisory fails without an exception. An expired exception always fails. An output
 * without a report, as npm prints it offline, only causes a note.
 *
 * @param today as YYYY-MM-DD
 */
export function assessAudit(output: string, exceptions: readonly Exception[], today: string): AuditOutcome {
  const failures = exceptions
    .filter(({ expires }) => expires < today)
    .map(
      ({ advisory, expires }) => `The exception for ${advisory} expired on ${expires}. Update the package or renew it.`,
    )
  let parsed: unknown
  try {
    parsed = JSON.parse(output)
  } catch {}
  const report = Report.safeParse(parsed)
  if (!report.success)
    return { failures, notes: ['The registry did not answer `npm audit`. Known vulnerabilities were not checked.'] }
  const found = new Map(
    Object.values(report.data.vulnerabilities)
      .flatMap(({ via }) => via)
      .flatMap((one) => (typeof one === 'string' ? [] : [[one.url.slice(one.url.lastIndexOf('/') + 1), one] as const])),
  )
  const accepted = new Set(exceptions.map(({ advisory }) => advisory))
  for (const [id, { name, severity, title, url }] of found)
    if (!accepted.has(id)) failures.push(`${name}: ${severity}: ${title} (${url})`)
  const unused = [...accepted].filter((advisory) => !found.has(advisory))
  return { failures, notes: unused.map((advisory) => `No package needs the exception for ${advisory} any more.`) }
}

/** Requests the vulnerabilities of the lock file in a folder. */
export async function audit(
  folder: string,
  exceptions: unknown,
  today: string,
  env = process.env,
): Promise<AuditOutcome> {
  const valid = Exceptions.parse(exceptions)
  const args = ['audit', '--json', '--package-lock-only', '--fetch-retries=0', '--fetch-timeout=10000']
  return assessAudit(await npm(args, folder, env), valid, today)
}

if (import.meta.main) {
  const exceptions: unknown = JSON.parse(readFileSync(join(import.meta.dirname, 'audit-exceptions.json'), 'utf8'))
  const { failures, notes } = await audit(process.cwd(), exceptions, new Date().toISOString().slice(0, 10))
  for (const text of notes) console.log(`note: ${text}`)
  for (const text of failures) console.error(text)
  if (failures.length > 0) process.exitCode = 1
}
