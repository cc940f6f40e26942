import type { Recognise } from './analyzer.ts'

/**
 * An analyzer that is not known to be in the EEA: while somebody is promised that what they leave here stays there, it is asked nothing,
 * of nobody, for a text does not tell whose it is. Whoever asks is told that it did not answer. Once there is nobody there will be nobody:
 * with it connected, the promise is not given.
 */
export function withheldWhile(isPromised: () => Promise<boolean>, recognise: Recognise): Recognise {
  let isNobody = false
  return async (text, language) => {
    isNobody ||= !(await isPromised())
    return isNobody ? recognise(text, language) : undefined
  }
}
