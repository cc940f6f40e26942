import { errorCode } from '#lib/kernel/error-code.ts'
import { Problem } from '#lib/kernel/problem.ts'

export const faultName = (error: unknown): string => errorCode(error) ?? 'unknown fault'
export const isMissing = (error: unknown): boolean => errorCode(error) === 'ENOENT'
/** The file system's error without the path, which contains keys. */
export const asFileProblem = (error: unknown): Problem =>
  Problem.is(error)
    ? error
    : new Problem(
        'unavailable',
        `The folder of objects cannot be used (${faultName(error)}). No data was lost. Try again later.`,
      )
/** Rejects with {@link asFileProblem} errors. */
export const orProblem = async <T>(work: Promise<T>): Promise<T> => {
  try {
    return await work
  } catch (error) {
    throw asFileProblem(error)
  }
}
