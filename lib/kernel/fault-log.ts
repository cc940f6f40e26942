import { errorCode } from './error-code.ts'
import { traceId } from './tracing.ts'

/** Errors whose message is about code only. Messages of other errors (from the database or a parser) may quote user content. */
const speaking = new Set(['TypeError', 'ReferenceError', 'RangeError', 'AssertionError', 'Error'])

/** Logs a bug as one JSON line: where it happened and under which request, without content. */
export function logFault(error: unknown, where: Record<string, string>): void {
  const isError = error instanceof Error
  const code = errorCode(error)
  const fromDatabase = isError && ('severity' in error || error.name.startsWith('Prisma'))
  const trace = traceId()
  const line = {
    level: 'error',
    at: new Date().toISOString(),
    ...where,
    ...(trace !== undefined && { trace_id: trace }),
    error: isError ? error.name : typeof error,
    ...(code !== undefined && { code }),
    ...(isError && speaking.has(error.name) && !fromDatabase && { message: error.message }),
    ...(isError && {
      stack: error.stack
        ?.split('\n')
        .filter((frame) => frame.startsWith('    at '))
        .slice(0, 12)
        .map((frame) => frame.trim()),
    }),
  }
  process.stderr.write(`${JSON.stringify(line)}\n`)
}

/** Logs one line about the service itself. */
export const logNotice = (message: string): void => {
  process.stderr.write(`${JSON.stringify({ level: 'info', at: new Date().toISOString(), message })}\n`)
}
