/** Days that an entry is kept and read; fixed. */
export const auditDays = 90

/** Nothing older than this is read, at any time. */
export const oldestRead = (now: Date): Date => new Date(now.getTime() - auditDays * 86_400_000)

/** A CSV cell (RFC 4180); what a spreadsheet would run as a formula is kept as text. */
export function csvCell(value: string): string {
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
